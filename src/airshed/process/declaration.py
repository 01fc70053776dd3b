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
instant of the forcing; they are given settings, weather, one another's results and what the place offers
(:data:`PLACE`). What acts in a step (:func:`loss` and the others) is traced once, and becomes code: it is given
numbers among the settings, results of instants, and the air of the cell (:data:`airshed.kernels.step.operators.AIR`).
A function whose first argument is `self` is a method, and free in what it does; such a one is not traced.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, TypeVar

from airshed.core.errors import CaseError
from airshed.core.settings import Section
from airshed.core.text import suggestion
from airshed.kernels.step.operators import AIR, Kind, Shape
from airshed.process.place import Place
from airshed.process.settings import Declared
from airshed.process.updates import Flux, Update, check_updates

F = TypeVar("F", bound=Callable[..., Any])

PLACE: Final[Mapping[str, str]] = {
    "land_fraction": "1", "cell_area": "m2", "layer_thickness": "m", "sun_height": "1", "seconds": "s",
}  # fmt: skip
"""What functions of instants may be given of the place and the time, and the units.

land_fraction (1, lat, lon); cell_area (1, lat, 1); layer_thickness (level, 1, 1); sun_height, the cosine of the sun's
zenith angle (1, lat, lon); seconds, since the start of the case.
"""

RESERVED_TERMS: Final = (
    "inflow",
    "outflow",
    "chemistry",
    "clipped",
    "change",
    "residual",
    "throughput",
    "imbalance",
    "drift",
)
"""Names in budgets that no process can take for a term of its own."""

SIGNS: Final = {"loss": -1.0, "sinking": -1.0, "source": 1.0}
"""How what a kind adds to its term counts in budgets."""

SHARED_TERMS: Final = {"emitted": 1.0, "deposited": -1.0}
"""Terms that every budget has, and how they count: a process may add to them what counts alike."""

Levels = Literal["all", "ground"]
WeatherShape = Literal["cells", "layer_faces", "surface"]


@dataclass(frozen=True)
class Weather:
    """A field of the weather that a process needs: (level, lat, lon), with one level for those of the ground.

    field     its name in the state of the air; one that not every state holds is read from what gives the weather
    optional  whether the process does without it: functions are then given None
    cf_name   of the variable that a Dataset holds it in; shape  what it has a value for
    """

    field: str
    unit: str
    optional: bool = False
    cf_name: str = ""
    shape: WeatherShape = "cells"


def weather(
    name: str, unit: str, *, optional: bool = False, cf_name: str = "", shape: WeatherShape = "cells"
) -> Any:  # fmt: skip
    """Declare a field of the weather; the last two are of one that no state of the air holds by itself."""
    return Weather(name, unit, optional, cf_name or name, shape)


@dataclass(frozen=True)
class AtInstant:
    """A field of the process's own, computed once for each instant of the forcing and linear in between.

    shape       what it has a value for; None: that of what the function is given
    by_species  whether it has one for each species; None: whether something that the function is given has
    """

    function: Callable[..., Any]
    unit: str
    shape: Shape | None = None
    by_species: bool | None = None


def at_instant(
    unit: str, shape: Shape | None = None, *, by_species: bool | None = None
) -> Callable[[F], Any]:  # fmt: skip
    """Declare a field that is computed at each instant of the forcing, see :class:`AtInstant`."""
    return lambda function: AtInstant(function, unit, shape, by_species)


@dataclass(frozen=True)
class Acts:
    """What a process does in a step, as a kind of operator, see :mod:`airshed.kernels.step.operators`.

    unit  of what the function returns;  term  of the budget, None for a kind that conserves
    """

    kind: Kind
    function: Callable[..., Any]
    unit: str
    levels: Levels = "all"
    term: str | None = None


def loss(*, levels: Levels = "all", unit: str = "1/s", term: str) -> Callable[[F], Any]:
    """Declare a first-order loss [1/s], or in the lowest level a velocity [m/s] towards the ground."""
    return lambda function: Acts("loss", function, unit, levels, term)


def source(*, levels: Levels = "all", unit: str = "mol/mol/s", term: str) -> Callable[[F], Any]:
    """Declare a source: a change of the mixing ratio [mol/mol/s], of an amount [mol/m3/s] or a flux [mol/m2/s]."""
    return lambda function: Acts("source", function, unit, levels, term)


def exchange(function: F) -> Any:
    """Declare air that is exchanged through upper faces of cells, both ways alike [mol/s], for all species."""
    return Acts("exchange", function, "mol/s")


def sinking(*, unit: str = "m/s", term: str) -> Callable[[F], Any]:
    """Declare a speed downward through the air [m/s]; the term is what arrives at the ground."""
    return lambda function: Acts("sinking", function, unit, term=term)


