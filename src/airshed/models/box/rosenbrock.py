"""Chemistry of boxes by a Rosenbrock method with conditions that are exact in time: a kind of `cells` stage.

The record of an interval is the state at its start, the inputs, and the first trial step. The same steps follow from
these, and are recorded individually when the adjoint of the interval is computed.

Between two events all time-dependent inputs are Chebyshev series, see :mod:`airshed.models.box.series`. The interval
is split where a formula jumps or bends, which is located by bisection. Cells are independent of each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.case.failure import INPUTS, ChemistryFailure
from airshed.core.arrays import Array
from airshed.core.errors import CaseError, NumericalError
from airshed.io.timeline import InstantSpans, Timeline
from airshed.kernels.backend import CellKernel, CellSolver
from airshed.kernels.cells import (
    AcceptedSteps,
    CellSteps,
    Sources,
    Tolerances,
    list_of_cells,
    method,
    pack_cells,
    unpack_cells,
)
from airshed.kernels.cells.arguments import CellExtras, Concentrations
from airshed.kernels.host import AnyArray, aligned_zeros
from airshed.models.box.conditions import BoxConditions, BoxStep
from airshed.models.box.forcing import BoxForcing
from airshed.models.box.series import TOLERANCE, Series, add_terms, fit, series_degree, times_in
from airshed.program.stage import Stage
from airshed.runtime.model import Arrays

Cells = npt.NDArray[np.intp]
_SAMPLES: Final = 4_000_000  # maximum number of values in one evaluation
_MOST_CUTS: Final = 120  # maximum number of splits of an interval between two events
_LEAST: Final = 1e-3  # the tolerance does not decrease for values below this fraction of the largest one
_ROUGH: Final = 1e-7  # accepted error of a series if splitting does not improve it

_FIRST_RETRY, _MORE_STEPS = 1e-6, 10


@dataclass(frozen=True)
class Expansion:
    """Record of cells whose concentrations were scaled at a jump of the air density."""

    cells: Cells
    factor: Array


@dataclass(frozen=True)
class BoxInterval:
    """Record of an interval [s] over which cells were integrated in one call.

    rows      inputs of the kernel, emissions and loss rates as series, coefficients (cell or 1, term)
    y         concentrations at the beginning (species, cell) [molecules cm-3]
    first     first trial step (cell,) [s]
    accepted  number of accepted steps (cell,)
    """

    solver: CellSolver
    cells: Cells
    length: float
    rows: Sequence[Array]
    y: Array
    first: Array
    accepted: npt.NDArray[np.int32]

    def of(self, chosen: Cells) -> "BoxInterval":
        """Return the interval for some of its cells, by their index in it."""
        rows = [row if len(row) == 1 else row[chosen] for row in self.rows]
        parts = self.cells[chosen], self.length, rows, self.y[:, chosen], self.first[chosen], self.accepted[chosen]
        return BoxInterval(self.solver, *parts)

    def recorded(self) -> AcceptedSteps:
        """Repeat the steps and return them."""
        kernel = self.solver.kernel
        width, count = kernel.shape.width, len(self.cells)
        packed = pack_cells(self.y, width, kernel.dtype)
        steps = CellSteps.zeros(len(packed), width)
        steps.step[...] = pack_cells(self.first, width)
        counts = np.zeros((len(packed), width), np.int32)
        counts.reshape(-1)[:count] = self.accepted
        record = AcceptedSteps.for_counts(counts, len(self.y), kernel.dtype)
        state = Concentrations(packed, packed, list_of_cells(count, len(self.y), width))
        inputs = make_table(self.rows, count, width)
        self.solver.advance(state, inputs, steps, 0.0, self.length, CellExtras(record=record))
        if not np.array_equal(steps.accepted.reshape(-1)[:count], self.accepted):
            raise NumericalError("the repeated integration of a box has different steps: it has no adjoint")
        return record


def make_table(rows: Sequence[Array], count: int, width: int) -> AnyArray:
    """Return series (cell or 1, term) of `count` cells as the inputs of a solver, (pack, term, input, width)."""
    degree = series_degree(list(rows))
    table = np.zeros((degree + 1, len(rows), count))
    for number, row in enumerate(rows):
        terms = min(degree + 1, row.shape[1])
        table[:terms, number] = row[:, :terms].T
    return pack_cells(table, width)


@dataclass(frozen=True)
class _Inputs:
    """Inputs of the kernel over intervals [s].

    numbers  index of each interval, by its start and end
    good     True where all series are accurate (cell or 1, interval)
    """

    numbers: dict[tuple[float, float], int]
    rows: list[Series]
    good: npt.NDArray[np.bool_]


class RosenbrockCells:
    """State of all cells, advanced from event to event.

    y          concentrations (species, cell) [molecules cm-3]
    clipped    concentrations added to avoid negative values (species, cell) [molecules cm-3]
    notes      remarks on the result
    steps      number of accepted steps of all cells
    rejected   number of rejected steps of all cells
    keys       keys of the inputs of the kernel in the conditions
    evaluated  time of the last evaluation of all conditions, the start, and their values
    retried    number of times that a cell restarted an interval with smaller steps
    """

    batch = 1

    def __init__(
        self, kernel: CellKernel, forcing: BoxForcing, conditions: BoxConditions, edges: Sequence[float], threads: int
    ) -> None:
        self.kernel, self.forcing, self.conditions = kernel, forcing, conditions
        air = forcing.at(edges[:1])
        self.y = forcing.start(edges[0], air)
        self.clipped = np.zeros_like(self.y)
        self.notes: list[str] = []
        self.evaluated: tuple[float, Mapping[str, Array]] = edges[0], air
        self.steps, self.rejected, self.retried = 0, 0, 0
        cells = forcing.cells
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
        together = max(1, min(256, _SAMPLES // (64 * (self._solvers[0][1].inputs + 1) * cells)))
        self._edges, self._together = list(edges), together
        self._spans = InstantSpans(self._edges[:-1:together] or self._edges)
        self._timeline = Timeline[_Inputs](self._spans, self._read, keep=1)
        self._record: list[BoxInterval | Expansion] = []

    def run(self, number: int, stage: Stage, given: Sequence[BoxStep]) -> list[list[BoxInterval | Expansion]]:
        """Integrate over steps; return the records of each step in order."""
        return [self._advance(step) for step in given]

    def _advance(self, given: BoxStep) -> list[BoxInterval | Expansion]:
        start, end = given.begin, given.end.at
        inputs = self._timeline.of(self._spans.begin_of(start))
        if (start, end) not in inputs.numbers:
            inputs = self._inputs([start, end])
        self._record, here = [], inputs.numbers[start, end]
        everything = np.arange(self.forcing.cells)
        fine = np.broadcast_to(inputs.good[:, here], len(everything))
        self.integrate(everything[fine], start, end, [row.of(fine, here) for row in inputs.rows])
        if not fine.all():
            sizes = [row.size[:, min(here, row.size.shape[1] - 1)] for row in inputs.rows]
            _IntervalSplitter(self, start, end, sizes).integrate(everything[~fine])
        if given.end.jump:
            self._step[:] = 0.0
        return self._record

    def concentrations(self) -> Array:
        """Return the state (species, cell) [molecules cm-3]."""
        return self.y

    def set_concentrations(self, y: Array) -> None:
        """Replace the state (species, cell) [molecules cm-3]."""
        self.y[...] = y
        self._step[:] = 0.0

    def save(self) -> tuple[Arrays, dict[str, Any]]:
        """Return arrays (cells first) and plain values, from which :meth:`restore` continues bitwise identically."""
        density = {} if self._density is None else {"density": self._density}
        arrays = {"y": self.y.T, "clipped": self.clipped.T, "first_step": self._step, **density}
        return arrays, {"counts": [self.steps, self.rejected, self.retried], "notes": list(self.notes)}

    def restore(self, arrays: Arrays, values: dict[str, Any]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.y[...], self.clipped[...], self._step[...] = arrays["y"].T, arrays["clipped"].T, arrays["first_step"]
        if self._density is not None:
            self._density[...] = arrays["density"]
        self.steps, self.rejected, self.retried = values["counts"]
        self.notes[:] = values["notes"]

    def close(self) -> None:
        """Stop the threads."""
        for _, solver in self._solvers:
            solver.close()

    def _read(self, begin: float) -> _Inputs:
        first = self._edges.index(begin)
        return self._inputs(self._edges[first : first + self._together + 1])

    def _inputs(self, edges: Sequence[float]) -> _Inputs:
        ends = np.array(edges)
        rows = self.rows(ends[:-1], ends[1:], None)
        return _Inputs({each: number for number, each in enumerate(pairwise(edges))}, rows, _good(rows, len(edges) - 1))

    def _make_solvers(self, air: dict[str, Array], threads: int) -> list[tuple[Array, CellSolver]]:
        """Return solvers, each with a mask of its cells.

        A tolerance in mol/mol is scaled by the power of two nearest to the air density. A few solvers then suffice for
        any number of cells, and the solver of a cell does not depend on other cells.
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

    def rows(self, starts: Array, ends: Array, cells: Cells | None) -> list[Series]:
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

    def integrate(self, cells: Cells, start: float, end: float, rows: list[Array]) -> None:
        """Advance some cells over an interval with inputs from series, coefficients (cell, term)."""
        self._expand(cells, rows[2], beginning=True)
        for own, solver in self._solvers:
            chosen = own[cells]
            if chosen.any():
                mine = [row if len(row) == 1 else row[chosen] for row in rows]
                self._call(solver, cells[chosen], start, end, mine)
        self._expand(cells, rows[2], beginning=False)

    def _call(self, solver: CellSolver, cells: Cells, start: float, end: float, rows: list[Array]) -> None:
        before, first, length = self.y[:, cells], self._step[cells], end - start
        y, clipped, steps = self._solve(solver, before, rows, length, first)
        counted = steps.accepted.reshape(-1)[: len(cells)]
        interval = BoxInterval(solver, cells, length, rows, before, first, counted)
        failed = np.flatnonzero(unpack_cells(steps.reached, len(cells)) < length)
        if failed.size:
            y[:, failed], clipped[:, failed] = self._retry(interval.of(failed), start, end)
        fine = np.setdiff1d(np.arange(len(cells)), failed)
        self._step[cells[fine]] = unpack_cells(steps.step, len(cells))[fine]
        if fine.size:
            self._record.append(interval.of(fine) if failed.size else interval)
        self.y[:, cells] = y
        self.clipped[:, cells] += clipped

    def _retry(self, interval: BoxInterval, start: float, end: float) -> tuple[Array, Array]:
        """Integrate cells again with smaller steps; return y and clipped values, or raise ChemistryFailure."""
        solver, count = interval.solver.with_more_steps(_MORE_STEPS), len(interval.cells)
        first = np.full(count, _FIRST_RETRY * interval.length)
        y, clipped, steps = self._solve(solver, interval.y, list(interval.rows), interval.length, first)
        self.retried += count
        reached = unpack_cells(steps.reached, count)
        if np.any(reached < interval.length):
            worst = int(np.argmax(reached < interval.length))
            cell, time = int(interval.cells[worst]), start + float(reached[worst])
            replay, number = self.forcing.replay(cell, interval.y[:, worst], start, end), self.forcing.number(cell)
            raise ChemistryFailure(self.kernel.network, replay, number, (start, time, end), y[:, worst])
        self._step[interval.cells] = unpack_cells(steps.step, count)
        self._record.append(replace(interval, solver=solver, first=first, accepted=steps.accepted.reshape(-1)[:count]))
        return y, clipped

    def _solve(
        self, solver: CellSolver, y: Array, rows: list[Array], length: float, first: Array
    ) -> tuple[Array, Array, CellSteps]:
        species, count = y.shape
        width, dtype = self.kernel.shape.width, self.kernel.dtype
        packed = pack_cells(y, width, dtype)
        clipped = aligned_zeros(packed.shape, dtype)
        steps = CellSteps.zeros(len(packed), width)
        steps.step[...] = pack_cells(first, width)
        inputs = make_table(rows, count, width)
        state = Concentrations(packed, packed, list_of_cells(count, species, width))
        solver.advance(state, inputs, steps, 0.0, length, CellExtras(clipped))
        self.steps += int(steps.accepted.reshape(-1)[:count].sum())
        self.rejected += int(steps.rejected.reshape(-1)[:count].sum())
        return unpack_cells(packed, count), unpack_cells(clipped, count), steps

    def _expand(self, cells: Cells, air: Array, *, beginning: bool) -> None:
        """Scale concentrations at a jump of the air density; store the density at the end."""
        if self._density is None:
            return
        signs = np.where(np.arange(air.shape[1]) % 2, -1.0, 1.0) if beginning else np.ones(air.shape[1])
        density = np.broadcast_to(air @ signs, len(cells))
        factor = density / self._density[cells]
        if beginning:
            factor = np.where(np.abs(factor - 1.0) > 1e-10, factor, 1.0)
            self.y[:, cells] *= factor
            self._record.append(Expansion(cells, factor))
        self._density[cells] = density


