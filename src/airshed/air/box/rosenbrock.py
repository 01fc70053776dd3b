"""Integrates the chemistry of one box or many by a Rosenbrock method, with conditions that are exact in time.

Between two events all that depends on time is a Chebyshev series, see :mod:`airshed.air.box.smooth`. Where a formula
jumps or bends the interval is cut there, found by halving. A cell's result does not depend on the others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.air.box.conditions import BoxConditions
from airshed.air.box.failure import ChemistryFailure, Stopped, at_start_of
from airshed.air.box.forcing import INPUTS, BoxForcing
from airshed.air.box.smooth import TOLERANCE, Series, fit, times_in
from airshed.air.box.steps import Event
from airshed.air.box.tape import Expansion, Leg, Tape, table_of
from airshed.core.errors import CaseError
from airshed.kernels.cell_backend import CellKernel, CellSolver
from airshed.kernels.chemistry import CellSteps, Sources, Tolerances, list_of_cells, method, pack_cells, unpack_cells
from airshed.kernels.chemistry.data import Besides, Concentrations
from airshed.kernels.memory import aligned_zeros

Array = npt.NDArray[np.float64]
Cells = npt.NDArray[np.intp]

_SAMPLES: Final = 4_000_000  # numbers that are evaluated together
_MOST_CUTS: Final = 120  # of an interval between two events
_LEAST: Final = 1e-3  # of the largest value in an interval: what is smaller need not be as exact
_ROUGH: Final = 1e-7  # error of a series that is still good enough where none is better
_FIRST_RETRY, _MORE_STEPS = 1e-6, 10


class RosenbrockCells:
    """The state of all cells and what advances them from event to event.

    y        (species, cell) [molecules cm-3]
    clipped  (species, cell) [molecules cm-3] that was added to keep concentrations from getting negative
    notes    what a reader of the result should know
    steps    that counted, of all cells;  rejected  those that were not accurate enough
    keys     what conditions call the inputs of the kernel
    retried  how many times a cell had to begin an interval again with smaller steps
    tape     what was done, for adjoints; None where nobody asked for it
    """

    def __init__(self, kernel: CellKernel, forcing: BoxForcing, conditions: BoxConditions, threads: int) -> None:
        self.kernel, self.forcing, self.conditions = kernel, forcing, conditions
        start = np.array([conditions.time.start.value])
        air = forcing.at(start)
        self.y = forcing.start(float(start[0]), air)
        self.clipped = np.zeros_like(self.y)
        self.notes: list[str] = []
        self.retried = 0
        self.tape: Tape | None = None
        cells = forcing.cells
        self.steps, self.rejected = 0, 0
        self._step = np.zeros(cells)
        self._density = np.broadcast_to(air["M"][:, 0], cells).copy() if forcing.air_changes else None
        everything = tuple(range(len(kernel.network.species)))
        self._sources = Sources(forcing.emitted, everything if forcing.air_changes else forcing.deposited)
        self._solvers = self._make_solvers(air, threads)
        self.keys = [
            *(forcing.key(INPUTS.get(name, name)) for name in kernel.inputs),
            *(forcing.key(f"emission {species}") for species in self._sources.emitted),
            *(forcing.key(f"deposition {species}") for species in self._sources.lost),
        ]
        self._stopped: Callable[[], bool] = lambda: False

    def advance(self, begin: float, events: Sequence[Event], stopped: Callable[[], bool]) -> Iterator[Event]:
        """Integrate from `begin` over some events, so few as :meth:`chunk` says; yield each when it is reached."""
        self._stopped = stopped
        edges = np.array([begin, *(event.at for event in events)])
        rows = self._rows(edges[:-1], edges[1:], None)
        good = _good(rows, len(events))
        everything = np.arange(self.forcing.cells)
        for number, (start, end) in enumerate(pairwise(edges.tolist())):
            fine = np.broadcast_to(good[:, number], len(everything))
            self._integrate(everything[fine], start, end, [row.of(fine, number) for row in rows])
            if not fine.all():
                sizes = [row.size[:, min(number, row.size.shape[1] - 1)] for row in rows]
                _Cutter(self, start, end, sizes).cross(everything[~fine])
            if events[number].jump:
                self._step[:] = 0.0
            yield events[number]

    def chunk(self) -> int:
        """Return how many intervals are evaluated together."""
        return max(1, min(256, _SAMPLES // (64 * (self._inputs + 1) * self.forcing.cells)))

    def close(self) -> None:
        """End the threads."""
        for _, solver in self._solvers:
            solver.close()

    @property
    def _inputs(self) -> int:
        return self._solvers[0][1].inputs

    def _make_solvers(self, air: dict[str, Array], threads: int) -> list[tuple[Array, CellSolver]]:
        """Return solvers, each with the cells (a mask) that are its own.

        A tolerance that is a part of air goes by the power of two next to the air's density: so a few solvers do for
        any number of cells, and which one a cell gets is its own affair.
        """
        solver = self.conditions.solver
        absolute = np.full(self.forcing.cells, solver.absolute_tolerance.value)
        if solver.absolute_tolerance.unit == "mol/mol":
            absolute *= 2.0 ** np.round(np.log2(air["M"][:, 0]))
        return [
            (
                absolute == value,
                self.kernel.solver(
                    method(solver.method), Tolerances(solver.relative_tolerance, float(value)), self._sources,
                    threads=threads, most_steps=solver.most_steps,
                ),
            )
            for value in np.unique(absolute)
        ]  # fmt: skip

    def _rows(self, starts: Array, ends: Array, cells: Cells | None) -> list[Series]:
        """Return all inputs of the kernel over intervals."""
        forcing = self.forcing
        times = times_in(starts, ends)
        values = forcing.at(times, cells)

        def series(value: Array) -> Series:
            return fit(value.reshape(len(value), *(times.shape if value.shape[1] > 1 else (1, 1))))

        rows = [series(value) for value in forcing.inputs(values)]
        rows += [series(values[f"emission {species}"]) for species in forcing.emitted]
        losses = {species: series(values[f"deposition {species}"]) for species in forcing.deposited}
        if not forcing.air_changes:
            return [*rows, *losses.values()]
        growth = rows[2].derivative_of_logarithm(ends - starts)
        other = _difference(None, growth)
        differences = {species: _difference(loss, growth) for species, loss in losses.items()}
        return [*rows, *(differences.get(species, other) for species in self._sources.lost)]

    def _integrate(self, cells: Cells, start: float, end: float, rows: list[Array]) -> None:
        """Advance some cells over an interval in which all inputs are series, coefficients (cell, term)."""
        if self._stopped():
            raise KeyboardInterrupt
        self._expand(cells, rows[2], beginning=True)
        for own, solver in self._solvers:
            chosen = own[cells]
            if chosen.any():
                mine = [row if len(row) == 1 else row[chosen] for row in rows]
                self._call(solver, cells[chosen], start, end, mine)
        self._expand(cells, rows[2], beginning=False)

    def _call(self, solver: CellSolver, cells: Cells, start: float, end: float, rows: list[Array]) -> None:
        before, first, length = self.y[:, cells], self._step[cells], end - start
        y, clipped, steps = self._run(solver, before, rows, length, first)
        self._count(len(cells), steps)
        counted = steps.accepted.reshape(-1)[: len(cells)]
        leg = Leg(solver, cells, length, rows, before, first, counted)
        failed = np.flatnonzero(unpack_cells(steps.reached, len(cells)) < length)
        if failed.size:
            y[:, failed], clipped[:, failed] = self._retry(leg.of(failed), start, end)
        fine = np.setdiff1d(np.arange(len(cells)), failed)
        self._step[cells[fine]] = unpack_cells(steps.step, len(cells))[fine]
        if fine.size:
            self._note(leg.of(fine) if failed.size else leg)
        self.y[:, cells] = y
        self.clipped[:, cells] += clipped

    def _retry(self, leg: Leg, start: float, end: float) -> tuple[Array, Array]:
        """Return y and what was clipped of cells that begin again with smaller steps; raise ChemistryFailure."""
        solver, count = leg.solver.with_more_steps(_MORE_STEPS), len(leg.cells)
        first = np.full(count, _FIRST_RETRY * leg.length)
        y, clipped, steps = self._run(solver, leg.y, list(leg.rows), leg.length, first)
        self.retried += count
        self._count(count, steps)
        reached = unpack_cells(steps.reached, count)
        if np.any(reached < leg.length):
            worst = int(np.argmax(reached < leg.length))
            time = start + float(reached[worst])
            raise self._failure(int(leg.cells[worst]), start, end, time, leg.y[:, worst], y[:, worst])
        self._step[leg.cells] = unpack_cells(steps.step, count)
        self._note(replace(leg, solver=solver, first=first, accepted=steps.accepted.reshape(-1)[:count]))
        return y, clipped

    def _note(self, done: Leg | Expansion) -> None:
        if self.tape is not None:
            self.tape.append(done)

    def _run(
        self, solver: CellSolver, y: Array, rows: list[Array], length: float, first: Array
    ) -> tuple[Array, Array, CellSteps]:
        species, count = y.shape
        width, dtype = self.kernel.shape.width, self.kernel.dtype
        packed = pack_cells(y, width, dtype)
        clipped = aligned_zeros(packed.shape, dtype)
        steps = CellSteps.zeros(len(packed), width)
        steps.step[...] = pack_cells(first, width)
        inputs = table_of(rows, count, width)
        state = Concentrations(packed, packed, list_of_cells(count, species, width))
        solver.advance(state, inputs, steps, 0.0, length, Besides(clipped))
        return unpack_cells(packed, count), unpack_cells(clipped, count), steps

    def _count(self, cells: int, steps: CellSteps) -> None:
        self.steps += int(steps.accepted.reshape(-1)[:cells].sum())
        self.rejected += int(steps.rejected.reshape(-1)[:cells].sum())

    def _expand(self, cells: Cells, air: Array, *, beginning: bool) -> None:
        """Where the air's density has jumped, expand or compress what is in it; note the density at the end."""
        if self._density is None:
            return
        signs = np.where(np.arange(air.shape[1]) % 2, -1.0, 1.0) if beginning else np.ones(air.shape[1])
        density = np.broadcast_to(air @ signs, len(cells))
        factor = density / self._density[cells]
        if beginning:
            factor = np.where(np.abs(factor - 1.0) > 1e-10, factor, 1.0)
            self.y[:, cells] *= factor
            self._note(Expansion(cells, factor))
        self._density[cells] = density

    def _failure(
        self, cell: int, start: float, end: float, reached: float, before: Array, state: Array
    ) -> ChemistryFailure:
        where = cell if self.forcing.cells > 1 else None
        replay = at_start_of(self.conditions, self.forcing, where, before, start, end)
        return ChemistryFailure(self.kernel.network, Stopped(where, reached, (start, end), state), replay)


