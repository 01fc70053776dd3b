"""Models of points: what processes of kind `update` do to each cell in a step, as one compiled function.

    points = Points([Rain(...), Drainage(...)], CellFields(state, parameters, weather))
    step = points.compiled("double", threads=2)
    new = step({**state, **weather, **parameters, **points.numbers})      # as points.outputs names them
    new = step.advance({**state, **weather_of_days, **parameters, **points.numbers}, days)

The updates act in the order of their processes, within a process in that of its class. Formulas are put together once;
a process that is off is not among them, and its fluxes are zero.
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
from airshed.formula.trace import NoAxisError, Traced, TracedArray, Tracer
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

    def add(self, bound: BoundProcess) -> None:
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

    def _own(self, bound: BoundProcess) -> dict[str, Any]:
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

    def _weather(self, bound: BoundProcess, name: str) -> Expression | TracedArray | None:
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


def check_point_process(process: Process) -> None:
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


class Points:
    """What processes do to the cells of a model in a step.

    fields     of its cells, without axes
    fluxes     that processes make, as fields without axes
    processes  sections of those that are on, in their order
    settable   numbers of them that can be changed between steps
    formulas   of a step: inputs are state, weather, parameters and settable numbers, as far as it needs them
    outputs    names of what a step returns: fields of the state that it changes, and fluxes

    Raises CaseError for processes that do not fit together, or that the model cannot have.
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
        """Returns values of fields with an axis by the names of their elements, see :meth:`CellFields.split`."""
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
        """The names of what a step reads."""
        return self.formulas.inputs

    @property
    def numbers(self) -> dict[str, Array]:
        """The settable numbers as they are now, by the names of their fields."""
        return {name: self.settable.value(name) for name in self.settable}

    def compiled(self, precision: Precision = "double", *, threads: int = 1) -> CellFormulas:
        """Return the step, and any number of them, as compiled code; raises KernelError where there is no compiler."""
        invariant = set(self.inputs).difference(self.outputs, (spec.name for spec in self.fields.weather))
        return CellFormulas(self.formulas, precision, names=self.outputs, invariant=invariant, threads=threads)

    def reference(self, values: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """Return what a step makes of values, by NumPy."""
        return dict(zip(self.outputs, evaluate_all(self.formulas.outputs, values), strict=True))

    def tangent(self, wrt: Sequence[str]) -> Traced:
        """Return the changes of the outputs with changes of some inputs, see :mod:`airshed.formula.derivative`."""
        return derivative.tangent(self._with_inputs(wrt), wrt)

    def adjoint(self, wrt: Sequence[str], of: Sequence[str] = ()) -> Traced:
        """Return the sensitivities of outputs to some inputs, see :mod:`airshed.formula.derivative`.

        A field of the state that the step only reads is no output, and passes its own on as it is.

        of  the outputs, by default all
        """
        traced = self._with_inputs(wrt)
        chosen = tuple(traced.outputs[self.outputs.index(name)] for name in of or self.outputs)
        return derivative.adjoint(Traced(traced.inputs, chosen), wrt)

    def _with_inputs(self, wrt: Sequence[str]) -> Traced:
        """The formulas with what the model has but the step does not read among their inputs: its derivative is 0."""
        fields = (*self.fields.state, *self.fields.parameters, *self.fields.weather, *self.settable.values())
        unread = {spec.name for spec in fields}.difference(self.inputs)
        return Traced((*self.inputs, *(name for name in wrt if name in unread)), self.formulas.outputs)


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
