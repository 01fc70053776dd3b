"""Declaration of a process: a class with its settings, the weather that it needs, and its effect on species.

    class Washout(Process, section="washout"):
        \"\"\"Scavenging by rain: dq/dt = -a (P / 1 mm h-1)^0.79 q.\"\"\"

        coefficients = per_species("1/s", "Loss of species to rain of 1 mm/h.", settable=True)
        rain = weather("precipitation", "kg m-2 s-1")

        @at_instant("1/s")
        def rate(coefficients, rain):
            return coefficients * (rain * 3600.0) ** 0.79

        @loss(term="washed")
        def washed(rate):
            return rate

The names of its arguments determine the inputs of a function. Functions of instants (:func:`at_instant`) are called
with arrays, once for each instant of the forcing. Their arguments are settings, weather, results of other such
functions, and inputs from the context (:data:`airshed.process.kinds.OFFERED`). Functions of operators (:func:`loss` and
similar) are traced once and compiled. Their arguments are numbers among the settings, results of instants, and the air
of the cell (:data:`airshed.kernels.operators.AIR`). A function with the first argument `self` is a method: it is not
traced, and its code is unrestricted. A function that changes each cell separately is an update, see
:mod:`airshed.process.updates`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

from airshed.core.errors import CaseError
from airshed.core.settings import Section
from airshed.core.text import suggestion
from airshed.kernels.operators import AIR
from airshed.process.context import ProcessContext
from airshed.process.kinds import (
    OFFERED,
    SIGNS,
    Declaration,
    InstantField,
    Need,
    OperatorDeclaration,
    Reactions,
    Releases,
    SettingDeclaration,
    Weather,
    arguments,
)
from airshed.process.updates import CellField, Flux, Update, check_updates

_KINDS: Final = {
    SettingDeclaration: "settings", Weather: "weather", InstantField: "instants", OperatorDeclaration: "operators",
    Reactions: "reactions", Releases: "releases", Flux: "fluxes", CellField: "states", Update: "updates", Need: "needs",
}  # fmt: skip


class Process:
    """Base class of all processes; ``declaration`` collects the declarations of a class.

    section  section of the case file with its settings; several processes may share one
    order    position among all processes: small numbers first
    margin   columns around its own whose weather its methods read, at most :data:`airshed.process.context.MARGIN`
    model    hand-written section; None: the section is made of the declared settings

    An instance is a process of a case. Its settings are attributes with the values of the section. ``context`` is the
    part of the case that it may read, see :class:`airshed.process.context.ProcessContext`; None in a point model.
    """

    context: ProcessContext

    section: ClassVar[str]
    order: ClassVar[int] = 50
    margin: ClassVar[int] = 0
    model: ClassVar[type[Section] | None] = None
    declaration: ClassVar[Declaration] = Declaration()

    def __init_subclass__(
        cls, *, section: str = "", order: int | None = None, model: type[Section] | None = None
    ) -> None:
        cls.section = section or cls.__name__.lower()
        cls.model = model
        if order is not None:
            cls.order = order
        cls.declaration = Declaration()
        for name, value in vars(cls).items():
            if kind := _KINDS.get(type(value)):
                getattr(cls.declaration, kind)[name] = value
        own = cls.declaration
        if not _SECTION.fullmatch(cls.section):
            raise CaseError(f"process {cls.__name__}: section {cls.section!r} is not a name: use letters, digits and _")
        words = {key: each.field.default for key, each in own.settings.items() if each.unit is None}
        check_updates(cls.__name__, own.updates, list(own.fluxes), own.states, words)
        for fault in _faults(cls):
            raise CaseError(f"process {cls.__name__}: {fault}")

    def __init__(self, settings: Section, context: ProcessContext | None = None) -> None:
        if context is not None:
            self.context = context
        vars(self).update({name: getattr(settings, name) for name in type(settings).model_fields})
        provided = {} if context is None else context.provided
        for name, each in self.declaration.needs.items():
            if each.kind not in provided and not each.optional:
                known = sorted(kind.__name__ for kind in provided)
                raise CaseError(
                    f"process {type(self).__name__}: it needs {name}, {each.kind.__name__}, which the model does not "
                    f"provide; {suggestion(each.kind.__name__, known)}"
                )
            setattr(self, name, provided.get(each.kind))
        self.prepare()

    def prepare(self) -> None:
        """Prepare the process once, before compilation."""

    def is_on(self) -> bool:
        """Return whether the case requests the process; by default if one of its tables by species is not empty."""
        tables = [name for name, each in self.declaration.settings.items() if each.by_species]
        return not tables or any(getattr(self, name) for name in tables)

    def idle_reason(self) -> str:
        """Return why a requested process has no effect; an empty string if it has one, or is off."""
        return ""

    @property
    def species(self) -> tuple[str, ...]:
        """The species on which it acts: by default the species of its tables, in the order of the mechanism."""
        tables = [getattr(self, name) for name, each in self.declaration.settings.items() if each.by_species]
        named = {name for table in tables for name in table}
        return tuple(name for name in self.context.species if name in named)

    @property
    def provenance(self) -> Mapping[str, str]:
        """Sources of its data, by subject, such as a species; shown in the summary of a run."""
        return {}

    @property
    def depends_on_sun(self) -> bool:
        """True if its fields follow the time of day in constant air; forcing is then hourly."""
        names = {name for each in self.declaration.instants.values() for name in arguments(each.function)}
        return bool(names & {"sun_height", "seconds"})


RESERVED_TERMS: Final = (
    "inflow", "outflow", "chemistry", "clipped", "change", "residual", "throughput", "imbalance", "drift",
)  # fmt: skip
"""Names of budget terms that a process cannot use for its own term."""

SHARED_TERMS: Final = {"emitted": 1.0, "deposited": -1.0}
"""Terms of every budget, with their signs: processes may add operators of the same sign to them."""


_SECTION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TERM: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")

_UNITS: Final = {
    ("loss", "all"): ("1/s",),
    ("loss", "ground"): ("1/s", "m/s"),
    ("source", "all"): ("mol/mol/s", "mol/m3/s"),
    ("source", "ground"): ("mol/mol/s", "mol/m3/s", "mol/m2/s"),
    ("settling", "all"): ("m/s", "mol/s"),
}
"""Units of the functions of a kind, by the levels where it acts."""

_METHODS: Final = {
    "instants": ("self", "met", "seconds"),
    "operators": (),
    "reactions": ("self",),
    "releases": ("self", "weather"),
}
"""Arguments of methods; only the name of the first one matters. Functions of operators cannot be methods."""


def _faults(cls: "type[Process]") -> Iterator[str]:
    """Yield the faults of a declaration; updates are checked before, see :func:`check_updates`."""
    own = cls.declaration

    # methods with wrong arguments
    for part, expected in _METHODS.items():
        for name, each in getattr(own, part).items():
            names = arguments(each.function)
            is_method = names[:1] == ("self",)
            if (part == "releases" and not is_method) or (is_method and len(names) != len(expected)):
                shown = (
                    f"write def {name}({', '.join(expected)})" if expected else "it is compiled, and cannot be a method"
                )
                yield f"{name}({', '.join(names)}) cannot be called: {shown}"

    # settable numbers without an effect
    functions = [each.function for part in (own.instants, own.operators, own.updates) for each in part.values()]
    read = {name for function in functions for name in arguments(function)}
    for name, setting in own.settings.items():
        if setting.settable and name not in read:
            yield (
                f"{name} is settable, but no function of an instant or a step has it as an argument, so that a change "
                "would have no effect"
            )

    # arguments; for operators also term, unit and species
    numbers = {key for key, each in own.settings.items() if each.unit is not None}
    steady = {key for key in numbers if not own.settings[key].settable}
    known = {*own.settings, *own.weather, *own.instants, *OFFERED}
    for name, instant in own.instants.items():
        yield from _faults_of_arguments(own, name, instant.function, known - {name})
    for name, each in own.reactions.items():
        yield from _faults_of_arguments(own, name, each.function, steady)
    for name, act in own.operators.items():
        if act.term is not None:
            yield from _faults_of_act(name, act, act.term)
            tables = any(each.by_species for each in own.settings.values())
            if not tables and cls.species is Process.species:
                yield (
                    f"{name}() acts on the species of a table, and there is no table: declare one with "
                    "per_species, or a property species"
                )
        yield from _faults_of_arguments(own, name, act.function, {*numbers, *own.weather, *own.instants, *AIR})


def _faults_of_act(name: str, act: OperatorDeclaration, term: str) -> Iterator[str]:
    refused = f"{name}() cannot have the term {term!r}"
    if not _TERM.fullmatch(term):
        yield f"{refused}: letters, digits, _ and spaces"
    if term in RESERVED_TERMS:
        yield f"{refused}: budgets use it; take another"
    if SHARED_TERMS.get(term, SIGNS[act.kind]) != SIGNS[act.kind]:
        yield f"{refused}: this term has the other sign"
    units = _UNITS.get((act.kind, act.levels))
    if units is None:
        yield f"{name}() acts at levels {act.levels!r}; use 'all' or 'ground'"
    elif act.unit not in units:
        where = "at the ground" if act.levels == "ground" else "at all levels"
        yield f"{name}() returns {act.unit!r}; a {act.kind} {where} is in {' or '.join(units)}"


def _faults_of_arguments(own: Declaration, name: str, function: Callable[..., Any], known: set[str]) -> Iterator[str]:
    asked = arguments(function)
    for argument in () if asked[:1] == ("self",) else asked:
        if argument not in known and argument in own.settings:
            yield (
                f"{name}() reads {argument!r}, a setting that is not available: reactions are compiled, so theirs are "
                "not settable; words and switches are available in methods, as self.NAME"
            )
        if argument not in known:
            hint = suggestion(argument, sorted(known))
            yield f"{name}() reads {argument!r}, which is not a setting, weather or result of it; {hint}"
