"""All updates of a model of points as one set of formulas, the newest values of fields put in where they are read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.core.text import suggestion
from airshed.core.units import same_unit
from airshed.formula.evaluate import fold
from airshed.formula.trace import NoAxisError, Traced, TracedArray, Tracer
from airshed.formula.tree import ZERO, Expression, Number, Symbol, symbols
from airshed.process.bound import Bound
from airshed.process.declaration import Process
from airshed.process.kinds import arguments
from airshed.process.updates import Update, formulas


@dataclass(frozen=True)
class CellFields:
    """What a model of points has in each cell.

    state       fields that steps change;  parameters  constants;  weather  fields that each step is given
    axes        name -> size of the axes that fields may have in a cell, as their first dimension: soil layers

    A field with an axis is an array in updates. Outside of them each of its elements is a field: water_1, water_2 ...
    """

    state: Sequence[FieldSpec]
    parameters: Sequence[FieldSpec] = ()
    weather: Sequence[FieldSpec] = ()
    axes: Mapping[str, int] = field(default_factory=dict)

    def elements(self, spec: FieldSpec) -> tuple[FieldSpec, ...]:
        """Return a field as fields without an axis: those of its elements, from 1 on."""
        if not self.has_axis(spec):
            return (spec,)
        axis, *dims = spec.dims
        return tuple(
            replace(spec, name=f"{spec.name}_{number}", dims=tuple(dims), text=f"{spec.text} of {axis} {number}")
            for number in range(1, self.axes[axis] + 1)
        )

    def has_axis(self, spec: FieldSpec) -> bool:
        """Return whether a field is an array in updates."""
        return spec.dims[:1] != () and spec.dims[0] in self.axes

    @cached_property
    def flat(self) -> "CellFields":
        """The fields without axes."""
        state, parameters, weather = (
            tuple(one for spec in part for one in self.elements(spec))
            for part in (self.state, self.parameters, self.weather)
        )
        return CellFields(state, parameters, weather)

    def arrays_of(self, specs: Iterable[FieldSpec]) -> dict[str, tuple[str, ...]]:
        """Return the names of the elements of those of some fields that have an axis."""
        return {spec.name: tuple(one.name for one in self.elements(spec)) for spec in specs if self.has_axis(spec)}

    @cached_property
    def arrays(self) -> dict[str, tuple[str, ...]]:
        """The names of the elements of each field with an axis."""
        return self.arrays_of((*self.state, *self.parameters, *self.weather))

    def split(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values by the names of fields without axes.

        values  by names of fields or elements; of a field with an axis (size, cells), or a number that all have
        """
        found: dict[str, Any] = {}
        for name, value in values.items():
            parts = self.arrays.get(name, (name,))
            each = [value] * len(parts) if name not in self.arrays or np.ndim(value) == 0 else value
            if len(each) != len(parts):
                raise CaseError(f"{name} has {len(parts)} elements along its axis, and {len(each)} are given")
            found |= dict(zip(parts, each, strict=True))
        return found


_FIELD: Final = "a field of the model"


