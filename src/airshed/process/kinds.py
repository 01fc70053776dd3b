"""Declarations of a process: settings, weather, fields at instants, and the kinds of operators."""

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
    """A setting of a process: the field of its section, and its use in formulas.

    unit      of the number in formulas; None if the setting is not a number
    missing   of a table by species: the value of a species that only other tables name; None if that is an error
    settable  whether the number may be changed during a run
    """

    annotation: Any
    field: FieldInfo
    unit: str | None = None
    by_species: bool = False
    missing: float | None = None
    settable: bool = False

    def __set_name__(self, owner: type, name: str) -> None:
        """Do nothing: the class collects its declarations."""


def per_species(
    unit: str, text: str, *, least: Bound = 0.0, most: Bound = 1e30, missing: float | None = 0.0,
    settable: bool = False,
) -> Any:  # fmt: skip
    """Declare a table of quantities by species, such as `{ HNO3 = "1e-4 1/s" }`; it is empty by default.

    In formulas it is an array (species, 1, 1, 1) of all species of the process.
    missing  value of a species that only another table names; None if that is an error
    """
    value = Number if unit == "1" else Annotated[Quantity, quantity_range(unit, least=least, most=most)]
    field = field_of_section({}, text, unit=unit, keys="species")
    table: Any = Mapping
    return SettingDeclaration(table[str, value], field, unit, by_species=True, missing=missing, settable=settable)


def quantity(
    default: str | None, unit: str, text: str, *, least: Bound = 0.0, most: Bound = 1e30, settable: bool = False
) -> Any:  # fmt: skip
    """Declare a quantity; a default of None means that an active process requires it."""
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
    """Declare a setting of any type of a section; formulas cannot read it."""
    return SettingDeclaration(annotation, field_of_section(default, text, **constraints))


F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

OFFERED: Final[Mapping[str, str]] = {
    "land_fraction": "1", "cell_area": "m2", "layer_thickness": "m", "sun_height": "1", "seconds": "s",
}  # fmt: skip
"""Inputs of functions of instants from the context and the time, with their units.

land_fraction (1, lat, lon); cell_area (1, lat, 1); layer_thickness (level, 1, 1); sun_height, the cosine of the solar
zenith angle (1, lat, lon); seconds, since the start of the case.
"""

SIGNS: Final = {"loss": -1.0, "settling": -1.0, "source": 1.0}
"""Signs of the budget terms of kinds."""

Levels = Literal["all", "ground"]
WeatherShape = Literal["cells", "layer_faces", "surface"]


@dataclass(frozen=True)
class Weather:
    """A weather field that a process needs: (level, lat, lon), with one level for a surface field.

    field     its name in the state of the air; an additional field is read from the source of the weather
    optional  whether the process can run without it: functions then receive None
    cf_name   of the variable in a Dataset
    shape     points of its values
    """

    field: str
    unit: str
    optional: bool = False
    cf_name: str = ""
    shape: WeatherShape = "cells"


def weather(
    name: str, unit: str, *, optional: bool = False, cf_name: str = "", shape: WeatherShape = "cells"
) -> Any:  # fmt: skip
    """Declare a weather field; cf_name and shape are for a field that is not part of the state of the air."""
    return Weather(name, unit, optional, cf_name or name, shape)


@dataclass(frozen=True)
class Need:
    """An object from the model: an attribute of the process, None if it is optional and missing."""

    kind: type
    optional: bool = False


def need(kind: type[T], *, optional: bool = False) -> T:
    """Declare an object of a type that the model provides, such as the emission map of its mechanism.

    Raises CaseError at the construction of a process if the model does not provide it.
    """
    return Need(kind, optional)  # type: ignore[return-value]


