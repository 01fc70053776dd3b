"""A process in a case: the operators that kernels compile, their numbers, and their fields at each instant."""

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
    """Return the reactions of a process; raises CaseError for a line that is none.

    A line is `reactants = products : rate`, the rate [s-1, cm3 s-1 ...] as reaction files write it; products may be
    left out. key  the process's, in front of their labels
    """
    return tuple(_read(line.strip().rstrip(";"), species, f"{key}_{number}") for number, line in enumerate(lines, 1))


def _read(line: str, species: Sequence[str], label: str) -> Reaction:
    equation, colon, rate = line.partition(":")
    left, equals, right = equation.partition("=")
    if not (colon and equals and left.strip()):
        raise CaseError(f"{label}: {line[:80]!r} is no reaction; write it as A + B = C : 1e-12")
    try:
        return Reaction(label, _members(left, species, label), _members(right, species, label), read_rate(rate), line)
    except MechanismError as error:
        raise CaseError(f"{label}: {line[:80]!r}: {error}") from None


def _members(side: str, species: Sequence[str], label: str) -> tuple[tuple[str, float], ...]:
    found = []
    for member in (part for part in map(str.strip, side.split("+")) if part not in ("", "PROD")):
        match = _MEMBER.fullmatch(member)
        if match is None:
            raise CaseError(f"{label}: {member[:40]!r} is no species with its number, such as 0.5 C")
        if match[2] not in species:
            raise CaseError(f"{label}: {match[2]!r} is no species of the mechanism; {suggestion(match[2], species)}")
        found.append((match[2], float(match[1] or 1.0)))
    return tuple(found)


KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
OF_SPECIES: Final[tuple[Kind, ...]] = ("loss", "source", "settling")
HORIZONTAL: Final[tuple[Kind, ...]] = ("face_exchange", "face_flux")

_FACES: Final = {"west faces": (0, 1), "south faces": (1, 0)}


class State(Protocol):
    """The weather at an instant: fields by their names, also as attributes."""

    def get(self, name: str) -> Array | None:
        """Return a field, None where the state does not hold it."""
        ...


Around = Callable[[float], State]


