"""What a process declares: settings, weather, fields at instants, and the kinds of operators."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic.fields import FieldInfo

from airshed.core.errors import CaseError
from airshed.core.settings import Bound, KeywordUnion, Number, Switch, quantity_range
from airshed.core.settings import setting as field_of_section
from airshed.core.units import Quantity
from airshed.kernels.operators import Kind, Shape
from airshed.process.updates import CellField, Flux, Update

PER_SPECIES: Final = "per species"


@dataclass(frozen=True)
class SettingDeclaration:
    """One setting of a process: the field of its section, and what formulas may do with it.

    unit      of the number that formulas see; None where the setting is no number
    missing   of a table by species: the number of a species that it does not name; None where all others name it too
    settable  whether the number may be changed while the model runs
    """

    annotation: Any
    field: FieldInfo
    unit: str | None = None
    by_species: bool = False
    missing: float | None = None
    settable: bool = False

    def __set_name__(self, owner: type, name: str) -> None:
        """Nothing: the class collects what it declares."""


def per_species(
    unit: str, text: str, *, least: Bound = 0.0, most: Bound = 1e30, missing: float | None = 0.0,
    settable: bool = False,
) -> Any:  # fmt: skip
    """Declare a table of quantities by species, such as `{ HNO3 = "1e-4 1/s" }`, empty unless the case fills it.

    Formulas see an array (species, 1, 1, 1) of all species that the process touches.
    missing  the number of a species that only another table names; None where that is an error
    """
    value = Number if unit == "1" else Annotated[Quantity, quantity_range(unit, least=least, most=most)]
    field = field_of_section({}, text, unit=unit, keys="species")
    table: Any = Mapping
    return SettingDeclaration(table[str, value], field, unit, by_species=True, missing=missing, settable=settable)


def quantity(
    default: str | None, unit: str, text: str, *, least: Bound = 0.0, most: Bound = 1e30, settable: bool = False
) -> Any:  # fmt: skip
    """Declare a quantity; None as its default where it must be given once the process is on."""
    value = Annotated[Quantity, quantity_range(unit, least=least, most=most)]
    return SettingDeclaration(
        value | None if default is None else value, field_of_section(default, text), unit, settable=settable
    )


def number(default: float, text: str, *, settable: bool = False, **bounds: Any) -> Any:
    """Declare a plain number, with the bounds of pydantic: ge, gt, le, lt."""
    return SettingDeclaration(Number, field_of_section(default, text, unit="1", **bounds), "1", settable=settable)


def switch(default: bool, text: str) -> Any:
    """Declare a setting that is true or false."""
    return SettingDeclaration(Switch, field_of_section(default, text))


def choice(default: str, words: tuple[str, ...], text: str) -> Any:
    """Declare a setting that is one of some words."""
    return SettingDeclaration(Literal[words], field_of_section(default, text))


def choice_or_quantity(default: str, words: tuple[str, ...], unit: str, text: str, *, most: Bound = 1e30) -> Any:
    """Declare a setting that is one of some words, or a quantity."""
    other = Annotated[Quantity, quantity_range(unit, least=0.0, most=most)]
    return SettingDeclaration(
        Annotated[Quantity | Literal[words], KeywordUnion(words, other)], field_of_section(default, text)
    )


def setting(annotation: Any, default: Any, text: str, **constraints: Any) -> Any:
    """Declare a setting of any type that a section may hold; formulas do not see it."""
    return SettingDeclaration(annotation, field_of_section(default, text, **constraints))


F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

OFFERED: Final[Mapping[str, str]] = {
    "land_fraction": "1", "cell_area": "m2", "layer_thickness": "m", "sun_height": "1", "seconds": "s",
}  # fmt: skip
"""What functions of instants may be given of the context and the time, and the units.

