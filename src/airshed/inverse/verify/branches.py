"""Branches of limiters and clipping in which two runs differ.

On each branch a step is smooth. Between two states on two branches its derivative jumps, and is that of
one side: a remainder of first order is then no error of the derivative.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from airshed.inverse.verify.recording import Recording
from airshed.kernels.host import AnyArray
from airshed.kernels.step.data import Pair, StepConstants
from airshed.kernels.transport.reference import ALPHA, BETA, BoundaryValues, with_sides
from airshed.models.air.programs.records import FormulaStep

Array = npt.NDArray[np.float64]
Branches = npt.NDArray[np.int8]

EXTREMUM, SMOOTH, AHEAD, BEHIND = range(4)


def branch(before: Array, upstream: Array, downstream: Array, alpha: Array | float, beta: Array | float) -> Branches:
    """Return what :func:`airshed.kernels.transport.reference.face_value` takes at each face: one of the four above."""
    behind, ahead = upstream - before, downstream - upstream
    rising = np.sign(ahead)
    smooth, size, other = np.abs(alpha * ahead + beta * behind), np.abs(ahead), np.abs(behind)
    found = np.where(smooth < np.minimum(size, other), SMOOTH, np.where(size < other, AHEAD, BEHIND))
    return np.where(rising * np.sign(behind) <= 0.0, EXTREMUM, found).astype(np.int8)


def along(cells: Array, air: Array) -> Branches:
    """Return the branches of faces along the last axis; shapes as those of ``flux_along``. 0 where no air flows."""
    west2, west, east, east2 = (cells[..., i : i + air.shape[-1]] for i in range(4))
    positive, negative = branch(west2, west, east, ALPHA, BETA), branch(east2, east, west, ALPHA, BETA)
    return np.where(air > 0.0, positive, np.where(air < 0.0, negative, 0)).astype(np.int8)


def upward(q: Array, air: Array, weights: Array) -> Branches:
    """Return the branches of faces between levels; shapes as those of ``upward_flux``."""
    below2, above2 = q[:, [0, *range(q.shape[1] - 2)]], q[:, [*range(2, q.shape[1]), q.shape[1] - 1]]
    alpha, beta, alpha_down, beta_down = weights[:-1].T[:, :, None, None]
    rising = branch(below2, q[:, :-1], q[:, 1:], alpha, beta)
    sinking = branch(above2, q[:, 1:], q[:, :-1], alpha_down, beta_down)
    return np.where(air[:-1] > 0.0, rising, np.where(air[:-1] < 0.0, sinking, 0)).astype(np.int8)


@dataclass
class Crossings:
    """Counts where a run differs from another: faces in `kinks`, values in `clips`, added up over steps."""

    recorded: Recording
    constants: StepConstants
    kinks: int = 0
    clips: int = 0
    _noted: list[tuple[AnyArray, AnyArray]] = field(default_factory=list, repr=False)
    _compared: int = 0

    def start(self) -> None:
        """Begin with the first part of the first step."""
        self._compared = self.kinks = self.clips = 0

    def note(self, step: FormulaStep | None, before: AnyArray, after: AnyArray, clipped: Array | None) -> None:
        """Note a part of a step of the run with which others are compared."""
        self._noted.append((before.copy(), _where_clipped(after, clipped)))

    def compare(self, step: FormulaStep | None, before: AnyArray, after: AnyArray, clipped: Array | None) -> None:
        """Count what differs in a part of a step."""
        run, (other, where) = self.recorded, self._noted[self._compared]
        if step is not None and any(each.kind == "face_flux" for each in run.derivatives.operators):
            self.kinks += self._faces(step, before, other)
        differs = _where_clipped(after, clipped) != where
        self.clips += int(run.area.whole(differs).sum())
        self._compared += 1

    def _faces(self, step: FormulaStep, one: AnyArray, other: AnyArray) -> int:
        """Count faces with other branches; species by species, since that fits caches."""
        whole, transport = self.recorded.area.whole, step.forcing.transport
        x, y = (self._between(pair, transport.weight) for pair in (transport.flux_x, transport.flux_y))
        z = self._between(transport.flux_z, transport.weight_z)
        profiles = self.constants.profile, self.recorded.constants.profile
        if transport.boundary is not None:  # as it was recorded, in both
            start, end = (self.recorded.boundary[seconds] for seconds, _ in transport.boundary.shares())
            profiles = (start + transport.boundary.weight * (end - start),) * 2
        count = 0
        for number in range(one.shape[2]):
            some = slice(number, number + 1)
            both = (
                self._branches(whole(q[:, :, some]), (x, y, z), profile[some])
                for q, profile in zip((one, other), profiles, strict=True)
            )
            count += sum(int(np.count_nonzero(a != b)) for a, b in zip(*both, strict=True))
        return count

    def _branches(self, q: Array, air: tuple[Array, Array, Array], profile: Array) -> Iterator[Branches]:
        x, y, z = air
        turned, northward = np.swapaxes(q, -1, -2), np.swapaxes(y, -1, -2)
        west, east, south, north = BoundaryValues(profile, self.constants.top).along(*q.shape[-2:])
        yield along(with_sides(q, x, west, east), x)
        yield along(with_sides(turned, northward, south, north), northward)
        yield upward(q, z, self.constants.vertical_weights)

    def _between(self, pair: Pair, weight: float) -> Array:
        first, last = (self.recorded.area.whole(each) for each in pair)
        return np.asarray(first + weight * (last - first))


def _where_clipped(q: AnyArray, clipped: Array | None) -> AnyArray:
    """Return where packed values were clipped at zero: in blocks that clipped something, as far as that is known."""
    where = q == 0.0
    return np.asarray(where if clipped is None else where & (clipped[..., None, None] > 0.0))