def in_kernel_units(act: OperatorDeclaration, rate: Any, air: Mapping[str, Any]) -> Any:
    """Return what a function of the step gave, as its kind of operator wants it; see `kernels.operators`.

    A velocity v at the ground is a loss v / dz. A source S [mol/m3/s] is S / N of air density N [mol/m3], a flux
    F [mol/m2/s] into the layer F / (N dz). Particles that sink with v take the air v A / dz with them.
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
    """A process that is on: its declaration with the species, the numbers and the context of a case.

    key    its name as an identifier, in front of those of its fields and numbers
    kinds  of operators that count here
    """

    def __init__(self, process: Process, kinds: Collection[Kind] = KINDS) -> None:
        self.process, self.own, self._kinds = process, process.declaration, kinds
        self.key = identifier(type(process).__name__)
        self._species = species_of_functions(process)
        self.numbers = {name: self._number(name) for name, each in self.own.settings.items() if each.unit is not None}

    def _number(self, name: str) -> Array:
        """A setting as a number, or as those of all species that the process touches (species,)."""
        setting, value = self.own.settings[name], getattr(self.process, name)
        if not setting.by_species:
            if value is None:
                raise CaseError(f"{self.process.section}.{name} is not given: {setting.field.description}")
            return np.array(_plain(value))
        names, missing = self._species[name], setting.missing
        lacking = [each for each in names if each not in value]
        if lacking and missing is None:
            raise CaseError(f"{self.process.section}.{name} says nothing of {', '.join(lacking)}, which others name")
        return np.array([_plain(value[each]) if each in value else missing for each in names], np.float64)

    def species_of(self, name: str) -> tuple[str, ...]:
        """Return the species that a table by species, or a function of them, is about."""
        return self._species[name]

    @cached_property
    def operators(self) -> tuple[Operator, ...]:
        """What the process does in a step."""
        return tuple(self._operator(name, act) for name, act in self.own.operators.items() if act.kind in self._kinds)

    def only(self, kinds: Collection[Kind]) -> "BoundProcess":
        """Return the process with what it does by some kinds of operators alone."""
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
        """The species that updates replace; what these change counts in budgets under the section of the process."""
        names = {name for each in self.own.updates.values() for name in each.names}
        return tuple(name for name in self.process.context.species if name in names)

    @cached_property
    def reactions(self) -> tuple[Reaction, ...]:
        """What the process adds to the mechanism; functions are given numbers, of a table those by species."""

        def plain(name: str) -> float | dict[str, float]:
            values = self.numbers[name]
            if not self.own.settings[name].by_species:
                return float(values)
            return dict(zip(self._species[name], values.tolist(), strict=True))

        found: list[Reaction] = []
        for name, each in self.own.reactions.items():
            asked = arguments(each.function)
            lines = each.function(self.process) if asked[:1] == ("self",) else each.function(*map(plain, asked))
            if all(isinstance(line, Reaction) for line in lines):
                found += lines
            else:
                found += read_reactions(lines, self.process.context.species, f"{self.key}_{name}")
        return tuple(found)

    def sources(self, weather: Any) -> list[Source]:
        """Return what the process brings into the air; `weather` is what gives the state of the air at any time."""
        found: list[Source] = []
        for name, each in self.own.releases.items():
            made = each.function(self.process, weather)
            made = list(made) if isinstance(made, Iterable) else [made]
            if not all(isinstance(source, Source) for source in made):
                raise CaseError(
                    f"process {type(self.process).__name__}: {name}() is to return sources, each with species, levels, "
                    "changes and rate, see docs/reference/declaring.md"
                )
            found += made
        return found

    def at(self, state: State, seconds: float, around: Around) -> dict[str, Array]:
        """Return the fields at an instant as operators read them: (species, level, lat, lon), without what they lack.

        around  gives the state with a margin, for a process that looks at the columns around its own

        Raises DataError where one is not finite, CaseError where it has not the shape that is declared.
        """
        if self.process.margin:
            state = around(seconds)
        values = self.values_at(state, seconds)
        return {each.name: self.shaped(each, values[each.name]) for each in self.fields}

    def values_at(self, state: State, seconds: float) -> dict[str, Any]:
        """Return what functions of instants give, of any shape that fits, by the names of the fields."""
        known: dict[str, Any] = {}
        prefix = f"{self.key}_"
        return {each.name: self._value(each.name.removeprefix(prefix), state, seconds, known) for each in self.fields}

    def _value(self, name: str, state: State, seconds: float, known: dict[str, Any]) -> Any:
        """What a function of instants is given under a name, computed once for each instant."""
        if name in known:
            return known[name]
        own = self.own
        if name in own.settings:
            found: Any = self.numbers[name].reshape((-1, 1, 1, 1) if own.settings[name].by_species else ())
        elif name in own.weather:
            asked = own.weather[name]
            found = state.get(asked.field)
            if found is None and not asked.optional:
                raise DataError(
                    f"{self.process.section} needs {asked.field} [{asked.unit}], which the meteorology does not give"
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
        """Return a field in its whole shape; raises CaseError for one that does not fit, DataError where not finite."""
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
            raise CaseError(f"{self._where(each.name)} gives an array {found}, its declaration says {shape}") from None
        if not np.isfinite(full).all():
            raise DataError(f"{self._where(each.name)} is not finite everywhere; look at its formula and its weather")
        return full[..., 0, :, :] if each.shape == "ground" else full

    def _where(self, field: str) -> str:
        return f"process {type(self.process).__name__}: {field.removeprefix(self.key + '_')}"

    def shape_of(self, name: str) -> Shape:
        """The shape of what a function is given under a name."""
        own, context = self.own, self.process.context
        if name in own.weather:
            return "cells" if context.weather_levels.get(own.weather[name].field, 1) > 1 else "ground"
        if name in own.instants:
            each = own.instants[name]
            shapes = {self.shape_of(argument) for argument in arguments(each.function)}
            return each.shape or ("cells" if "cells" in shapes else "ground")
        return "cells" if name == "layer_thickness" else "ground"

    def is_by_species(self, name: str) -> bool:
        """Whether what a function is given under a name has one value for each species."""
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
        own, asked = self.own, arguments(act.function)
        read = [each for each in asked if each in own.instants or each in own.weather]
        inside = {each: each if each in AIR else f"{self.key}_{each}" for each in asked}
        inputs = [*dict.fromkeys([*inside.values(), *AIR])]

        def rates(*given: Any) -> Any:
            by_name = dict(zip(inputs, given, strict=True))
            found = act.function(*(by_name[inside[each]] for each in asked))
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
            {inside[each]: tuple(self.numbers[each].ravel().tolist()) for each in asked if each in self.numbers},
            act.levels == "ground",
            act.term,
        )


def refuse_idle(where: str, process: Process) -> None:
    """Raise CaseError for a process that is requested and acts on nothing; where: its key in the case."""
    reason = process.idle_reason()
    if not reason and process.is_on():
        by_species = {name for name, act in process.declaration.operators.items() if act.kind in OF_SPECIES}
        found = species_of_functions(process)
        if idle := [name for name in by_species if not found[name]]:
            reason = f"{min(idle)}() acts on no species of the mechanism; name some in its tables, or leave it out"
    if reason:
        raise CaseError(f"{where}: {reason}")


def species_of_functions(process: Process) -> dict[str, tuple[str, ...]]:
    """Return for each table by species, instant and act of a process the species that it is about.

    These are the species in the tables that a function is given, by way of others too, and what is given to the same
    function is about the same species; those of a method, and of what it is given to, are the process's.
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
    """Return the name of a class as other names are written: DryDeposition is dry_deposition."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _plain(value: Any) -> float:
    return value.value if isinstance(value, Quantity) else float(value)
