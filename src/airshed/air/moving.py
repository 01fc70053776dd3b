"""What moves species between two steps of chemistry: transport, vertical mixing, emission and deposition.

It advances by ``process.one_step`` through the compiled step of a mechanism without reactions, in as many pieces as the
Courant number asks for: all of it together, or horizontal transport apart from what acts along columns. Every species
moves by itself, and without vertical transport every level does. Air is advanced by the same fluxes, so that a uniform
mixing ratio stays uniform; after one of two parts it differs from the given air by the divergence of that part, after
both by round-off, since the formula is exact for fluxes that are linear in time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Protocol

import numpy as np
import numpy.typing as npt

from airshed.air.forcing import Forcing, Interval
from airshed.air.sources import PackedSources
from airshed.kernels.layout import AnyArray, aligned_zeros
from airshed.kernels.step_data import ColumnForcing, Pair, TransportForcing, TwoStepWeights
from airshed.kernels.stepper import Stepper
from airshed.mechanism.network import ReactionNetwork
from airshed.process.continuity import outflow_rate
from airshed.process.one_step import GAMMA, one_step_weights

Array = npt.NDArray[np.float64]


def without_reactions(network: ReactionNetwork, species: slice = slice(None)) -> ReactionNetwork:
    """Return the species of a network alone, or some of them, for what moves them."""
    return replace(network, name=f"{network.name}-moved", species=network.species[species], reactions=())


@dataclass(frozen=True)
class Moved:
    """One stage of the formula: weights, sums (term, species) for budgets, and the emission [mol/s] (species,).

    Sums of levels that move each by itself are (term, species, level).
    """

    weights: TwoStepWeights
    sums: Array
    emission: Array


class Moving(Protocol):
    """Moves the species of the state from one time to another [s], both inside one interval of the forcing."""

    def start(self, begin: float, end: float) -> None:
        """Take the mixing ratios of the state as they are now, which stay so until they may be replaced."""
        ...

    def finish(self, begin: float, end: float) -> list[Moved]:
        """Replace mixing ratios and air of the state by the moved ones; return what its stages did."""
        ...

    def reload(self) -> None:
        """Take the air of the state, which comes from a restart."""
        ...

    def close(self) -> None:
        """Give free what moving holds."""
        ...


class Mover:
    """Moves the packed state of a :class:`Stepper` without reactions here and now, where its kernel goes.

    emitted   numbers of the species of `sources`, which horizontal transport alone does not ask
    courant   largest sum of Courant numbers of a piece of transport, over the directions in which it goes
    greatest  the greatest of what every rank has found; identity where there is one
    levels    those of the stepper, where it moves some of the forcing's alone; None for all
    """

    def __init__(
        self, stepper: Stepper, forcing: Forcing, sources: PackedSources, *, emitted: Sequence[int], courant: float,
        greatest: Callable[[float], float] = float, levels: slice | None = None,
    ) -> None:  # fmt: skip
        self.stepper, self.forcing, self.sources = stepper, forcing, sources
        self._emitted, self._courant, self._greatest = list(emitted), courant, greatest
        self._species, self._shape = len(stepper.kernel.network.species), stepper.kernel.shape
        self._sun = stepper.layout.zeros(2)
        self._rate = -1, 0.0
        self._levels, self._of_levels = levels, dict[str, list[tuple[AnyArray, AnyArray]]]()

    def start(self, begin: float, end: float) -> None:
        """Nothing is to be prepared."""

    def finish(self, begin: float, end: float) -> list[Moved]:
        """Move the state; return what the stages did."""
        stages = [moved for start, step in self.pieces(begin, end) for moved in self._move_once(start, step)]
        self.stepper.leave()  # what comes next may change both time levels
        return stages

    def reload(self) -> None:
        """Nothing is kept beside the state."""

    def close(self) -> None:
        """Nothing is held but the stepper, which is its owner's."""

    def pieces(self, begin: float, end: float) -> list[tuple[float, float]]:
        """Return the beginnings and lengths [s] of the pieces of a move."""
        count = max(1, ceil((end - begin) * self._outflow_rate(begin) / self._courant - 1e-9))
        step = (end - begin) / count
        return [(begin + number * step, step) for number in range(count)]

    def emission(self, begin: float, step: float) -> tuple[AnyArray, Array]:
        """Return the packed emission of a piece, and that of each species [mol/s] in the whole area."""
        packed, totals = self.sources.at(begin + 0.5 * step)
        emission = np.zeros(self._species)
        emission[self._emitted] = totals()
        return packed, emission

    def emitted(self, begin: float, step: float) -> Array:
        """Return what is emitted of each species [mol/s] in a piece: nothing where no column is solved."""
        return self.emission(begin, step)[1] if self._shape.vertical else np.zeros(self._species)

    def _outflow_rate(self, seconds: float) -> float:
        """The largest sum of outflow over air content of any cell of the whole area [1/s], where transport goes."""
        if self._shape.horizontal and self._shape.vertical:
            return self.forcing.outflow_rate(seconds)
        index = self.forcing.index_at(seconds)
        if self._rate[0] != index:
            self._rate = index, self._greatest(self._outflow_of(self.forcing.interval(index)))
        return self._rate[1]

    def _outflow_of(self, interval: Interval) -> float:
        rates = []
        for instant, packed in zip((interval.start, interval.end), interval.flux_z, strict=True):
            fluxes = instant.eastward, instant.northward, self.stepper.layout.unpack(packed)
            along, across, up = fluxes if self._shape.vertical else (*fluxes[:2], np.zeros_like(fluxes[2]))
            if not self._shape.horizontal:
                along, across = np.zeros_like(along), np.zeros_like(across)
            rates.append(float(outflow_rate(along, across, up, instant.air).max()))
        return max(rates)

    def _move_once(self, begin: float, step: float) -> list[Moved]:
        inside = begin + 0.5 * step
        packed, emission = self.emission(begin, step) if self._shape.vertical else (None, np.zeros(self._species))
        starts, ends = (begin, begin + GAMMA * step), (begin + GAMMA * step, begin + step)
        done = []
        for weights, start, end in zip(one_step_weights(step), starts, ends, strict=True):
            column = None if packed is None else self._column(end, inside, packed)
            sums = self.stepper.step(weights, self._transport(start, inside), column)
            done.append(Moved(weights, sums, emission))
        return done

    def _transport(self, seconds: float, inside: float) -> TransportForcing:
        fluxes = self.forcing.transport_within(seconds, inside)
        if self._levels is None:
            return fluxes
        along, across = (self._cut(name, getattr(fluxes, name), self._levels) for name in ("flux_x", "flux_y"))
        return replace(fluxes, flux_x=along, flux_y=across)

    def _cut(self, name: str, pair: Pair, levels: slice) -> Pair:
        """Some levels of a packed field at both ends of an interval, cut out once."""
        known = {id(whole): (whole, part) for whole, part in self._of_levels.get(name, [])}
        found = [known.get(id(whole)) or (whole, _some(whole, levels)) for whole in pair]
        self._of_levels[name] = found
        return found[0][1], found[1][1]

    def _column(self, seconds: float, inside: float, emission: AnyArray) -> ColumnForcing:
        interval = self.forcing.interval(self.forcing.index_at(inside))
        pairs = {name: interval.pair(name) for name in ("temperature", "water", "exchange", "deposition")}
        return ColumnForcing(**pairs, weight=interval.weight(seconds), emission=emission, sun=self._sun)


def _some(packed: AnyArray, levels: slice) -> AnyArray:
    part = packed[:, :, levels]
    result = aligned_zeros(part.shape, part.dtype)
    result[...] = part
    return result
