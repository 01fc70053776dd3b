"""What a process is: a class that declares its settings, the weather it needs, and what it does to species.

    class Washout(Process, section="washout"):
        \"\"\"What rain takes out of the air: dq/dt = -a (P / 1 mm h-1)^0.79 q.\"\"\"

        coefficients = per_species("1/s", "Loss of species to rain of 1 mm/h.", settable=True)
        rain = weather("precipitation", "kg m-2 s-1")

        @at_instant("1/s")
        def rate(coefficients, rain):
            return coefficients * (rain * 3600.0) ** 0.79

        @loss(term="washed")
        def washed(rate):
            return rate

The names of arguments say what a function is given. Those of :func:`at_instant` are called with arrays, once for each
instant of the forcing; they are given settings, weather, one another's results and what the context offers
(:data:`airshed.process.kinds.OFFERED`). What acts in a step (:func:`loss` and the others) is traced once, and becomes
code: it is given numbers among the settings, results of instants, and the air of the cell
(:data:`airshed.kernels.operators.AIR`). A function whose first argument is `self` is a method, and free in what it
does; such a one is not traced. What changes each cell by itself is an update, see :mod:`airshed.process.updates`.
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
    """The base of all processes; what a class declares is in ``declaration``.

    section  of the case file that holds its settings; several processes may share one
    order    where it stands among others: small numbers first

    margin   columns around its own whose weather its methods look at, at most :data:`airshed.process.context.MARGIN`
    model    that section, where it is written by hand; None: it is made of the settings that the class declares

    An instance is a process of a case: its settings are its attributes, as the section holds them, and ``context``
    is what the case provides, see :class:`airshed.process.context.ProcessContext`; it has none in a model of points.
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
            raise CaseError(f"process {cls.__name__}: section {cls.section!r} is no name: letters, digits and _ alone")
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
        """Do what is to be done once, before anything is compiled."""

    def is_on(self) -> bool:
        """Whether the case requests the process; by default where a table by species, which it has, is not empty."""
        tables = [name for name, each in self.declaration.settings.items() if each.by_species]
        return not tables or any(getattr(self, name) for name in tables)

    def idle_reason(self) -> str:
        """Return why the process acts on nothing although its settings request it; empty where it acts, or is off."""
        return ""

    @property
    def species(self) -> tuple[str, ...]:
        """The names of the species that it touches: by default those in its tables, in the order of the mechanism."""
        tables = [getattr(self, name) for name, each in self.declaration.settings.items() if each.by_species]
        named = {name for table in tables for name in table}
        return tuple(name for name in self.context.species if name in named)

    @property
    def provenance(self) -> Mapping[str, str]:
        """Where it has its data from, by what they are of, such as a species; shown in the summary of a run."""
        return {}

    @property
    def depends_on_sun(self) -> bool:
        """Whether its fields change with the time of the day in air that stays the same; forcing is then hourly."""
        asked = {name for each in self.declaration.instants.values() for name in arguments(each.function)}
        return bool(asked & {"sun_height", "seconds"})


RESERVED_TERMS: Final = (
    "inflow", "outflow", "chemistry", "clipped", "change", "residual", "throughput", "imbalance", "drift",
)  # fmt: skip
"""Names in budgets that no process can take for a term of its own."""

SHARED_TERMS: Final = {"emitted": 1.0, "deposited": -1.0}
"""Terms that every budget has, and how they count: a process may add to them what counts alike."""


_SECTION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TERM: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")

_UNITS: Final = {
    ("loss", "all"): ("1/s",),
    ("loss", "ground"): ("1/s", "m/s"),
    ("source", "all"): ("mol/mol/s", "mol/m3/s"),
    ("source", "ground"): ("mol/mol/s", "mol/m3/s", "mol/m2/s"),
    ("settling", "all"): ("m/s", "mol/s"),
}
"""What functions of a kind may return, by the levels where it acts."""

_METHODS: Final = {
    "instants": ("self", "met", "seconds"),
    "operators": (),
    "reactions": ("self",),
    "releases": ("self", "weather"),
}
"""The arguments of methods, of which the first alone has a name that counts; what acts in a step is none."""


def _faults(cls: "type[Process]") -> Iterator[str]:
    """Yield what is wrong with a declaration; updates are checked first, see :func:`check_updates`."""
    own = cls.declaration

    # Methods that cannot be called as they will be.
    for part, wanted in _METHODS.items():
        for name, each in getattr(own, part).items():
            asked = arguments(each.function)
            is_method = asked[:1] == ("self",)
            if (part == "releases" and not is_method) or (is_method and len(asked) != len(wanted)):
                shown = f"write def {name}({', '.join(wanted)})" if wanted else "it becomes code, and is no method"
                yield f"{name}({', '.join(asked)}) cannot be called: {shown}"

    # Numbers that can be set where setting would have no effect.
    functions = [each.function for part in (own.instants, own.operators, own.updates) for each in part.values()]
    given = {name for function in functions for name in arguments(function)}
    for name, setting in own.settings.items():
        if setting.settable and name not in given:
            yield (
                f"{name} is settable, but no function of an instant or a step has it as an argument, so that a change "
                "would have no effect"
            )

    # Arguments, and for what acts its term, unit and species.
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
                    f"{name}() acts on the species that a table names, and there is none: declare one with "
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
        yield f"{refused}: that one has the other sign"
    units = _UNITS.get((act.kind, act.levels))
    if units is None:
        yield f"{name}() acts at levels {act.levels!r}; there are 'all' and 'ground'"
    elif act.unit not in units:
        where = "at the ground" if act.levels == "ground" else "at all levels"
        yield f"{name}() gives {act.unit!r}; a {act.kind} {where} is in {' or '.join(units)}"


def _faults_of_arguments(own: Declaration, name: str, function: Callable[..., Any], known: set[str]) -> Iterator[str]:
    asked = arguments(function)
    for argument in () if asked[:1] == ("self",) else asked:
        if argument not in known and argument in own.settings:
            yield (
                f"{name}() asks for {argument!r}, a setting that it cannot have: reactions are compiled, so theirs are "
                "not settable; words and switches are given to methods, as self.NAME"
            )
        if argument not in known:
            hint = suggestion(argument, sorted(known))
            yield f"{name}() asks for {argument!r}, which is no setting, weather or result of it; {hint}"