class _Cutter:
    """Crosses an interval in which some values are not smooth, in pieces in which they are."""

    def __init__(self, run: RosenbrockCells, start: float, end: float, sizes: list[Array]) -> None:
        self._run, self._start, self._end = run, start, end
        self._cuts = np.zeros(run.forcing.cells, np.int64)
        self._floors = [_LEAST * size for size in sizes]
        self._tiny = max(1e-9, 16.0 * np.finfo(np.float64).eps * max(abs(start), abs(end)))

    def cross(self, cells: Cells, start: float | None = None, end: float | None = None) -> None:
        """Integrate cells over a part of the interval, by default all of it."""
        a, b = self._start if start is None else start, self._end if end is None else end
        rows = self._run._rows(np.array([a]), np.array([b]), cells)
        if b - a <= 4.0 * self._tiny:
            self._run._integrate(cells, a, b, [row.of(slice(None), 0)[:, :1] for row in rows])
            return
        good = self._good(rows, cells, 1, b - a)[:, 0]
        self._cuts[cells[~good]] += 1
        rough = ~good & (self._cuts[cells] > _MOST_CUTS)
        if rough.any():
            self._accept(rows)
            good = good | rough
        if good.any():
            self._run._integrate(cells[good], a, b, [row.of(good, 0) for row in rows])
        for group, edges in self._cut(cells[~good], a, b) if not good.all() else ():
            for left, right in pairwise(edges):
                self.cross(group, left, right)

    def _cut(self, cells: Cells, a: float, b: float) -> list[tuple[Cells, list[float]]]:
        """Return groups of cells and where to cut: around a jump or a bend, by halves towards what is only steep."""
        groups: list[tuple[Cells, float, float, set[float]]] = [(cells, a, b, {a, b})]
        found = []
        while groups:
            group, low, high, edges = groups.pop()
            if high - low <= self._tiny:
                found.append((group, sorted({a, low, high, b})))
                continue
            middle = 0.5 * (low + high)
            rows = self._run._rows(np.array([low, middle]), np.array([middle, high]), group)
            good = self._good(rows, group, 2, middle - low)
            halves = (~good[:, 0], low, middle), (good[:, 0] & ~good[:, 1], middle, high)
            groups += [(group[mask], left, right, edges | {middle}) for mask, left, right in halves if mask.any()]
            steep = good.all(axis=1)
            if steep.any():
                found.append((group[steep], sorted(edges | {middle})))
        return found

    def _good(self, rows: list[Series], cells: Cells, intervals: int, length: float) -> npt.NDArray[np.bool_]:
        """Return whether all series are good in intervals of this length, (cell, interval).

        What is missed counts by how long it lasts: so the search for a bend, or in rounding noise, comes to an end.
        """
        tolerance = min(TOLERANCE * (self._end - self._start) / length, _ROUGH)
        good = np.ones((len(cells), intervals), bool)
        for row, floor in {id(row): (row, floor) for row, floor in zip(rows, self._floors, strict=True)}.values():
            good &= row.good((floor[cells] if len(floor) > 1 else floor)[:, None], tolerance)
        return good

    def _accept(self, rows: list[Series]) -> None:
        """Take series that are a little rough, with a note; raise CaseError for what no series follows."""
        errors = [float((row.miss / np.where(row.size > 0.0, row.size, 1.0)).max(initial=0.0)) for row in rows]
        worst = int(np.argmax(errors))
        name = self._run.keys[worst]
        span = f"between t = {self._start:.10g} s and {self._end:.10g} s"
        if errors[worst] > _ROUGH:
            raise CaseError(
                f"{name} changes too often {span} to be followed: give it smoother, list its jumps under "
                "time.restarts, or shorten time.output_every"
            )
        note = f"{name} is not smooth: it is followed to a relative error of {_ROUGH:g} at worst"
        if note not in self._run.notes:
            self._run.notes.append(note)


def _good(rows: list[Series], intervals: int) -> npt.NDArray[np.bool_]:
    """Return whether all series are good, (cell, interval) with one cell where that says it all."""
    good = np.ones((1, intervals), bool)
    for row in {id(row): row for row in rows}.values():
        good = good & row.good()
    return good


def _difference(loss: Series | None, growth: Series) -> Series:
    """Return loss - growth, as deep and as wide as the two."""
    if loss is None:
        return replace(growth, coefficients=-growth.coefficients)
    terms = max(loss.coefficients.shape[2], growth.coefficients.shape[2])
    deep = [
        np.pad(each.coefficients, [(0, 0), (0, 0), (0, terms - each.coefficients.shape[2])]) for each in (loss, growth)
    ]
    return Series(deep[0] - deep[1], loss.miss, loss.size)