@dataclass(frozen=True)
class InstantField:
    """A field of the process, computed at each instant of the forcing and linear in between.

    shape       points of its values; None: as the arguments of the function
    by_species  whether it has one value per species; None: whether one of its arguments has
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
    """An operator of a process in a step, see :mod:`airshed.kernels.operators`.

    unit  of the result of the function;  term  of the budget, None for a conserving kind
    """

    kind: Kind
    function: Callable[..., Any]
    unit: str
    levels: Levels = "all"
    term: str | None = None


def _check_brackets(kind: str, bare: tuple[Any, ...], term: str) -> None:
    """Refuse a kind without its budget term, with brackets or without."""
    if bare or not term:
        where = f"{_name_of(bare[0])}: " if bare else ""
        raise CaseError(f'{where}write @{kind}(term="..."), with the name of its budget term')


def _name_of(function: Any) -> str:
    return f"{getattr(function, '__qualname__', function)}()"


def loss(*bare: Any, levels: Levels = "all", unit: str = "1/s", term: str = "") -> Callable[[F], Any]:
    """Declare a first-order loss [1/s], or in the lowest level a velocity [m/s] towards the ground."""
    _check_brackets("loss", bare, term)
    return lambda function: OperatorDeclaration("loss", function, unit, levels, term)


def source(*bare: Any, levels: Levels = "all", unit: str = "mol/mol/s", term: str = "") -> Callable[[F], Any]:
    """Declare a source: a tendency of the mixing ratio [mol/mol/s] or amount [mol/m3/s], or a flux [mol/m2/s]."""
    _check_brackets("source", bare, term)
    return lambda function: OperatorDeclaration("source", function, unit, levels, term)


def exchange(function: F) -> Any:
    """Declare an exchange of air through upper faces of cells [mol/s], the same in both directions, for all species."""
    return OperatorDeclaration("exchange", function, "mol/s")


def settling(*bare: Any, unit: str = "m/s", term: str = "") -> Callable[[F], Any]:
    """Declare a settling velocity [m/s], positive downward; the budget term is the flux to the ground."""
    _check_brackets("settling", bare, term)
    return lambda function: OperatorDeclaration("settling", function, unit, term=term)


def face_exchange(function: F) -> Any:
    """Declare an exchange of air through west and south faces [mol/s], two arrays, the same in both directions."""
    return OperatorDeclaration("face_exchange", function, "mol/s")


def column_matrix(function: F) -> Any:
    """Declare the air that each layer supplies to each other one [mol/s], for all species."""
    return OperatorDeclaration("column_matrix", function, "mol/s")


def face_flux() -> Any:
    """Declare advection of all species through faces; budgets count it as `inflow` and `outflow`."""

    def advected() -> tuple[()]:
        """Advection of all species through faces."""
        return ()

    return OperatorDeclaration("face_flux", advected, "mol/s")


@dataclass(frozen=True)
class Reactions:
    """Reactions that a process adds to the mechanism: a function that returns lines such as "A = B : 1e-5;"."""

    function: Callable[..., Any]


def reactions(function: F) -> Any:
    """Declare reactions: the function returns lines in the syntax of #EQUATIONS in a KPP file.

    A method may return :class:`airshed.mechanism.network.Reaction` instead.
    """
    return Reactions(function)


@dataclass(frozen=True)
class Releases:
    """Emissions of a process: a method that returns sources."""

    function: Callable[..., Any]


def releases(function: F) -> Any:
    """Declare emissions: a method with the argument weather that returns sources [mol/s], constant in each period.

    A source follows the protocol :class:`airshed.process.context.Source`. The emitted amount is the integral of its
    rates to round-off, for any length of step; budgets count it as `emitted`.
    """
    return Releases(function)


@dataclass
class Declaration:
    """All declarations of a class, by name, in their order."""

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
        """Names of declarations for the air-quality model only; point models support updates and fluxes."""
        tables = [name for name, each in self.settings.items() if each.by_species]
        return [*self.instants, *self.operators, *self.reactions, *self.releases, *self.states, *tables]


def arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the arguments of a function."""
    return tuple(inspect.signature(function).parameters)
