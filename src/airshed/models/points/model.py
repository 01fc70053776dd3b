"""Point model: independent cells that processes of kind `update` change in steps of constant length.

A package defines the processes, the fields of the cells and their weather; see docs/reference/declaring.md.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.alarm import INSTANT
from airshed.core.errors import CaseError
from airshed.core.fields import FieldRegistry, FieldSpec
from airshed.core.text import duration, suggestion
from airshed.core.units import to
from airshed.kernels.cells.formulas import CellFormulas, Precision, StepValues
from airshed.kernels.host import AnyArray
from airshed.parallel.domain import Domain
from airshed.process.points import Points
from airshed.program.execute import walk_forwards
from airshed.program.stage import CELLS, Program, Stage, cells
from airshed.runtime.model import OPTIONAL_PREFIX, BatchLimits, PlainModel, SavedState, Snapshot, Timings
from airshed.runtime.registry import ModelInfo

Values = Mapping[str, npt.ArrayLike]
Copy = Mapping[str, AnyArray]

_SET, _FLUX, _WEATHER = (f"{OPTIONAL_PREFIX}{kind}." for kind in ("set", "flux", "weather"))
_KEY: Final = "+".join(CELLS)


class CellValues(dict[str, AnyArray]):
    """Arrays of cells by name, changed in place: the working state of a program, or its adjoint."""

    def copy(self) -> dict[str, AnyArray]:
        """Return a copy of all arrays."""
        return {name: array.copy() for name, array in self.items()}

    def put(self, value: Copy | None) -> None:
        """Replace the values by a copy of them; None is zero."""
        for name, array in self.items():
            array[...] = 0.0 if value is None else value[name]

    def accumulate(self, value: Copy) -> None:
        """Add a copy."""
        for name, array in self.items():
            array += value[name]

    def add_up(self, coefficients: Sequence[float], values: Sequence[Copy]) -> None:
        """Replace the values by a linear combination of copies."""
        for name, array in self.items():
            array[...] = sum(share * each[name] for share, each in zip(coefficients, values, strict=True))

    def split(self, coefficients: Sequence[float], record: Any) -> list[dict[str, AnyArray]]:
        """Return the adjoint of each value of a linear combination from the adjoint of the result."""
        return [{name: share * array for name, array in self.items()} for share in coefficients]


@dataclass(frozen=True)
class Batch:
    """Steps of one call.

    values   constant inputs: parameters, numbers, and the weather of each step
    records  arrays (steps, cells) by names of results, filled by each step; StepValues are filled by some steps only
    """

    steps: int
    values: Values
    records: Mapping[str, AnyArray | StepValues] = field(default_factory=dict)


class Updates:
    """Runner of compiled formulas on values of cells; satisfies :class:`airshed.program.execute.Runner`.

    A result with the name of a value replaces it; other results are in the `records` of a batch, and in `last`.
    """

    def __init__(self, formulas: CellFormulas, values: CellValues) -> None:
        self.formulas, self._values = formulas, values
        self.last: dict[str, AnyArray] = {}

    def run(self, number: int, stage: Stage, given: Batch) -> Batch:
        """Run the steps of a batch; the batch is also the record of the stage."""
        out = [self._values.get(name, self.last.get(name)) for name in self.formulas.names]
        found = self.formulas.advance({**given.values, **self._values}, given.steps, out, records=given.records)
        self.last = dict(zip(self.formulas.names, found, strict=True))
        return given


@dataclass(frozen=True)
class PointValues:
    """Inputs of the cells of a rank; a number applies to all cells.

    state       initial state by name, optionally with fluxes, which are otherwise 0
    parameters  constants of the run; fields with an axis, here and in the state, are (size, cells) or elements by name
    weather     function that returns the weather of steps by their begin times [s]: (steps, cells), (steps) for all
                cells, or a number. Views of the weather call it again for an earlier step.
    changes     state variables that are set at times [s], before the step that begins then
    """

    state: Values
    parameters: Values = field(default_factory=dict)
    weather: Callable[[Sequence[float]], Values] = lambda begins: {}
    changes: Mapping[float, Values] = field(default_factory=dict)


class PointModel(PlainModel):
    """Model of independent cells, advanced by one compiled function.

    step       length of each step [s]
    precision  precision of the state and of the computation
    threads    number of threads
    batch      maximum number of steps in one call of the compiled function, which uses the cache for all of them

    Raises CaseError for fields with other dimensions than the domain of the ranks, and for a step of another length.
    """

    program = Program("points", 1, (cells(0.0, 1.0),))

    def __init__(
        self, points: Points, domain: Domain, values: PointValues, *, step: float, precision: Precision = "double",
        threads: int = 1, batch: int = 1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.batch_limits = BatchLimits(batch)
        for spec in points.fields.state:
            if spec.dims != domain.axes.divided:
                dims, expected = ", ".join(spec.dims), ", ".join(domain.axes.divided)
                raise CaseError(f"field {spec.name} has the dimensions ({dims}); a point model needs ({expected})")
        self.domain, self.points, self.step_length, self.threads = domain, points, step, threads
        formulas = points.compiled(precision, threads=threads)
        shape, dtype = domain.box.shape, formulas.dtype
        needed = [spec for spec in points.fields.weather if spec.name in points.inputs]
        self._weather_of_case, self._dtype = values.weather, dtype
        self._weather_fields = {
            each.name: replace(each, settable=True, written="named", over_step=True) for each in needed
        }
        self._weather_set: dict[str, AnyArray] = {}
        self.fields = FieldRegistry(
            [*points.fields.state, *points.fluxes, *self._weather_fields.values(), *points.settable.values()]
        )
        given = points.split(values.state)
        start = {spec.name: given[spec.name] for spec in points.fields.state}
        start |= {spec.name: given.get(spec.name, 0.0) for spec in points.fluxes}
        self.state = CellValues({name: np.array(np.broadcast_to(each, shape), dtype) for name, each in start.items()})
        """State and fluxes of the last step, by name."""
        # Make the parameters contiguous once instead of in every step.
        self.parameters = {
            name: np.asarray(value, dtype, order="C") for name, value in points.split(values.parameters).items()
        }
        self.increments: dict[str, AnyArray] = {}
        """Sums of the increments by which users set state variables; budgets add them to the initial state."""
        self._updates = Updates(formulas, self.state)
        self._changes = values.changes
        self._records: Mapping[str, AnyArray] = {}
        self._recorded = 0
        self._seconds = {"weather": 0.0, "cells": 0.0}

    def longest_step(self, until: float) -> float:
        """Return the constant length of steps [s]."""
        return self.step_length

    def next_change(self) -> float:
        """Return the next time at which state variables are set."""
        return min((time for time in self._changes if time > self.seconds + INSTANT), default=inf)

    def changes_at(self, seconds: float) -> Values:
        """Return the state variables that are set before the step that begins at a time [s]."""
        return next((each for time, each in self._changes.items() if abs(time - seconds) < INSTANT), {})

    def step_through(self, ends: Sequence[float]) -> None:
        """Advance the state in place by steps, all in one call of the compiled function."""
        begins = [self.seconds, *ends[:-1]]
        for begin, end in zip(begins, ends, strict=True):
            if abs(end - begin - self.step_length) > INSTANT:
                raise CaseError(
                    f"the step length of this model is {duration(self.step_length)}, but a step of "
                    f"{duration(end - begin)} is requested; set output, restarts and the end of the case to "
                    "multiples of the step"
                )
        for name, value in self.changes_at(self.seconds).items():
            self._set_state(name, value)
        began = time.perf_counter()
        values = {**self.parameters, **self.weather(begins), **self.points.numbers}
        batch = Batch(len(ends), values, self._rows(len(ends)))
        ready = time.perf_counter()
        walk_forwards(self.program, {_KEY: self._updates}, {self.program.home: self.state}, [batch])
        self.seconds, self.steps = ends[-1], self.steps + len(ends)
        self._seconds["weather"] += ready - began
        self._seconds["cells"] += time.perf_counter() - ready

    def weather(self, begins: Sequence[float]) -> Values:
        """Return the weather of steps by their begin times [s], including values that users set; see `PointValues`."""
        held = {name: np.broadcast_to(each, (len(begins), *each.shape)) for name, each in self._weather_set.items()}
        return {**self._weather_of_case(begins), **held}

    def record(self, arrays: Mapping[str, AnyArray]) -> None:
        """Set the arrays (steps, cells) in which each of the next steps fills a row; earlier arrays are released.

        arrays  arrays in single or double precision, by names of state variables and fluxes

        Raises CaseError for a field that no step changes.
        """
        for name in arrays:
            if name not in self.points.outputs:
                raise CaseError(f"no step changes {name}; {suggestion(name, self.points.outputs)}")
        self._records, self._recorded = arrays, 0

    def _rows(self, steps: int) -> dict[str, AnyArray]:
        first, self._recorded = self._recorded, self._recorded + steps
        rows = {name: array[first : first + steps] for name, array in self._records.items()}
        if any(len(each) < steps for each in rows.values()):
            raise CaseError(
                f"the arrays for recording have {len(next(iter(self._records.values())))} steps; the run has more"
            )
        return rows

    def info(self) -> ModelInfo:
        """Return the processes, and the groups of fields."""
        points = self.points
        kinds = {"state": points.fields.state, "flux": points.fluxes, "weather": self._weather_fields.values()}
        groups = {spec.name: kind for kind, specs in kinds.items() for spec in specs}
        groups |= {name: points.settable.place(name)[0].process.section for name in points.settable}
        return ModelInfo(points.processes, groups)

    def timings(self) -> Timings:
        """Return the wall times of the weather, including waiting for input, and of the compiled function."""
        return Timings(dict(self._seconds), waiting=("weather",))

    def view(self, name: str) -> Any:
        """Return the part of this rank of a state variable, a flux or the weather of the last step, or a number.

        Before the first step the weather is that of the first step. Weather that a user sets is returned from then on.
        """
        if name in self._weather_fields:
            begin = max(self.seconds - self.step_length, 0.0)
            found = np.asarray(self.weather([begin])[name], self._dtype)
            return np.array(np.broadcast_to(found[0] if found.ndim else found, self.domain.box.shape))
        return self.points.settable.value(name) if name in self.points.settable else self.state[name]

    def set(self, name: str, value: object) -> None:
        """Set a state variable for the next step, or the weather or a number of a process for all later steps."""
        if name in self.points.settable:
            self.points.settable.set(name, value)
            return
        values = values_to_set(self.fields[name], value, self.domain, self._dtype)
        if name in self._weather_fields:
            self._weather_set[name] = values
        else:
            self._set_state(name, values)

    def _set_state(self, name: str, value: Any) -> None:
        before = self.state[name].copy()
        self.state[name][...] = value
        self.increments[name] = self.increments.get(name, 0.0) + (self.state[name] - before)

    def save(self) -> Snapshot:
        """Return the state, the fluxes of the last step, and the changed settings."""
        metadata = {
            **self._moment(), "settable": self.points.settable.changed, "weather": list(self._weather_set),
            "set": list(self.increments), "fluxes": [spec.name for spec in self.points.fluxes],
        }  # fmt: skip
        now = {_FLUX + name if name in metadata["fluxes"] else name: array for name, array in self.state.items()}
        weather = {_WEATHER + name: values for name, values in self._weather_set.items()}
        more = {_SET + name: values for name, values in self.increments.items()}
        return Snapshot({**now, **weather, **more}, {}, metadata)

    def restore(self, saved: SavedState) -> None:
        """Restore a saved state; fluxes of processes that it lacks are 0 until the next step."""
        held, fluxes = self.domain.held, {spec.name for spec in self.points.fluxes}
        for name, array in self.state.items():
            if name not in fluxes:
                array[...] = saved.part(name, held)
            else:
                array[...] = saved.part(_FLUX + name, held) if name in saved.metadata["fluxes"] else 0.0
        self.increments = {name: np.array(saved.part(_SET + name, held)) for name in saved.metadata["set"]}
        self.points.settable.restore(saved.metadata["settable"])
        weather = saved.metadata["weather"]
        self._weather_set = {name: np.array(saved.part(_WEATHER + name, held), self._dtype) for name in weather}
        self._set_moment(saved)

    def close(self) -> None:
        """Stop the threads."""
        self._updates.formulas.close()


def values_to_set(spec: FieldSpec, value: object, domain: Domain, dtype: npt.DTypeLike) -> AnyArray:
    """Return the values to set in the cells of this rank; raises CaseError for a wrong type, shape or value.

    value  an array of the whole domain, a number for all cells, or text with a unit
    """
    # Check type and shape.
    whole = np.asarray(to(value, spec.unit, where=spec.name) if isinstance(value, str) else value)
    if whole.dtype.kind not in "fiu":
        raise CaseError(f"{spec.name} cannot be {value!r}: give numbers [{spec.unit}], or text with a unit")
    if whole.ndim and whole.shape != domain.axes.whole.shape:
        raise CaseError(f"{spec.name} has the shape {domain.axes.whole.shape}; the values have {whole.shape}")

    # Check the range.
    low, high = spec.valid or (-np.inf, np.inf)
    wrong = np.argwhere(~(np.isfinite(whole) & (whole >= low) & (whole <= high)))
    if len(wrong):
        cell = tuple(wrong[0].tolist())
        ends = "" if spec.valid is None else f" between {low:g} and {high:g}"
        where = f", as in cell {cell} of the values" if cell else ""
        raise CaseError(f"{spec.name} cannot be {whole[cell]}{where}; give numbers{ends}")
    return np.array(domain.box.of(np.broadcast_to(whole, domain.axes.whole.shape)), dtype)