@dataclass
class Composition:
    """Processes of a model of points, put together one after the other.

    fields  of the model's cells;  off  fluxes of processes that are off: they are zero
    later   fluxes that are still to be made, each with the process that makes it
    arrays  names of the elements of fluxes with an axis
    """

    fields: CellFields
    off: Mapping[str, str]
    later: dict[str, str]
    arrays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    values: dict[str, Expression] = field(init=False)
    written: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arrays = {**self.fields.arrays, **self.arrays}
        flat = self.fields.flat
        self.values = {spec.name: Symbol(spec.name) for spec in (*flat.state, *flat.parameters)}
        self.values |= {part: ZERO for name in self.off for part in self.arrays.get(name, (name,))}

    def add(self, bound: Bound) -> None:
        """Let the updates of a process act on what the ones before left; raises CaseError for what cannot be."""
        known = self._own(bound)
        for name, each in bound.own.updates.items():
            where = f"process {type(bound.process).__name__}: {name}()"
            given = {key: self._given(where, key, known) for key in arguments(each.function)}
            sizes = {key: len(self.arrays[key]) for key in each.names if key in self.arrays}
            try:
                found = formulas(where, each, given, sizes)
            except NoAxisError as error:
                raise CaseError(f"{where} cannot become code: {error}") from error
            self._write(where, each, found, bound.own.fluxes)

    def traced(self) -> tuple[Traced, tuple[str, ...]]:
        """Return the formulas of what was changed, with the inputs that they need, and the names of the results."""
        names = tuple(name for name in self.written if self.values[name] is not Symbol(name))
        outputs = tuple(fold(self.values[name]) for name in names)
        return Traced(symbols(*outputs), outputs), names

    def _own(self, bound: Bound) -> dict[str, Any]:
        """What functions of a process are given besides fields of the model: its settings and its weather."""
        own = {name: getattr(bound.process, name) for name, each in bound.own.settings.items() if each.unit is None}
        for name, number in bound.numbers.items():
            if bound.own.settings[name].by_species:
                continue
            settable = bound.own.settings[name].settable
            own[name] = Symbol(f"{bound.process.section}_{name}") if settable else Number(float(number))
        for name in bound.own.weather:
            own[name] = self._weather(bound, name)
        for name in own:
            if name in self.values or name in self.later or name in self.arrays:
                raise CaseError(
                    f"process {type(bound.process).__name__}: it declares {name}, which is also {_FIELD}; rename it"
                )
        return own

    def _weather(self, bound: Bound, name: str) -> Expression | TracedArray | None:
        asked, offered = bound.own.weather[name], {spec.name: spec for spec in self.fields.weather}
        where = f"process {type(bound.process).__name__}: {name}"
        if asked.field in offered:
            unit = offered[asked.field].unit
            if not same_unit(asked.unit, unit):
                raise CaseError(
                    f"{where} asks for {asked.field} in {asked.unit}, which is in {unit}; declare it in that unit"
                )
            if asked.field in self.arrays:
                return TracedArray([Tracer(Symbol(part)) for part in self.arrays[asked.field]])
            return Symbol(asked.field)
        if asked.optional:
            return None
        raise CaseError(
            f"{where} asks for {asked.field} [{asked.unit}], which the model's weather does not have; "
            f"{suggestion(asked.field, offered)}"
        )

    def _given(self, where: str, name: str, own: Mapping[str, Any]) -> Any:
        if name in own:
            return own[name]
        if name in self.values:
            return self.values[name]
        if name in self.later:
            raise CaseError(
                f"{where} asks for {name!r}, which {self.later[name]} makes later in the step; change the order of one"
            )
        if name in self.arrays:
            return TracedArray([Tracer(self.values[part]) for part in self.arrays[name]])
        known = [*own, *self.values, *self.later, *self.arrays]
        raise CaseError(
            f"{where} asks for {name!r}, which is no setting or weather of it, and no {_FIELD[2:]}; "
            f"{suggestion(name, known)}"
        )

    def _write(self, where: str, each: Update, found: Iterable[Expression], fluxes: Iterable[str]) -> None:
        flat = self.fields.flat
        may = [*(spec.name for spec in (*self.fields.state, *flat.state)), *fluxes]
        values = iter(found)
        for name in each.names:
            if name not in may:
                raise CaseError(
                    f"{where} returns {name!r}, which is no field of the state and no flux of its process; "
                    f"{suggestion(name, may)}"
                )
            for part in self.arrays.get(name, (name,)):
                self.values[part] = next(values)
                self.written[part] = None
            self.later.pop(name, None)


def check_alone(process: Process) -> None:
    """Refuse a process that acts on the air, or does nothing, in a model of points."""
    own, name = process.declaration, type(process).__name__
    if own.of_the_air:
        raise CaseError(
            f"process {name}: {own.of_the_air[0]} is of models of the air; in a model of points a process acts by "
            "functions that are declared with @update"
        )
    if not own.updates:
        raise CaseError(f"process {name}: nothing would act, since no function is declared with @update")


def check_names(fields: CellFields, processes: Sequence[Process], fluxes: Sequence[Sequence[FieldSpec]]) -> None:
    """Refuse two things of one name: fields and their elements, weather, fluxes, and numbers that can be set.

    fluxes  of each process, as fields
    """

    def names(specs: Iterable[FieldSpec]) -> list[str]:
        return [name for spec in specs for name in (spec.name, *fields.arrays_of([spec]).get(spec.name, ()))]

    named = [(name, _FIELD) for name in names((*fields.state, *fields.parameters))]
    named += [(name, "weather of the model") for name in names(fields.weather)]
    for each, made in zip(processes, fluxes, strict=True):
        own, process = each.declaration, type(each).__name__
        numbers = [name for name, setting in own.settings.items() if setting.settable]
        named += [(name, f"a flux of {process}") for name in names(made)]
        named += [(f"{each.section}_{name}", f"a settable number of {process}") for name in numbers]
    found: dict[str, str] = {}
    for name, what in named:
        if name in found:
            raise CaseError(f"{name} is {found[name]} and {what}; rename one")
        found[name] = what
