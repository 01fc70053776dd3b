"""A model of points: cells without neighbours, which processes of kind `update` change in steps of one length.

A package brings the processes, the fields of the cells and their weather; see docs/declaring.md.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from airshed.core.errors import CaseError
from airshed.core.every import INSTANT
from airshed.core.text import suggestion
from airshed.fields.spec import FieldRegistry
from airshed.kernels.cells import Precision
from airshed.kernels.memory import AnyArray
from airshed.parallel.domain import Domain
from airshed.points.weather import SettableWeather, Values, values_to_set
from airshed.process.points import Points
from airshed.runtime.model import BESIDE, Pace, PlainModel, Saved, Snapshot, Timings
from airshed.runtime.registry import Told

_SET, _FLUX = f"{BESIDE}set.", f"{BESIDE}flux."


def _no_weather(begins: Sequence[float]) -> Values:
    return {}


@dataclass(frozen=True)
class PointValues:
    """Values of the cells of a rank, on the box of its domain; a number is that of all cells.

    state    at the start, by the names of its fields; of fluxes too, which else are 0 before the first step
    parameters  for good
    weather  of the steps that begin at some times [s]: on (steps, cells), or (steps) for all cells, or a number;
             it is also asked for a single step that was made before, where somebody looks at the weather of that
    """

    state: Values
    parameters: Values = field(default_factory=dict)
    weather: Callable[[Sequence[float]], Values] = _no_weather


class PointModel(PlainModel):
    """Cells that a step changes each by itself, all by one compiled function.

    step       length [s] of every step
    precision  of the state and of what is computed;  threads  that share the cells
    batch      the most steps in one call of the compiled function: cells go through all of them in the cache
    Raises CaseError for fields on other dimensions than ranks divide, and for a step of another length.
    """

    def __init__(
        self, points: Points, domain: Domain, values: PointValues, *, step: float, precision: Precision = "double",
        threads: int = 1, batch: int = 1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.pace = Pace(batch)
        for spec in points.fields.state:
            if spec.dims != domain.axes.divided:
                lie, wanted = ", ".join(spec.dims), ", ".join(domain.axes.divided)
                raise CaseError(f"field {spec.name} lies on ({lie}); those of a model of points lie on ({wanted})")
        self.domain, self._points, self._step = domain, points, step
        self._formulas = points.compiled(precision, threads=threads)
        needed = [spec for spec in points.fields.weather if spec.name in points.inputs]
        self._weather = SettableWeather(values.weather, needed, domain, self._formulas.dtype)
        self.fields = FieldRegistry(
            [*points.fields.state, *points.fluxes, *self._weather.fields.values(), *points.settable.values()]
        )
        shape, dtype = domain.box.shape, self._formulas.dtype
        self._state = {
            spec.name: np.array(np.broadcast_to(values.state[spec.name], shape), dtype) for spec in points.fields.state
        }
        self._state |= {
            spec.name: np.array(np.broadcast_to(values.state.get(spec.name, 0.0), shape), dtype)
            for spec in points.fluxes
        }
        # contiguous once, and not in every step
        self._parameters = {name: np.asarray(value, dtype, order="C") for name, value in values.parameters.items()}
        self.was_set: dict[str, AnyArray] = {}
        """What was set of fields of the state, more than there was: it counts as if it had been there at the start."""
        self._kept: dict[str, AnyArray] = {}
        self._kept_steps = 0
        self._seconds = {"weather": 0.0, "cells": 0.0}

    def longest_step(self, until: float) -> float:
        """The length of every step [s]."""
        return self._step

    def step_through(self, ends: Sequence[float]) -> None:
        """Advance the state by steps, in place, all of them in one call of the compiled function."""
        begins = [self.seconds, *ends[:-1]]
        for begin, end in zip(begins, ends, strict=True):
            if abs(end - begin - self._step) > INSTANT:
                raise CaseError(
                    f"a step of this model takes {self._step:g} s, and one of {end - begin:g} s is asked for; "
                    "have output, restarts and the end of the case after whole steps"
                )
        began, rows = time.perf_counter(), self._rows_kept(len(ends))
        values = {**self._parameters, **self._weather(begins), **self._points.numbers, **self._state}
        ready = time.perf_counter()
        self._formulas.advance(values, len(ends), [self._state[name] for name in self._points.outputs], each=rows)
        self.seconds, self.steps = ends[-1], self.steps + len(ends)
        self._seconds["weather"] += ready - began
        self._seconds["cells"] += time.perf_counter() - ready

    def keep(self, names: Sequence[str], steps: int) -> Mapping[str, AnyArray]:
        """Return arrays (steps, cells) in single precision, of which each of the next steps fills a row.

        names  fields of the state, and fluxes. What was kept before is kept no more.
        Raises CaseError for a field that no step changes.
        """
        for name in names:
            if name not in self._points.outputs:
                raise CaseError(f"no step changes {name}; {suggestion(name, self._points.outputs)}")
        self._kept = {name: np.empty((steps, *self.domain.box.shape), np.float32) for name in names}
        self._kept_steps = 0
        return self._kept

    def _rows_kept(self, steps: int) -> dict[str, AnyArray]:
        first, self._kept_steps = self._kept_steps, self._kept_steps + steps
        rows = {name: array[first : first + steps] for name, array in self._kept.items()}
        if any(len(each) < steps for each in rows.values()):
            raise CaseError(f"results of {len(next(iter(self._kept.values())))} steps are kept, and more are made")
        return rows

    def tell(self) -> Told:
        """Return the processes, and what the fields are."""
        points = self._points
        kinds = {"state": points.fields.state, "flux": points.fluxes, "weather": self._weather.fields.values()}
        groups = {spec.name: kind for kind, specs in kinds.items() for spec in specs}
        groups |= {name: points.settable.place(name)[0].process.section for name in points.settable}
        return Told(points.processes, groups)

    def timings(self) -> Timings:
        """The wall time of getting weather, which may be waiting for it, and of the compiled function."""
        return Timings(dict(self._seconds), waiting=("weather",))

    def view(self, name: str) -> Any:
        """This rank's part of a field of the state, a flux or the weather of the last step, or a settable number.

        Before the first step it is the weather of that; weather that was set is shown from then on.
        """
        if name in self._weather.fields:
            return self._weather.value(name, max(self.seconds - self._step, 0.0))
        return self._points.settable.value(name) if name in self._points.settable else self._state[name]

    def set(self, name: str, value: object) -> None:
        """Change the state, from which the next step goes on; the weather or a number of a process, until set again."""
        if name in self._weather.fields:
            self._weather.set(name, value)
        elif name in self._points.settable:
            self._points.settable.set(name, value)
        else:
            before = self._state[name].copy()
            self._state[name][...] = values_to_set(self.fields[name], value, self.domain, before.dtype)
            self.was_set[name] = self.was_set.get(name, 0.0) + (self._state[name] - before)

    def save(self) -> Snapshot:
        """State, fluxes of the last step, and what was set."""
        metadata = {
            **self._moment(), "settable": self._points.settable.changed, "weather": self._weather.names,
            "set": list(self.was_set), "fluxes": [spec.name for spec in self._points.fluxes],
        }  # fmt: skip
        fluxes = {spec.name for spec in self._points.fluxes}
        now = {_FLUX + name if name in fluxes else name: array for name, array in self._state.items()}
        more = {_SET + name: values for name, values in self.was_set.items()}
        return Snapshot({**now, **self._weather.save(), **more}, {}, metadata)

    def restore(self, saved: Saved) -> None:
        """Take over a saved state; fluxes of processes that were off then are 0 until the next step."""
        held, fluxes = self.domain.held, {spec.name for spec in self._points.fluxes}
        for name, array in self._state.items():
            if name not in fluxes:
                array[...] = saved.part(name, held)
            else:
                array[...] = saved.part(_FLUX + name, held) if name in saved.metadata["fluxes"] else 0.0
        self.was_set = {name: np.array(saved.part(_SET + name, held)) for name in saved.metadata["set"]}
        self._points.settable.restore(saved.metadata["settable"])
        self._weather.restore(saved, saved.metadata["weather"])
        self._set_moment(saved)

    def close(self) -> None:
        """End the threads."""
        self._formulas.close()
