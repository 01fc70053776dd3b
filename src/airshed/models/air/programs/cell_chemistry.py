"""Chemistry of the cells of a packed state by a Rosenbrock method with adaptive steps in each cell."""

import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.case.failure import ChemistryFailure, replay_conditions
from airshed.core.arrays import Array
from airshed.core.errors import NumericalError
from airshed.kernels.backend import CellSolver
from airshed.kernels.cells import (
    AIR_INPUTS,
    AcceptedSteps,
    CellLayout,
    CellSteps,
    list_of_cells,
    pack_cells,
    unpack_cells,
)
from airshed.kernels.cells.arguments import CellExtras, Concentrations
from airshed.kernels.host import AnyArray, aligned_zeros
from airshed.kernels.layout import Layout
from airshed.mechanism.expressions import evaluate
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.rates import rate_environment
from airshed.parallel.balance import Columns, LoadBalancer

LONGEST_FIRST: Final = 0.25
"""Maximum first step of a cell as a fraction of the interval, in a stage after emission and transport. Both perturb
the cell, so that the step size of the previous stage is too long; see docs/explanation/chemistry-performance.md."""

_FIRST_RETRY: Final = 1e-6
"""Maximum first step of a cell after a failure, as a fraction of the interval."""

_MORE_STEPS: Final = 10
"""Factor on the maximum number of steps of a cell after a failure."""


@dataclass
class Air:
    """Air of the cells of the packed state.

    temperature [K], water [mol/mol] and density [molecules cm-3]: [lat][block][level][W]
    parameters  open parameters of the mechanism [molecules, cm3, s]: [lat][block][parameter][level][W]
    sun         secant of the zenith angle and light factor of each column: [lat][block][2][W]
    """

    temperature: AnyArray
    water: AnyArray
    density: AnyArray
    parameters: AnyArray
    sun: AnyArray


@dataclass
class CellCounts:
    """Counts of cells and their steps since the start of a run; each stage of chemistry counts each cell.

    integrated  cells;  accepted, rejected  their steps
    retried     cells that were repeated after a failure; a second failure ends the run
    clipped     cells in which a negative species was set to zero
    """

    integrated: int = 0
    accepted: int = 0
    rejected: int = 0
    retried: int = 0
    clipped: int = 0

    def add(self, steps: CellSteps) -> None:
        """Add the counts of a call."""
        self.accepted += int(steps.accepted.sum())
        self.rejected += int(steps.rejected.sum())

    def to_array(self) -> npt.NDArray[np.int64]:
        """Return the counts in their order, for restarts."""
        return np.array(astuple(self), np.int64)

    def __str__(self) -> str:
        cells = max(self.integrated, 1)
        return (
            f"{self.accepted / cells:.2f} steps of a cell in a stage, {self.rejected / cells:.2f} rejected; of "
            f"{self.integrated} cells in stages {self.retried} repeated, {self.clipped} clipped, none failed"
        )