land_fraction (1, lat, lon); cell_area (1, lat, 1); layer_thickness (level, 1, 1); sun_height, the cosine of the sun's
zenith angle (1, lat, lon); seconds, since the start of the case.
"""

SIGNS: Final = {"loss": -1.0, "settling": -1.0, "source": 1.0}
"""How what a kind adds to its term counts in budgets."""

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
class Need:
    """An object that the model provides: the process has it as an attribute, None where it is optional and missing."""

    kind: type
    optional: bool = False


def need(kind: type[T], *, optional: bool = False) -> T:
    """Declare an object of a type that the model provides, such as the emission map of its mechanism.

    Raises CaseError, when a process is made, where the model does not provide it.
    """
    return Need(kind, optional)  # type: ignore[return-value]


@dataclass(frozen=True)
class InstantField:
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
    """Declare a field that is computed at each instant of the forcing, see :class:`InstantField`."""
    if not isinstance(unit, str):
        raise CaseError(f'{_name_of(unit)}: write @at_instant("unit"), such as @at_instant("1/s")')
    return lambda function: InstantField(function, unit, shape, by_species)


@dataclass(frozen=True)
class OperatorDeclaration:
    """What a process does in a step, as a kind of operator, see :mod:`airshed.kernels.operators`.

    unit  of what the function returns;  term  of the budget, None for a kind that conserves
    """

    kind: Kind
    function: Callable[..., Any]
    unit: str
    levels: Levels = "all"
    term: str | None = None


def _check_brackets(kind: str, bare: tuple[Any, ...], term: str) -> None:
    """Refuse a kind without its term of the budget, with brackets or without."""
    if bare or not term:
        where = f"{_name_of(bare[0])}: " if bare else ""
        raise CaseError(f'{where}write @{kind}(term="..."): budgets count under that name what is taken or given')


def _name_of(function: Any) -> str:
    return f"{getattr(function, '__qualname__', function)}()"


def loss(*bare: Any, levels: Levels = "all", unit: str = "1/s", term: str = "") -> Callable[[F], Any]:
    """Declare a first-order loss [1/s], or in the lowest level a velocity [m/s] towards the ground."""
    _check_brackets("loss", bare, term)
    return lambda function: OperatorDeclaration("loss", function, unit, levels, term)


def source(*bare: Any, levels: Levels = "all", unit: str = "mol/mol/s", term: str = "") -> Callable[[F], Any]:
    """Declare a source: a change of the mixing ratio [mol/mol/s], of an amount [mol/m3/s] or a flux [mol/m2/s]."""
    _check_brackets("source", bare, term)
    return lambda function: OperatorDeclaration("source", function, unit, levels, term)


def exchange(function: F) -> Any:
    """Declare air that is exchanged through upper faces of cells, both ways alike [mol/s], for all species."""
    return OperatorDeclaration("exchange", function, "mol/s")


def settling(*bare: Any, unit: str = "m/s", term: str = "") -> Callable[[F], Any]:
    """Declare a speed downward through the air [m/s]; the term is what arrives at the ground."""
    _check_brackets("settling", bare, term)
    return lambda function: OperatorDeclaration("settling", function, unit, term=term)


def face_exchange(function: F) -> Any:
    """Declare air that is exchanged through west and south faces [mol/s], both ways alike; the function returns two."""
    return OperatorDeclaration("face_exchange", function, "mol/s")


def column_matrix(function: F) -> Any:
    """Declare what the air of each layer brings to each other one [mol/s], for all species."""
    return OperatorDeclaration("column_matrix", function, "mol/s")


def face_flux() -> Any:
    """Declare that all species go with the air through faces; budgets count that as `inflow` and `outflow`."""

    def carried() -> tuple[()]:
        """All that the air carries through faces."""
        return ()

    return OperatorDeclaration("face_flux", carried, "mol/s")


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

    A source is what :class:`airshed.process.context.Source` says. What enters the air is the integral of its rates to
    round-off, whatever the steps; budgets count it as `emitted`.
    """
    return Releases(function)


@dataclass
class Declaration:
    """All that a class declares, by name, in its order."""

    settings: dict[str, SettingDeclaration] = field(default_factory=dict)
    weather: dict[str, Weather] = field(default_factory=dict)
    instants: dict[str, InstantField] = field(default_factory=dict)
    operators: dict[str, OperatorDeclaration] = field(default_factory=dict)
    reactions: dict[str, Reactions] = field(default_factory=dict)
    releases: dict[str, Releases] = field(default_factory=dict)
    fluxes: dict[str, Flux] = field(default_factory=dict)
    states: dict[str, CellField] = field(default_factory=dict)
    updates: dict[str, Update] = field(default_factory=dict)
    needs: dict[str, Need] = field(default_factory=dict)

    @property
    def of_the_air(self) -> list[str]:
        """The names of what models of the air alone know; models of points know updates and fluxes."""
        tables = [name for name, each in self.settings.items() if each.by_species]
        return [*self.instants, *self.operators, *self.reactions, *self.releases, *self.states, *tables]


def arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's arguments."""
    return tuple(inspect.signature(function).parameters)
