"""A model of points: cells without neighbours, which processes of kind `update` change in steps of one length.

A package brings the processes, the fields of the cells and their weather; see docs/reference/declaring.md.
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
from airshed.core.text import suggestion
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
    """Arrays of cells by name, changed in place: the working state of a walk over a program, or its adjoint."""

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
        """Return the adjoint of each value of a linear combination, of which these are the adjoint."""
        return [{name: share * array for name, array in self.items()} for share in coefficients]


@dataclass(frozen=True)
class Batch:
    """Steps that one call makes.

    values   inputs that they do not change: parameters, numbers, and of each step its weather
    records  (steps, cells) by names of results: filled with those of each step; or StepValues, of which steps fill some
    """

    steps: int
    values: Values
    records: Mapping[str, AnyArray | StepValues] = field(default_factory=dict)


class Updates:
    """Runner of compiled formulas on values of cells; satisfies :class:`airshed.program.execute.Runner`.

    A result whose name is that of a value replaces it; other results are in `records` of a batch, and in `last`.
    """

    def __init__(self, formulas: CellFormulas, values: CellValues) -> None:
        self.formulas, self._values = formulas, values
        self.last: dict[str, AnyArray] = {}

    def run(self, number: int, stage: Stage, given: Batch) -> Batch:
        """Make the steps of a batch; it is also the record of the stage."""
        out = [self._values.get(name, self.last.get(name)) for name in self.formulas.names]
        found = self.formulas.advance({**given.values, **self._values}, given.steps, out, records=given.records)
        self.last = dict(zip(self.formulas.names, found, strict=True))
        return given


@dataclass(frozen=True)
class PointValues:
    """Inputs of the cells of a rank, on the box of its domain; a number is the same for all cells.

    state       fields of the state at the start, by name, and optionally fluxes, which are 0 otherwise
    parameters  constants of the run; of a field with an axis, here and in the state, (size, cells) or elements by name
    weather     returns the weather of the steps that begin at some times [s]: (steps, cells), (steps) for all cells, or
                a number. Views of the weather call it again for a single earlier step.
    changes     fields of the state that are set at times [s], before the step that begins there
    """

    state: Values
    parameters: Values = field(default_factory=dict)
    weather: Callable[[Sequence[float]], Values] = lambda begins: {}
    changes: Mapping[float, Values] = field(default_factory=dict)


class PointModel(PlainModel):
    """Model of independent cells, which one compiled function advances.

    step       length [s] of every step
    precision  of the state and of what is computed;  threads  that share the cells
    batch      the most steps in one call of the compiled function: cells go through all of them in the cache
    Raises CaseError for fields on other dimensions than ranks divide, and for a step of another length.
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
                lie, wanted = ", ".join(spec.dims), ", ".join(domain.axes.divided)
                raise CaseError(f"field {spec.name} lies on ({lie}); those of a model of points lie on ({wanted})")
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
        """The state and the fluxes of the last step, by the names of fields."""
        # contiguous once, and not in every step
        self.parameters = {
            name: np.asarray(value, dtype, order="C") for name, value in points.split(values.parameters).items()
        }
        self.was_set: dict[str, AnyArray] = {}
        """What was set of fields of the state, more than there was: it counts as if it had been there at the start."""
        self._updates = Updates(formulas, self.state)
        self._changes = values.changes
        self._records: Mapping[str, AnyArray] = {}
        self._recorded = 0
        self._seconds = {"weather": 0.0, "cells": 0.0}

    def longest_step(self, until: float) -> float:
        """Return the length of every step [s]."""
        return self.step_length

    def next_change(self) -> float:
        """The time at which fields of the state are set next."""
        return min((time for time in self._changes if time > self.seconds + INSTANT), default=inf)

    def changes_at(self, seconds: float) -> Values:
        """Return what is set of the state before the step that begins at a time [s]."""
        return next((each for time, each in self._changes.items() if abs(time - seconds) < INSTANT), {})

    def step_through(self, ends: Sequence[float]) -> None:
        """Advance the state by steps, in place: the program of a step, all of them in one call of the function."""
        begins = [self.seconds, *ends[:-1]]
        for begin, end in zip(begins, ends, strict=True):
            if abs(end - begin - self.step_length) > INSTANT:
                raise CaseError(
                    f"a step of this model takes {self.step_length:g} s, and one of {end - begin:g} s is requested; "
                    "have output, restarts and the end of the case after whole steps"
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
        """Return the weather of the steps that begin at some times [s], with what was set; see :class:`PointValues`."""
        held = {name: np.broadcast_to(each, (len(begins), *each.shape)) for name, each in self._weather_set.items()}
        return {**self._weather_of_case(begins), **held}

    def record(self, arrays: Mapping[str, AnyArray]) -> None:
        """Let each of the next steps fill a row of arrays (steps, cells), and of none that were given before.

        arrays  by names of fields of the state and of fluxes, in single or double precision
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
                f"results of {len(next(iter(self._records.values())))} steps are recorded, and more are made"
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
        """Return the wall time of the weather, which includes waiting for input, and of the compiled function."""
        return Timings(dict(self._seconds), waiting=("weather",))

    def view(self, name: str) -> Any:
        """This rank's part of a field of the state, a flux or the weather of the last step, or a settable number.

        Before the first step it is the weather of that; weather that was set is shown from then on.
        """
        if name in self._weather_fields:
            begin = max(self.seconds - self.step_length, 0.0)
            found = np.asarray(self.weather([begin])[name], self._dtype)
            return np.array(np.broadcast_to(found[0] if found.ndim else found, self.domain.box.shape))
        return self.points.settable.value(name) if name in self.points.settable else self.state[name]

    def set(self, name: str, value: object) -> None:
        """Change the state, from which the next step goes on; the weather or a number of a process, until set again."""
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
        self.was_set[name] = self.was_set.get(name, 0.0) + (self.state[name] - before)

    def save(self) -> Snapshot:
        """Return the state, the fluxes of the last step, and the settings that were changed."""
        metadata = {
            **self._moment(), "settable": self.points.settable.changed, "weather": list(self._weather_set),
            "set": list(self.was_set), "fluxes": [spec.name for spec in self.points.fluxes],
        }  # fmt: skip
        now = {_FLUX + name if name in metadata["fluxes"] else name: array for name, array in self.state.items()}
        weather = {_WEATHER + name: values for name, values in self._weather_set.items()}
        more = {_SET + name: values for name, values in self.was_set.items()}
        return Snapshot({**now, **weather, **more}, {}, metadata)

    def restore(self, saved: SavedState) -> None:
        """Restore a saved state; fluxes of processes that it lacks are 0 until the next step."""
        held, fluxes = self.domain.held, {spec.name for spec in self.points.fluxes}
        for name, array in self.state.items():
            if name not in fluxes:
                array[...] = saved.part(name, held)
            else:
                array[...] = saved.part(_FLUX + name, held) if name in saved.metadata["fluxes"] else 0.0
        self.was_set = {name: np.array(saved.part(_SET + name, held)) for name in saved.metadata["set"]}
        self.points.settable.restore(saved.metadata["settable"])
        weather = saved.metadata["weather"]
        self._weather_set = {name: np.array(saved.part(_WEATHER + name, held), self._dtype) for name in weather}
        self._set_moment(saved)

    def close(self) -> None:
        """End the threads."""
        self._updates.formulas.close()


def values_to_set(spec: FieldSpec, value: object, domain: Domain, dtype: npt.DTypeLike) -> AnyArray:
    """Return the values to which the cells of this rank are set; raises CaseError for a wrong type, shape or value.

    value  an array of the whole domain, a number for all its cells, or a text with a unit
    """
    # type and shape
    whole = np.asarray(to(value, spec.unit, where=spec.name) if isinstance(value, str) else value)
    if whole.dtype.kind not in "fiu":
        raise CaseError(f"{spec.name} cannot be {value!r}: give numbers [{spec.unit}], or a text with a unit")
    if whole.ndim and whole.shape != domain.axes.whole.shape:
        raise CaseError(f"{spec.name} has the shape {domain.axes.whole.shape}; values of {whole.shape} cannot be set")

    # range
    low, high = spec.valid or (-np.inf, np.inf)
    wrong = np.argwhere(~(np.isfinite(whole) & (whole >= low) & (whole <= high)))
    if len(wrong):
        cell = tuple(wrong[0].tolist())
        ends = "" if spec.valid is None else f" between {low:g} and {high:g}"
        where = f", as in cell {cell} of what is to be set" if cell else ""
        raise CaseError(f"{spec.name} cannot be {whole[cell]}{where}; give numbers{ends}")
    return np.array(domain.box.of(np.broadcast_to(whole, domain.axes.whole.shape)), dtype)
