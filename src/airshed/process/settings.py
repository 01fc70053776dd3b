"""The settings of a process, as its class declares them; its section of the case file is made of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic.fields import FieldInfo

from airshed.core.measured import Bound
from airshed.core.settings import Number, OrWords, Switch, measured, setting
from airshed.core.units import Quantity

PER_SPECIES: Final = "per species"


@dataclass(frozen=True)
class Declared:
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
    value = Number if unit == "1" else Annotated[Quantity, measured(unit, least=least, most=most)]
    field = setting({}, text, unit=unit)
    table: Any = Mapping
    return Declared(table[str, value], field, unit, by_species=True, missing=missing, settable=settable)


def quantity(
    default: str | None, unit: str, text: str, *, least: Bound = 0.0, most: Bound = 1e30, settable: bool = False
) -> Any:  # fmt: skip
    """Declare a quantity; None as its default where it must be given once the process is on."""
    value = Annotated[Quantity, measured(unit, least=least, most=most)]
    return Declared(value | None if default is None else value, setting(default, text), unit, settable=settable)


def number(default: float, text: str, *, settable: bool = False, **bounds: Any) -> Any:
    """Declare a plain number, with the bounds of pydantic: ge, gt, le, lt."""
    return Declared(Number, setting(default, text, unit="1", **bounds), "1", settable=settable)


def switch(default: bool, text: str) -> Any:
    """Declare a setting that is true or false."""
    return Declared(Switch, setting(default, text))


def choice(default: str, words: tuple[str, ...], text: str) -> Any:
    """Declare a setting that is one of some words."""
    return Declared(Literal[words], setting(default, text))


def choice_or_quantity(default: str, words: tuple[str, ...], unit: str, text: str, *, most: Bound = 1e30) -> Any:
    """Declare a setting that is one of some words, or a quantity."""
    other = Annotated[Quantity, measured(unit, least=0.0, most=most)]
    return Declared(Annotated[Quantity | Literal[words], OrWords(words, other)], setting(default, text))


def declared(annotation: Any, default: Any, text: str, **constraints: Any) -> Any:
    """Declare a setting of any type that a section may hold; formulas do not see it."""
    return Declared(annotation, setting(default, text, **constraints))