def face_exchange(function: F) -> Any:
    """Declare air that is exchanged through west and south faces [mol/s], both ways alike; the function returns two."""
    return Acts("face_exchange", function, "mol/s")


def column_matrix(function: F) -> Any:
    """Declare what the air of each layer brings to each other one [mol/s], for all species."""
    return Acts("column_matrix", function, "mol/s")


def face_flux() -> Any:
    """Declare that all species go with the air through faces; budgets count that as `inflow` and `outflow`."""

    def carried() -> tuple[()]:
        """All that the air carries through faces."""
        return ()

    return Acts("face_flux", carried, "mol/s")


@dataclass(frozen=True)
class Reactions:
    """Reactions that a process adds to the mechanism: a function that returns lines such as "A = B : 1e-5;"."""

    function: Callable[..., Any]


def reactions(function: F) -> Any:
    """Declare reactions: the function returns lines as the #EQUATIONS of a KPP file has them.

    A method may return :class:`airshed.mechanism.network.Reaction` instead.
    """
    return Reactions(function)


@dataclass(frozen=True)
class Releases:
    """Amounts that a process brings into the air: a method that returns sources."""

    function: Callable[..., Any]


def releases(function: F) -> Any:
    """Declare releases: a method, given the weather, that returns sources [mol/s], constant in each period.

    A source is what :class:`airshed.process.release.Source` says. What enters the air is the integral of its rates to
    round-off, whatever the steps; budgets count it as `emitted`.
    """
    return Releases(function)


@dataclass
class Declaration:
    """All that a class declares, by name, in its order."""

    settings: dict[str, Declared] = field(default_factory=dict)
    weather: dict[str, Weather] = field(default_factory=dict)
    instants: dict[str, AtInstant] = field(default_factory=dict)
    acts: dict[str, Acts] = field(default_factory=dict)
    reactions: dict[str, Reactions] = field(default_factory=dict)
    releases: dict[str, Releases] = field(default_factory=dict)
    fluxes: dict[str, Flux] = field(default_factory=dict)
    updates: dict[str, Update] = field(default_factory=dict)

    @property
    def of_the_air(self) -> list[str]:
        """The names of what models of the air alone know; updates and fluxes are of models of points."""
        tables = [name for name, each in self.settings.items() if each.by_species]
        return [*self.instants, *self.acts, *self.reactions, *self.releases, *tables]


_KINDS: Final = {
    Declared: "settings", Weather: "weather", AtInstant: "instants", Acts: "acts", Reactions: "reactions",
    Releases: "releases", Flux: "fluxes", Update: "updates",
}  # fmt: skip


class Process:
    """The base of all processes; what a class declares is in ``declaration``.

    section  of the case file that holds its settings; several processes may share one
    order    where it stands among others: small numbers first

    margin   columns around its own whose weather its methods look at, at most :data:`airshed.process.place.MARGIN`
    model    that section, where it is written by hand; None: it is made of the settings that the class declares

    An instance is a process of a case: its settings are its attributes, as the section holds them, and ``place`` is
    what it is told of the case, see :class:`airshed.process.place.Place`; it has none in a model of points.
    """

    place: Place

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
        _check(cls)

    def __init__(self, settings: Section, place: Place | None = None) -> None:
        if place is not None:
            self.place = place
        vars(self).update({name: getattr(settings, name) for name in type(settings).model_fields})
        self.prepare()

    def prepare(self) -> None:
        """Do what is to be done once, before anything is compiled."""

    def is_on(self) -> bool:
        """Whether the case asks for the process; by default where a table by species, which it has, is not empty."""
        tables = [name for name, each in self.declaration.settings.items() if each.by_species]
        return not tables or any(getattr(self, name) for name in tables)

    @property
    def species(self) -> tuple[str, ...]:
        """The names of the species that it touches: by default those in its tables, in the order of the mechanism."""
        tables = [getattr(self, name) for name, each in self.declaration.settings.items() if each.by_species]
        named = {name for table in tables for name in table}
        return tuple(name for name in self.place.species if name in named)

    @property
    def provenance(self) -> Mapping[str, str]:
        """Where it has its data from, by what they are of, such as a species; told in the summary of a run."""
        return {}

    @property
    def follows_the_sun(self) -> bool:
        """Whether its fields change with the time of the day in air that stays the same; forcing is then hourly."""
        asked = {name for each in self.declaration.instants.values() for name in arguments(each.function)}
        return bool(asked & {"sun_height", "seconds"})


def arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's arguments."""
    return tuple(inspect.signature(function).parameters)


