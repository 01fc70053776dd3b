"""A process in a case: its operators with their numbers, and its fields at each instant."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Protocol, get_args

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, DataError, FormulaError, MechanismError
from airshed.core.text import suggestion
from airshed.core.units import Quantity
from airshed.formula.trace import trace
from airshed.kernels.operators import AIR, Kind, Operator, OperatorField, Shape
from airshed.mechanism.kpp.meaning import read_rate
from airshed.mechanism.network import Reaction
from airshed.process.context import Source
from airshed.process.declaration import Process
from airshed.process.kinds import OFFERED, OperatorDeclaration, arguments

_MEMBER: Final = re.compile(r"((?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?)?\s*(?:\*\s*)?([A-Za-z]\w*)")


def read_reactions(lines: Sequence[str], species: Sequence[str], key: str) -> tuple[Reaction, ...]:
    """Read the reactions of a process; raises CaseError for an invalid line.

    A line is `reactants = products : rate`, with the rate [s-1, cm3 s-1 ...] as in reaction files; products may be
    omitted.

    key  of the process, a prefix of the labels of its reactions
    """
    return tuple(_read(line.strip().rstrip(";"), species, f"{key}_{number}") for number, line in enumerate(lines, 1))


def _read(line: str, species: Sequence[str], label: str) -> Reaction:
    equation, colon, rate = line.partition(":")
    left, equals, right = equation.partition("=")
    if not (colon and equals and left.strip()):
        raise CaseError(f"{label}: {line[:80]!r} is not a reaction; write it as A + B = C : 1e-12")
    try:
        return Reaction(label, _members(left, species, label), _members(right, species, label), read_rate(rate), line)
    except MechanismError as error:
        raise CaseError(f"{label}: {line[:80]!r}: {error}") from None


def _members(side: str, species: Sequence[str], label: str) -> tuple[tuple[str, float], ...]:
    found = []
    for member in (part for part in map(str.strip, side.split("+")) if part not in ("", "PROD")):
        match = _MEMBER.fullmatch(member)
        if match is None:
            raise CaseError(f"{label}: {member[:40]!r} is not a species with its number, such as 0.5 C")
        if match[2] not in species:
            raise CaseError(f"{label}: {match[2]!r} is not a species of the mechanism; {suggestion(match[2], species)}")
        found.append((match[2], float(match[1] or 1.0)))
    return tuple(found)


KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
OF_SPECIES: Final[tuple[Kind, ...]] = ("loss", "source", "settling")
HORIZONTAL: Final[tuple[Kind, ...]] = ("face_exchange", "face_flux")

_FACES: Final = {"west faces": (0, 1), "south faces": (1, 0)}


class State(Protocol):
    """Weather at an instant: fields by their names, also as attributes."""

    def get(self, name: str) -> Array | None:
        """Return a field; None if the state does not have it."""
        ...


Around = Callable[[float], State]


def in_kernel_units(act: OperatorDeclaration, rate: Any, air: Mapping[str, Any]) -> Any:
    """Convert the result of a function of the step to the unit of its kind of operator, see `kernels.operators`.

    A deposition velocity v at the ground is a loss v / dz. A source S [mol/m3/s] is S / N for air density N [mol/m3], a
    flux F [mol/m2/s] into the layer F / (N dz). Particles that settle with velocity v fall with the air flux v A / dz.
    """
    match act.kind, act.unit:
        case "loss", "m/s":
            return rate / air["thickness"]
        case "source", "mol/m3/s":
            return rate / air["air_density"]
        case "source", "mol/m2/s":
            return rate / (air["air_density"] * air["thickness"])
        case "settling", "m/s":
            return rate * air["air"] / air["thickness"]
    return rate


class BoundProcess:
    """An active process: its declaration with the species, the numbers and the context of a case.

    key    identifier of the process, a prefix of the names of its fields and numbers
    kinds  kinds of operators to be used
    """

    def __init__(self, process: Process, kinds: Collection[Kind] = KINDS) -> None:
        self.process, self.own, self._kinds = process, process.declaration, kinds
        self.key = identifier(type(process).__name__)
        self._species = species_of_functions(process)
        self.numbers = {name: self._number(name) for name, each in self.own.settings.items() if each.unit is not None}

    def _number(self, name: str) -> Array:
        """Return a setting as a number, or as an array for all species of the process (species,)."""
        setting, value = self.own.settings[name], getattr(self.process, name)
        if not setting.by_species:
            if value is None:
                raise CaseError(f"{self.process.section}.{name} is missing: {setting.field.description}")
            return np.array(_plain(value))
        names, missing = self._species[name], setting.missing
        lacking = [each for each in names if each not in value]
        if lacking and missing is None:
            key = f"{self.process.section}.{name}"
            raise CaseError(f"{key} has no value for {', '.join(lacking)}, which other tables name")
        return np.array([_plain(value[each]) if each in value else missing for each in names], np.float64)

    def species_of(self, name: str) -> tuple[str, ...]:
        """Return the species of a table by species, or of a function of such tables."""
        return self._species[name]

    @cached_property
    def operators(self) -> tuple[Operator, ...]:
        """The operators of the process in a step."""
        return tuple(self._operator(name, act) for name, act in self.own.operators.items() if act.kind in self._kinds)

    def only(self, kinds: Collection[Kind]) -> "BoundProcess":
        """Return the process with operators of some kinds only."""
        return BoundProcess(self.process, kinds)

    @cached_property
    def fields(self) -> tuple[OperatorField, ...]:
        """The fields that operators and updates read, each once."""
        own, found = self.own, [each for operator in self.operators for each in operator.fields]
        read = [name for each in own.updates.values() for name in arguments(each.function)]
        found += [
            OperatorField(f"{self.key}_{name}", self.shape_of(name))
            for name in read
            if name in own.weather or name in own.instants
        ]
        return tuple(dict.fromkeys(found))

    @property
    def replaced(self) -> tuple[str, ...]:
        """The species that updates replace; budgets count the changes under the section of the process."""
        names = {name for each in self.own.updates.values() for name in each.names}
        return tuple(name for name in self.process.context.species if name in names)

    @cached_property
    def reactions(self) -> tuple[Reaction, ...]:
        """The reactions that the process adds; functions receive numbers, or dictionaries of a table by species."""

        def plain(name: str) -> float | dict[str, float]:
            values = self.numbers[name]
            if not self.own.settings[name].by_species:
                return float(values)
            return dict(zip(self._species[name], values.tolist(), strict=True))

        found: list[Reaction] = []
        for name, each in self.own.reactions.items():
            names = arguments(each.function)
            lines = each.function(self.process) if names[:1] == ("self",) else each.function(*map(plain, names))
            if all(isinstance(line, Reaction) for line in lines):
                found += lines
            else:
                found += read_reactions(lines, self.process.context.species, f"{self.key}_{name}")
        return tuple(found)

    def sources(self, weather: Any) -> list[Source]:
        """Return the emission sources of the process; weather: provider of the state of the air at any time."""
        found: list[Source] = []
        for name, each in self.own.releases.items():
            made = each.function(self.process, weather)
            made = list(made) if isinstance(made, Iterable) else [made]
            if not all(isinstance(source, Source) for source in made):
                raise CaseError(
                    f"process {type(self.process).__name__}: {name}() must return sources, each with species, levels, "
                    "changes and rate, see docs/reference/declaring.md"
                )
            found += made
        return found

    def at(self, state: State, seconds: float, around: Around) -> dict[str, Array]:
        """Return the fields of operators at an instant: (species, level, lat, lon), without absent dimensions.

        around  function of time that returns the state with a margin of columns

        Raises DataError for a field that is not finite, CaseError for one that does not have its declared shape.
        """
        if self.process.margin:
            state = around(seconds)
        values = self.values_at(state, seconds)
        return {each.name: self.shaped(each, values[each.name]) for each in self.fields}

    def values_at(self, state: State, seconds: float) -> dict[str, Any]:
        """Return the results of functions of instants, of any shape that broadcasts, by the names of the fields."""
        known: dict[str, Any] = {}
        prefix = f"{self.key}_"
        return {each.name: self._value(each.name.removeprefix(prefix), state, seconds, known) for each in self.fields}

    def _value(self, name: str, state: State, seconds: float, known: dict[str, Any]) -> Any:
        """Return the value of an argument of functions of instants; it is computed once per instant."""
        if name in known:
            return known[name]
        own = self.own
        if name in own.settings:
            found: Any = self.numbers[name].reshape((-1, 1, 1, 1) if own.settings[name].by_species else ())
        elif name in own.weather:
            field = own.weather[name]
            found = state.get(field.field)
            if found is None and not field.optional:
                raise DataError(
                    f"{self.process.section} needs {field.field} [{field.unit}], which the meteorology does not provide"
                )
            found = found[None] if found is not None and found.ndim != 3 else found
        elif name in OFFERED:
            found = self.process.context.offers(name, seconds)
        else:
            function = own.instants[name].function
            names = arguments(function)
            if names[:1] == ("self",):
                found = function(self.process, state, seconds)
            else:
                with np.errstate(all="ignore"):
                    found = function(*(self._value(argument, state, seconds, known) for argument in names))
        known[name] = found
        return found

    def shaped(self, each: OperatorField, value: Any) -> Array:
        """Broadcast a field to its shape; raises CaseError if it does not fit, DataError if it is not finite."""
        rows, columns = self.process.context.grid.shape[1:]
        levels = self.process.context.grid.shape[0]
        more = _FACES.get(each.shape, (0, 0))
        middle = {"ground": (1,), "matrix": (levels, levels)}.get(each.shape, (levels,))
        count = len(self._species[each.name.removeprefix(f"{self.key}_")]) if each.species else 0
        shape = ((count,) if each.species else ()) + (*middle, rows + more[0], columns + more[1])
        try:
            full = np.broadcast_to(np.asarray(value, np.float64), shape)
        except ValueError:
            found = np.shape(value)
            raise CaseError(f"{self._where(each.name)} gives an array {found}, declared as {shape}") from None
        if not np.isfinite(full).all():
            raise DataError(f"{self._where(each.name)} is not finite everywhere; check its formula and its weather")
        return full[..., 0, :, :] if each.shape == "ground" else full

    def _where(self, field: str) -> str:
        return f"process {type(self.process).__name__}: {field.removeprefix(self.key + '_')}"

    def shape_of(self, name: str) -> Shape:
        """Return the shape of an argument of functions."""
        own, context = self.own, self.process.context
        if name in own.weather:
            return "cells" if context.weather_levels.get(own.weather[name].field, 1) > 1 else "ground"
        if name in own.instants:
            each = own.instants[name]
            shapes = {self.shape_of(argument) for argument in arguments(each.function)}
            return each.shape or ("cells" if "cells" in shapes else "ground")
        return "cells" if name == "layer_thickness" else "ground"

    def is_by_species(self, name: str) -> bool:
        """Return whether an argument of functions has one value per species."""
        own = self.own
        if name in own.settings:
            return own.settings[name].by_species
        if name not in own.instants:
            return False
        each = own.instants[name]
        if each.by_species is not None:
            return each.by_species
        return any(self.is_by_species(argument) for argument in arguments(each.function))

    def _operator(self, name: str, act: OperatorDeclaration) -> Operator:
        own, names = self.own, arguments(act.function)
        read = [each for each in names if each in own.instants or each in own.weather]
        inside = {each: each if each in AIR else f"{self.key}_{each}" for each in names}
        inputs = [*dict.fromkeys([*inside.values(), *AIR])]

        def rates(*values: Any) -> Any:
            by_name = dict(zip(inputs, values, strict=True))
            found = act.function(*(by_name[inside[each]] for each in names))
            return in_kernel_units(act, found, by_name)

        try:
            formulas = trace(rates, inputs).outputs if act.kind != "face_flux" else ()
        except FormulaError as error:
            raise CaseError(f"process {type(self.process).__name__}: {name}() cannot become code: {error}") from None
        species = self._species[name] if act.kind in OF_SPECIES else ()
        return Operator(
            f"{self.key}_{name}",
            act.kind,
            formulas,
            tuple(map(self.process.context.species.index, species)),
            tuple(OperatorField(inside[each], self.shape_of(each), self.is_by_species(each)) for each in read),
            {inside[each]: tuple(self.numbers[each].ravel().tolist()) for each in names if each in self.numbers},
            act.levels == "ground",
            act.term,
        )


def refuse_idle(where: str, process: Process) -> None:
    """Raise CaseError for a process that the case requests but that has no effect; where: its key in the case."""
    reason = process.idle_reason()
    if not reason and process.is_on():
        by_species = {name for name, act in process.declaration.operators.items() if act.kind in OF_SPECIES}
        found = species_of_functions(process)
        if idle := [name for name in by_species if not found[name]]:
            reason = f"{min(idle)}() acts on no species of the mechanism; name some in its tables, or leave it out"
    if reason:
        raise CaseError(f"{where}: {reason}")


def species_of_functions(process: Process) -> dict[str, tuple[str, ...]]:
    """Return the species of each table by species, instant and operator of a process.

    The species of a function are those of the tables that it reads, directly or through other functions; arguments of
    one function have the same species. A method, and functions that read its result, have the species of the process.
    """
    own = process.declaration
    functions: dict[str, Any] = {**own.instants, **own.operators}
    tables = {name: set(getattr(process, name)) for name, each in own.settings.items() if each.by_species}
    together = {name: {name} for name in (*tables, *functions)}
    for name, each in functions.items():
        for argument in arguments(each.function):
            if argument in together:
                joined = together[name] | together[argument]
                together.update(dict.fromkeys(joined, joined))
    found = {}
    for name, group in together.items():
        is_method = any(arguments(functions[each].function)[:1] == ("self",) for each in group if each in functions)
        named = set(process.species) if is_method else {key for each in group if each in tables for key in tables[each]}
        found[name] = tuple(each for each in process.context.species if each in named)
    return found


def identifier(name: str) -> str:
    """Return the identifier of a class name: DryDeposition becomes dry_deposition."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _plain(value: Any) -> float:
    return value.value if isinstance(value, Quantity) else float(value)