class _IntervalSplitter:
    """Integration over an interval in which some inputs are not smooth, in smooth pieces."""

    def __init__(self, boxes: RosenbrockCells, start: float, end: float, sizes: list[Array]) -> None:
        self._boxes, self._start, self._end = boxes, start, end
        self._cuts = np.zeros(boxes.forcing.cells, np.int64)
        self._floors = [_LEAST * size for size in sizes]
        self._tiny = max(1e-9, 16.0 * np.finfo(np.float64).eps * max(abs(start), abs(end)))

    def integrate(self, cells: Cells, start: float | None = None, end: float | None = None) -> None:
        """Integrate cells over a part of the interval, by default over all of it."""
        a, b = self._start if start is None else start, self._end if end is None else end
        rows = self._boxes.rows(np.array([a]), np.array([b]), cells)
        if b - a <= 4.0 * self._tiny:
            self._boxes.integrate(cells, a, b, [row.of(slice(None), 0)[:, :1] for row in rows])
            return
        good = self._good(rows, cells, 1, b - a)[:, 0]
        self._cuts[cells[~good]] += 1
        rough = ~good & (self._cuts[cells] > _MOST_CUTS)
        if rough.any():
            self._accept(rows)
            good = good | rough
        if good.any():
            self._boxes.integrate(cells[good], a, b, [row.of(good, 0) for row in rows])
        for group, edges in self._cut(cells[~good], a, b) if not good.all() else ():
            for left, right in pairwise(edges):
                self.integrate(group, left, right)

    def _cut(self, cells: Cells, a: float, b: float) -> list[tuple[Cells, list[float]]]:
        """Return groups of cells and their splits: around a jump or a bend, or by bisection for steep inputs."""
        groups: list[tuple[Cells, float, float, set[float]]] = [(cells, a, b, {a, b})]
        found = []
        while groups:
            group, low, high, edges = groups.pop()
            if high - low <= self._tiny:
                found.append((group, sorted({a, low, high, b})))
                continue
            middle = 0.5 * (low + high)
            rows = self._boxes.rows(np.array([low, middle]), np.array([middle, high]), group)
            good = self._good(rows, group, 2, middle - low)
            halves = (~good[:, 0], low, middle), (good[:, 0] & ~good[:, 1], middle, high)
            groups += [(group[mask], left, right, edges | {middle}) for mask, left, right in halves if mask.any()]
            steep = good.all(axis=1)
            if steep.any():
                found.append((group[steep], sorted(edges | {middle})))
        return found

    def _good(self, rows: list[Series], cells: Cells, intervals: int, length: float) -> npt.NDArray[np.bool_]:
        """Return True where all series are accurate in intervals of this length, (cell, interval).

        The tolerance increases for short intervals, so that the search for a bend ends, also in rounding noise.
        """
        tolerance = min(TOLERANCE * (self._end - self._start) / length, _ROUGH)
        good = np.ones((len(cells), intervals), bool)
        for row, floor in {id(row): (row, floor) for row, floor in zip(rows, self._floors, strict=True)}.values():
            good &= row.good((floor[cells] if len(floor) > 1 else floor)[:, None], tolerance)
        return good

    def _accept(self, rows: list[Series]) -> None:
        """Accept slightly inaccurate series with a note; raise CaseError for an input that no series can represent."""
        errors = [float((row.miss / np.where(row.size > 0.0, row.size, 1.0)).max(initial=0.0)) for row in rows]
        worst = int(np.argmax(errors))
        name = self._boxes.keys[worst]
        span = f"between t = {self._start:.10g} s and {self._end:.10g} s"
        if errors[worst] > _ROUGH:
            raise CaseError(
                f"{name} changes too often {span} to be resolved: smooth it, list its jumps in time.restarts, or "
                "reduce time.output_every"
            )
        note = f"{name} is not smooth: it is resolved to a relative error of at most {_ROUGH:g}"
        if note not in self._boxes.notes:
            self._boxes.notes.append(note)


def _good(rows: list[Series], intervals: int) -> npt.NDArray[np.bool_]:
    """Return True where all series are accurate, (cell, interval), with one cell if it is the same for all."""
    good = np.ones((1, intervals), bool)
    for row in {id(row): row for row in rows}.values():
        good = good & row.good()
    return good


def _difference(loss: Series | None, growth: Series) -> Series:
    """Return loss - growth."""
    if loss is None:
        return replace(growth, coefficients=-growth.coefficients)
    return replace(loss, coefficients=add_terms(loss.coefficients, -growth.coefficients))
