"""Point models: updates of processes in each cell, combined into one compiled function per step.

    points = Points([Rain(...), Drainage(...)], CellFields(state, parameters, weather))
    step = points.compiled("double", threads=2)
    new = step({**state, **weather, **parameters, **points.numbers})      # as points.outputs names them
    new = step.advance({**state, **weather_of_days, **parameters, **points.numbers}, days)

The updates act in the order of their processes, and within a process in the order of its class. Formulas are combined
once. A process that is off is omitted, and its fluxes are zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.core.text import suggestion
from airshed.core.units import same_unit
from airshed.formula import derivative, evaluate_all
from airshed.formula.evaluate import fold
from airshed.formula.trace import NoAxisError, TracedArray, TracedFunction, Tracer
from airshed.formula.tree import ZERO, Expression, Number, Symbol, symbols
from airshed.kernels.cells.formulas import CellFormulas, Precision
from airshed.process.bound_process import BoundProcess
from airshed.process.declaration import Process
from airshed.process.kinds import arguments
from airshed.process.processes import Processes
from airshed.process.settable import Settable
from airshed.process.updates import Update, formulas


@dataclass(frozen=True)
class CellFields:
    """Fields of a point model in each cell.

    state       fields that steps change;  parameters  constants;  weather  fields that vary from step to step
    axes        name -> size of the additional axes of fields, such as soil layers; such an axis is the first one

    In updates, a field with an axis is an array. Elsewhere each of its elements is a field: water_1, water_2 ...
    """

    state: Sequence[FieldSpec]
    parameters: Sequence[FieldSpec] = ()
    weather: Sequence[FieldSpec] = ()
    axes: Mapping[str, int] = field(default_factory=dict)

    def elements(self, spec: FieldSpec) -> tuple[FieldSpec, ...]:
        """Return the elements of a field as fields without an axis, numbered from 1."""
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
        """Return the names of the elements of the fields that have an axis."""
        return {spec.name: tuple(one.name for one in self.elements(spec)) for spec in specs if self.has_axis(spec)}

    @cached_property
    def arrays(self) -> dict[str, tuple[str, ...]]:
        """The names of the elements of each field with an axis."""
        return self.arrays_of((*self.state, *self.parameters, *self.weather))

    def split(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values by the names of fields without axes.

        values  by names of fields or elements; a field with an axis is (size, cells), or one number for all elements
        """
        found: dict[str, Any] = {}
        for name, value in values.items():
            parts = self.arrays.get(name, (name,))
            each = [value] * len(parts) if name not in self.arrays or np.ndim(value) == 0 else value
            if len(each) != len(parts):
                raise CaseError(f"{name} has {len(parts)} elements along its axis, but {len(each)} values")
            found |= dict(zip(parts, each, strict=True))
        return found


_FIELD: Final = "a field of the model"


@dataclass
class Composition:
    """Processes of a point model, combined one after the other.

    fields  of the cells of the model;  off  fluxes of processes that are off: they are zero
    later   fluxes that are not yet computed, each with its process
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

    def add(self, bound: BoundProcess) -> None:
        """Apply the updates of a process to the results of earlier ones; raises CaseError for invalid updates."""
        known = self._own(bound)
        for name, each in bound.own.updates.items():
            where = f"process {type(bound.process).__name__}: {name}()"
            values = {key: self._argument(where, key, known) for key in arguments(each.function)}
            sizes = {key: len(self.arrays[key]) for key in each.names if key in self.arrays}
            try:
                found = formulas(where, each, values, sizes)
            except NoAxisError as error:
                raise CaseError(f"{where} cannot become code: {error}") from error
            self._write(where, each, found, bound.own.fluxes)

    def traced(self) -> tuple[TracedFunction, tuple[str, ...]]:
        """Return the formulas of changed values, with their inputs, and the names of the results."""
        names = tuple(name for name in self.written if self.values[name] is not Symbol(name))
        outputs = tuple(fold(self.values[name]) for name in names)
        return TracedFunction(symbols(*outputs), outputs), names

    def _own(self, bound: BoundProcess) -> dict[str, Any]:
        """Return the arguments of functions of a process other than fields: its settings and its weather."""
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

    def _weather(self, bound: BoundProcess, name: str) -> Expression | TracedArray | None:
        field, offered = bound.own.weather[name], {spec.name: spec for spec in self.fields.weather}
        where = f"process {type(bound.process).__name__}: {name}"
        if field.field in offered:
            unit = offered[field.field].unit
            if not same_unit(field.unit, unit):
                raise CaseError(
                    f"{where} reads {field.field} in {field.unit}, which is in {unit}; declare it in that unit"
                )
            if field.field in self.arrays:
                return TracedArray([Tracer(Symbol(part)) for part in self.arrays[field.field]])
            return Symbol(field.field)
        if field.optional:
            return None
        raise CaseError(
            f"{where} reads {field.field} [{field.unit}], which the weather of the model does not have; "
            f"{suggestion(field.field, offered)}"
        )

    def _argument(self, where: str, name: str, own: Mapping[str, Any]) -> Any:
        if name in own:
            return own[name]
        if name in self.values:
            return self.values[name]
        if name in self.later:
            raise CaseError(
                f"{where} reads {name!r}, which {self.later[name]} computes later in the step; change the order of one"
            )
        if name in self.arrays:
            return TracedArray([Tracer(self.values[part]) for part in self.arrays[name]])
        known = [*own, *self.values, *self.later, *self.arrays]
        raise CaseError(
            f"{where} reads {name!r}, which is not a setting or weather of it, and not {_FIELD}; "
            f"{suggestion(name, known)}"
        )

    def _write(self, where: str, each: Update, found: Iterable[Expression], fluxes: Iterable[str]) -> None:
        flat = self.fields.flat
        may = [*(spec.name for spec in (*self.fields.state, *flat.state)), *fluxes]
        values = iter(found)
        for name in each.names:
            if name not in may:
                raise CaseError(
                    f"{where} returns {name!r}, which is not a field of the state and not a flux of its process; "
                    f"{suggestion(name, may)}"
                )
            for part in self.arrays.get(name, (name,)):
                self.values[part] = next(values)
                self.written[part] = None
            self.later.pop(name, None)


def check_point_process(process: Process) -> None:
    """Refuse a process of the air-quality model, or one without effect, in a point model."""
    own, name = process.declaration, type(process).__name__
    if own.of_the_air:
        raise CaseError(
            f"process {name}: {own.of_the_air[0]} works only in the air-quality model; in a point model a process acts "
            "by functions that are declared with @update"
        )
    if not own.updates:
        raise CaseError(f"process {name}: it has no effect, since no function is declared with @update")


def check_names(fields: CellFields, processes: Sequence[Process], fluxes: Sequence[Sequence[FieldSpec]]) -> None:
    """Refuse equal names of fields and their elements, weather, fluxes, and settable numbers.

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