def _check(cls: type[Process]) -> None:
    """Refuse a declaration whose functions ask for what there is not, or that would do nothing."""
    own = cls.declaration
    if not _SECTION.fullmatch(cls.section):
        raise CaseError(f"process {cls.__name__}: section {cls.section!r} is no name: letters, digits and _ alone")
    check_updates(cls.__name__, own.updates, list(own.fluxes), own.of_the_air)
    _check_methods(cls)
    _check_settable(cls)
    for name, instant in own.instants.items():
        known = {*own.settings, *own.weather, *own.instants, *PLACE}
        _check_arguments(cls, name, instant.function, known - {name})
    numbers = {key for key, each in own.settings.items() if each.unit is not None}
    for name, each in own.reactions.items():
        _check_arguments(cls, name, each.function, numbers - {key for key in numbers if own.settings[key].settable})
    for name, act in own.acts.items():
        if act.term is not None:
            _check_term(cls, name, act.term, SIGNS[act.kind])
            _check_options(cls, name, act)
        _check_arguments(cls, name, act.function, {*numbers, *own.weather, *own.instants, *AIR})


def _check_term(cls: type[Process], name: str, term: str, sign: float) -> None:
    if not _TERM.fullmatch(term):
        raise CaseError(
            f"process {cls.__name__}: {name}() cannot have the term {term!r}: letters, digits, _ and spaces"
        )
    if term in RESERVED_TERMS:
        raise CaseError(f"process {cls.__name__}: {name}() cannot have the term {term!r}: budgets use it; take another")
    if SHARED_TERMS.get(term, sign) != sign:
        raise CaseError(f"process {cls.__name__}: {name}() cannot have the term {term!r}: that one has the other sign")


_SECTION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TERM: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*")

_UNITS: Final = {
    ("loss", "all"): ("1/s",),
    ("loss", "ground"): ("1/s", "m/s"),
    ("source", "all"): ("mol/mol/s", "mol/m3/s"),
    ("source", "ground"): ("mol/mol/s", "mol/m3/s", "mol/m2/s"),
    ("sinking", "all"): ("m/s", "mol/s"),
}
"""What functions of a kind may return, by the levels where it acts."""

_METHODS: Final = {
    "instants": ("self", "met", "seconds"),
    "acts": (),
    "reactions": ("self",),
    "releases": ("self", "weather"),
}
"""The arguments of methods, of which the first alone has a name that counts; what acts in a step is none."""


def _check_options(cls: type[Process], name: str, act: Acts) -> None:
    """Refuse levels and units that a kind does not have, and what would act on no species."""
    units = _UNITS.get((act.kind, act.levels))
    if units is None:
        raise CaseError(f"process {cls.__name__}: {name}() acts at levels {act.levels!r}; there are 'all' and 'ground'")
    if act.unit not in units:
        where = "at the ground" if act.levels == "ground" else "at all levels"
        raise CaseError(
            f"process {cls.__name__}: {name}() gives {act.unit!r}; a {act.kind} {where} is in {' or '.join(units)}"
        )
    tables = any(each.by_species for each in cls.declaration.settings.values())
    if not tables and cls.species is Process.species:
        raise CaseError(
            f"process {cls.__name__}: {name}() acts on the species that a table names, and there is none: declare one "
            "with per_species, or a property species"
        )


def _check_methods(cls: type[Process]) -> None:
    """Refuse methods that cannot be called as they will be."""
    for part, wanted in _METHODS.items():
        for name, each in getattr(cls.declaration, part).items():
            asked = arguments(each.function)
            is_method = asked[:1] == ("self",)
            if (part == "releases" and not is_method) or (is_method and len(asked) != len(wanted)):
                shown = f"write def {name}({', '.join(wanted)})" if wanted else "it becomes code, and is no method"
                raise CaseError(f"process {cls.__name__}: {name}({', '.join(asked)}) cannot be called: {shown}")


def _check_settable(cls: type[Process]) -> None:
    """Refuse a number that can be set where setting would have no effect."""
    own = cls.declaration
    functions = [each.function for part in (own.instants, own.acts, own.updates) for each in part.values()]
    given = {name for function in functions for name in arguments(function)}
    for name, setting in own.settings.items():
        if setting.settable and name not in given:
            raise CaseError(
                f"process {cls.__name__}: {name} is settable, but no function of an instant or a step has it as an "
                "argument, so that a change would have no effect"
            )


def _check_arguments(cls: type[Process], name: str, function: Callable[..., Any], known: set[str]) -> None:
    asked = arguments(function)
    if asked[:1] == ("self",):
        return
    for argument in asked:
        if argument not in known and argument in cls.declaration.settings:
            raise CaseError(
                f"process {cls.__name__}: {name}() asks for {argument!r}, a setting that it cannot have: reactions are "
                "compiled, so theirs are not settable; words and switches are given to methods, as self.NAME"
            )
        if argument not in known:
            raise CaseError(
                f"process {cls.__name__}: {name}() asks for {argument!r}, which is no setting, weather or result of "
                "it; "
                f"{suggestion(argument, sorted(known))}"
            )