class CellChemistry:
    """Solver of the chemistry of all cells of the packed state.

    network   mechanism of the case
    followed  number of additional species of the solver, which count atoms that reactions do not conserve
    place_of  (row, column, level) -> text for a cell in messages
    limits    maximum first step of each stage of chemistry in a step, as a fraction of its interval
    first     [s] first step of each cell, for each stage: (stage, pack, width); 0 if unknown: the solver then takes a
              short one, since error estimates are unreliable for long steps far from equilibrium
    counts    counts of cells since the start
    wall      [s] wall time of chemistry
    balance   load balance, which lets other ranks integrate some cells; None without
    record    destination of the accepted steps; None to discard them
    """

    record: AcceptedSteps | None = None

    def __init__(
        self, solver: CellSolver, network: ReactionNetwork, layout: Layout, levels: int,
        place_of: Callable[[int, int, int], str], limits: Sequence[float], balance: LoadBalancer | None = None,
    ) -> None:  # fmt: skip
        self.balance, self.limits = balance, tuple(limits)
        self.solver, self.network, self.layout, self.levels, self._place_of = solver, network, layout, levels, place_of
        width, self._species = layout.width, len(network.species)
        followed = len(solver.kernel.network.species) - self._species
        self.packs = layout.rows * layout.blocks * levels
        self._place = CellLayout(
            levels, layout.blocks, layout.last_lanes, self._species * levels * width, width, levels * width,
            mixing_ratios=True,
        )  # fmt: skip
        self.steps = CellSteps.zeros(self.packs, width, layout.memory)
        self.first = np.zeros((len(self.limits), self.packs, width))
        self.counts, self.wall = CellCounts(), 0.0
        self.extra = layout.array((self.packs, followed, width), layout.dtype)
        self._work = np.zeros(layout.rows * layout.blocks)
        self._inputs = layout.array((layout.rows, layout.blocks, levels, solver.inputs, width), np.float64)
        lanes = np.arange(layout.blocks * width).reshape(layout.blocks, 1, width) < layout.columns
        self._in_use = np.broadcast_to(lanes, (layout.rows, layout.blocks, levels, width)).reshape(self.packs, width)

    def advance(
        self, q: AnyArray, result: AnyArray, clipped: AnyArray, air: Air, begin: float, end: float, *, slot: int
    ) -> None:
        """Integrate mixing ratios q from `begin` to `end` [s] into `result`, with the air at the middle.

        slot: index among the stages of chemistry.
        Cells that fail are repeated with smaller steps and a higher limit on their number. Raises ChemistryFailure if
        a cell fails again.
        """
        began, seconds = time.perf_counter(), end - begin
        waited = self._waited()
        self.inputs_in(air)
        self.steps.step[...] = np.minimum(self.first[slot], self.limits[slot] * seconds)
        columns = self._columns(q, result, clipped)
        if self.balance is None or self.record is not None:
            self._integrate(columns, seconds)
        else:
            self.balance.advance(columns, slot, lambda some: self._integrate(some, seconds))
        self.counts.add(self.steps)
        failed = self._in_use & (self.steps.reached < seconds)
        if failed.any():
            self._try_again(q, result, clipped, begin, end, failed)
        self._count(clipped)
        self.first[slot] = self.steps.step
        self.wall += time.perf_counter() - began - (self._waited() - waited)

    def _waited(self) -> float:
        return 0.0 if self.balance is None else self.balance.wait

    def _columns(self, q: AnyArray, result: AnyArray, clipped: AnyArray) -> Columns:
        """Return the inputs and outputs of the solver by columns of packs; their work is the number of steps."""
        count, width = self.layout.rows * self.layout.blocks, self.layout.width
        steps = {name: each.reshape(count, self.levels, width) for name, each in vars(self.steps).items()}
        packed = {"q": q, "inputs": self._inputs, "result": result, "clipped": clipped, "extra": self.extra}
        arrays = {name: each.reshape(count, each.size // (count * width), width) for name, each in packed.items()}
        arrays |= steps
        given = {name: arrays[name] for name in ("q", "inputs", "step")}
        made = {name: array for name, array in arrays.items() if name not in ("q", "inputs")} | {"work": self._work}
        return Columns(given, made, self.layout.blocks, width, self.layout.last_lanes)

    def _integrate(self, columns: Columns, seconds: float) -> None:
        given, made = columns.given, columns.made
        packs, width = len(columns) * self.levels, columns.width
        steps = CellSteps(**{name: made[name].reshape(packs, width) for name in vars(self.steps)})
        place = replace(self._place, blocks=columns.blocks, last_lanes=columns.last_lanes)
        self.solver.advance(
            Concentrations(given["q"], made["result"], place), given["inputs"].reshape(packs, 1, -1, width), steps,
            0.0, seconds, CellExtras(made["clipped"], made["extra"].reshape(packs, *self.extra.shape[1:]), self.record),
        )  # fmt: skip
        made["work"][...] = (made["accepted"] + made["rejected"]).sum(axis=(1, 2))

    def _count(self, clipped: AnyArray) -> None:
        """Count the cells, without padding lanes."""
        negative = (clipped.reshape(-1, self._species, self.levels * self.layout.width) > 0.0).any(axis=1)
        self.counts.clipped += int(np.count_nonzero(negative.reshape(self._in_use.shape) & self._in_use))
        self.counts.integrated += int(np.count_nonzero(self._in_use))

    def alike(self, threads: int) -> "CellChemistry":
        """Return chemistry of the same cells with a separate solver and separate memory."""
        solver = self.solver.kernel.solver(self.solver.method, self.solver.tolerances, threads=threads)
        return CellChemistry(solver, self.network, self.layout, self.levels, self._place_of, self.limits)

    def inputs_in(self, air: Air) -> AnyArray:
        """Return the inputs of the solver in some air, (pack, 1, input, width), valid until the next call."""
        secant, light = air.sun[:, :, None, 0].astype(np.float64), air.sun[:, :, None, 1].astype(np.float64)
        density = np.asarray(air.density, np.float64)
        environment = rate_environment(np.asarray(air.temperature, np.float64), density, air.water, secant, light)
        for number, name in enumerate(AIR_INPUTS):
            self._inputs[..., number, :] = environment[name]
        self._inputs[..., len(AIR_INPUTS) :, :] = np.moveaxis(air.parameters, 2, 3)
        return self._inputs.reshape(self.packs, 1, self.solver.inputs, self.layout.width)

    def _try_again(
        self, q: AnyArray, result: AnyArray, clipped: AnyArray, begin: float, end: float, failed: npt.NDArray[np.bool_]
    ) -> None:
        packs, lanes = np.nonzero(failed)
        columns, levels = np.divmod(packs, self.levels)
        width, dtype, count = self.layout.width, self.layout.dtype, len(packs)
        cells = (columns, slice(None), levels, lanes)
        shape = (-1, self._species, self.levels, width)
        before = np.asarray(q.reshape(shape)[cells].T, np.float64)
        y, added = (pack_cells(values, width, dtype) for values in (before, 0.0 * before))
        table = np.asarray(self._inputs.reshape(self.packs, -1, width)[packs, :, lanes].T, np.float64)
        extra = aligned_zeros((len(y), self.extra.shape[1], width), dtype)
        steps = CellSteps.zeros(len(y), width)
        steps.step[...] = _FIRST_RETRY * (end - begin)
        place = replace(list_of_cells(count, self._species, width), mixing_ratios=True)
        again = self.solver.with_more_steps(_MORE_STEPS)
        inputs = np.asarray(pack_cells(table[None], width))
        record = None if self.record is None else self.record.of(failed, width)
        again.advance(Concentrations(y, y, place), inputs, steps, 0.0, end - begin, CellExtras(added, extra, record))
        self.counts.retried += count
        self.counts.add(steps)
        after, reached = unpack_cells(y, count), unpack_cells(steps.reached, count)
        hopeless = reached < end - begin
        if hopeless.any():
            worst, others = int(np.argmax(hopeless)), int(np.count_nonzero(hopeless)) - 1
            row, block = divmod(int(columns[worst]), self.layout.blocks)
            cell = self._place_of(row, block * width + int(lanes[worst]), int(levels[worst]))
            times = begin, begin + float(reached[worst]), end
            raise self._failure(cell, others, times, before[:, worst], after[:, worst], table[:, worst])
        result.reshape(shape)[cells], clipped.reshape(shape)[cells] = after.T, unpack_cells(added, count).T
        self.extra[packs, :, lanes] = unpack_cells(extra, count).T
        self.steps.step[failed] = unpack_cells(steps.step, count)
        self.steps.accepted[failed] = steps.accepted.reshape(-1)[:count]

    def _failure(
        self, cell: str, others: int, times: tuple[float, float, float], before: Array, after: Array, inputs: Array
    ) -> ChemistryFailure:
        begin, _, end = times
        values: dict[str, Any] = dict(zip(self.solver.kernel.inputs, inputs.tolist(), strict=True))
        density, tolerances = values["M"], self.solver.tolerances
        values |= {name: float(np.asarray(evaluate(each, values))) for name, each in self.network.bound.items()}
        conditions = replay_conditions(
            self.network, density * before, values, end - begin,
            {
                "title": f"{cell[:1].upper()}{cell[1:]}, from {begin:.10g} s to {end:.10g} s of the case",
                "solver": {
                    "method": self.solver.method.name, "relative_tolerance": tolerances.relative,
                    "absolute_tolerance": f"{float(np.max(tolerances.absolute))!r} molecules/cm3",
                    "most_steps": _MORE_STEPS * self.solver.most_steps,
                },
            },
        )  # fmt: skip
        whose = f"{cell} and of {others} more cells" if others else cell
        return ChemistryFailure(self.network, conditions, whose, times, density * after, remedy="shorten time.step")


@dataclass(frozen=True)
class CellIntegration:
    """Record of an integration of all cells from `begin` to `end` [s].

    slot      index among the stages of chemistry
    first     (pack, width) [s] first step of each cell, 0 if unknown
    accepted  (pack, width) number of accepted steps
    lengths   accepted steps without the states between them; None if they are not recorded
    """

    begin: float
    end: float
    slot: int
    first: Array
    accepted: npt.NDArray[np.int32]
    lengths: AcceptedSteps | None = None


def integrate_again(
    chemistry: CellChemistry, done: CellIntegration, air: Air, q: AnyArray, result: AnyArray, clipped: AnyArray
) -> AcceptedSteps:
    """Repeat an integration of mixing ratios q into `result`, and return its accepted steps.

    Raises NumericalError if the steps differ from the recorded ones.
    """
    species = len(chemistry.solver.kernel.network.species)
    record = AcceptedSteps.for_counts(done.accepted, species, chemistry.solver.kernel.dtype)
    counts, chemistry.counts, chemistry.record = chemistry.counts, CellCounts(), record
    chemistry.first[done.slot] = done.first
    try:
        chemistry.advance(q, result, clipped, air, done.begin, done.end, slot=done.slot)
    finally:
        chemistry.counts, chemistry.record = counts, None
    if not np.array_equal(chemistry.steps.accepted, done.accepted):
        raise NumericalError("the repeated chemistry takes different steps than the recorded run: it has no adjoint")
    return record


def without_states(steps: AcceptedSteps) -> AcceptedSteps:
    """Return only the times and lengths of steps."""
    return replace(steps, y=steps.y[:, :0], clipped=steps.clipped[:, :0])