class Points:
    """The step of a point model, from its processes.

    fields     of its cells, without axes
    fluxes     of processes, as fields without axes
    processes  sections of active processes, in their order
    settable   numbers that can be changed between steps
    formulas   of a step; inputs are the state, weather, parameters and settable numbers that it reads
    outputs    names of the results of a step: fields of the state that it changes, and fluxes

    Raises CaseError for processes that are inconsistent, or that the model does not support.
    """

    def __init__(self, processes: Iterable[Process], fields: CellFields) -> None:
        everyone = sorted(processes, key=lambda each: (each.order, type(each).__name__))
        for each in everyone:
            check_point_process(each)
        acting = [each for each in everyone if each.is_on()]
        bound = Processes(map(BoundProcess, acting))
        self.processes = tuple(each.process.section for each in bound)
        self.fields, self.settable = fields.flat, Settable(bound)
        self.split = fields.split
        """Convert values of fields with an axis to their elements, see :meth:`CellFields.split`."""
        specs = [_flux_specs(each, fields) for each in everyone]
        check_names(fields, everyone, specs)
        self.fluxes = tuple(
            one
            for each, made in zip(everyone, specs, strict=True)
            if each in acting
            for spec in made
            for one in fields.elements(spec)
        )
        off = _fluxes(each for each in everyone if each not in acting)
        arrays = fields.arrays_of(spec for made in specs for spec in made)
        composition = Composition(fields, off, _fluxes(acting), arrays)
        for one in bound:
            composition.add(one)
        self.formulas, self.outputs = composition.traced()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs of a step."""
        return self.formulas.inputs

    @property
    def numbers(self) -> dict[str, Array]:
        """The current settable numbers, by the names of their fields."""
        return {name: self.settable.value(name) for name in self.settable}

    def compiled(self, precision: Precision = "double", *, threads: int = 1) -> CellFormulas:
        """Return the compiled step, for one or more steps per call; raises KernelError without a compiler."""
        invariant = set(self.inputs).difference(self.outputs, (spec.name for spec in self.fields.weather))
        return CellFormulas(self.formulas, precision, names=self.outputs, invariant=invariant, threads=threads)

    def reference(self, values: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """Return the result of a step, computed by NumPy."""
        return dict(zip(self.outputs, evaluate_all(self.formulas.outputs, values), strict=True))

    def tangent(self, wrt: Sequence[str]) -> TracedFunction:
        """Return the tangents of the outputs for tangents of some inputs, see :mod:`airshed.formula.derivative`."""
        return derivative.tangent(self._with_inputs(wrt), wrt)

    def adjoint(self, wrt: Sequence[str], of: Sequence[str] = ()) -> TracedFunction:
        """Return the sensitivities of outputs to some inputs, see :mod:`airshed.formula.derivative`.

        A field of the state that the step only reads is not an output; its adjoint does not change.

        of  outputs, by default all
        """
        traced = self._with_inputs(wrt)
        chosen = tuple(traced.outputs[self.outputs.index(name)] for name in of or self.outputs)
        return derivative.adjoint(TracedFunction(traced.inputs, chosen), wrt)

    def _with_inputs(self, wrt: Sequence[str]) -> TracedFunction:
        """Return the formulas with unused fields of the model among the inputs; their derivatives are 0."""
        fields = (*self.fields.state, *self.fields.parameters, *self.fields.weather, *self.settable.values())
        unread = {spec.name for spec in fields}.difference(self.inputs)
        return TracedFunction((*self.inputs, *(name for name in wrt if name in unread)), self.formulas.outputs)


def _flux_specs(process: Process, fields: CellFields) -> list[FieldSpec]:
    """Return the fluxes of a process as fields; raises CaseError for an axis that the model does not have."""
    dims = fields.flat.state[0].dims
    for name, each in process.declaration.fluxes.items():
        if each.axis and each.axis not in fields.axes:
            raise CaseError(
                f"process {type(process).__name__}: {name} has the axis {each.axis!r}, which the model does not have; "
                f"{suggestion(each.axis, fields.axes)}"
            )
    return [
        FieldSpec(
            name, (each.axis, *dims) if each.axis else dims, each.unit, each.text, valid=each.valid, over_step=True
        )
        for name, each in process.declaration.fluxes.items()
    ]  # fmt: skip


def _fluxes(processes: Iterable[Process]) -> dict[str, str]:
    """Return the fluxes of processes, each with the name of its process."""
    return {name: type(each).__name__ for each in processes for name in each.declaration.fluxes}
