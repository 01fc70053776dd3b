"""All updates of a model of points as one set of formulas, the newest values of fields put in where they are read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.core.text import suggestion
from airshed.core.units import same_unit
from airshed.formula.evaluate import fold
from airshed.formula.trace import Traced
from airshed.formula.tree import ZERO, Expression, Number, Symbol, symbols
from airshed.process.bound import Bound
from airshed.process.declaration import Process
from airshed.process.kinds import arguments
from airshed.process.updates import Update, formulas


@dataclass(frozen=True)
class CellFields:
    """What a model of points has in each cell.

    state       what steps change;  parameters  what stays as it is
    weather     what is given anew for each step
    """

    state: Sequence[FieldSpec]
    parameters: Sequence[FieldSpec] = ()
    weather: Sequence[FieldSpec] = ()


_FIELD: Final = "a field of the model"


@dataclass
class Composition:
    """Processes of a model of points, put together one after the other.

    fields  of the model's cells;  off  fluxes of processes that are off: they are zero
    later   fluxes that are still to be made, each with the process that makes it
    """

    fields: CellFields
    off: Mapping[str, str]
    later: dict[str, str]
    values: dict[str, Expression] = field(init=False)
    written: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = {spec.name: Symbol(spec.name) for spec in (*self.fields.state, *self.fields.parameters)}
        self.values |= dict.fromkeys(self.off, ZERO)

    def add(self, bound: Bound) -> None:
        """Let the updates of a process act on what the ones before left; raises CaseError for what cannot be."""
        known = self._own(bound)
        for name, each in bound.own.updates.items():
            where = f"process {type(bound.process).__name__}: {name}()"
            given = {key: self._given(where, key, known) for key in arguments(each.function)}
            self._write(where, each, formulas(where, each, given), bound.own.fluxes)

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
            if name in self.values or name in self.later:
                raise CaseError(
                    f"process {type(bound.process).__name__}: it declares {name}, which is also {_FIELD}; rename it"
                )
        return own

    def _weather(self, bound: Bound, name: str) -> Expression | None:
        asked, offered = bound.own.weather[name], {spec.name: spec for spec in self.fields.weather}
        where = f"process {type(bound.process).__name__}: {name}"
        if asked.field in offered:
            unit = offered[asked.field].unit
            if not same_unit(asked.unit, unit):
                raise CaseError(
                    f"{where} asks for {asked.field} in {asked.unit}, which is in {unit}; declare it in that unit"
                )
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
        known = [*own, *self.values, *self.later]
        raise CaseError(
            f"{where} asks for {name!r}, which is no setting or weather of it, and no {_FIELD[2:]}; "
            f"{suggestion(name, known)}"
        )

    def _write(self, where: str, each: Update, found: Iterable[Expression], fluxes: Iterable[str]) -> None:
        may = [*(spec.name for spec in self.fields.state), *fluxes]
        for name, value in zip(each.names, found, strict=True):
            if name not in may:
                raise CaseError(
                    f"{where} returns {name!r}, which is no field of the state and no flux of its process; "
                    f"{suggestion(name, may)}"
                )
            self.values[name] = value
            self.written[name] = None
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


def check_names(fields: CellFields, processes: Sequence[Process]) -> None:
    """Refuse two things of one name: fields, weather, fluxes, and numbers that can be set."""
    named = [(spec.name, _FIELD) for part in (fields.state, fields.parameters) for spec in part]
    named += [(spec.name, "weather of the model") for spec in fields.weather]
    for each in processes:
        own, process = each.declaration, type(each).__name__
        numbers = [name for name, setting in own.settings.items() if setting.settable]
        named += [(name, f"a flux of {process}") for name in own.fluxes]
        named += [(f"{each.section}_{name}", f"a settable number of {process}") for name in numbers]
    found: dict[str, str] = {}
    for name, what in named:
        if name in found:
            raise CaseError(f"{name} is {found[name]} and {what}; rename one")
        found[name] = what
