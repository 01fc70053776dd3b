"""Quantities with units in case files.

Units are converted only on input; internally all values are SI. The registry is deliberately short: an unlisted unit is
refused with the nearest match. An angle is a dimension, so that 5 ppb is not an angle.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Final

from airshed.core.constants import AVOGADRO
from airshed.core.errors import CaseError
from airshed.core.text import nearest, shown

if TYPE_CHECKING:
    from pint import Quantity as PintQuantity
    from pint import Unit, UnitRegistry

_PREFIXES = {"p": "1e-12", "n": "1e-9", "u": "1e-6", "m": "1e-3", "c": "1e-2", "h": "1e2", "k": "1e3"}
_PREFIXES |= {"M": "1e6", "G": "1e9"}

_UNITS = (
    "m = [length] = metre = meter",
    "s = [time] = second = sec",
    "g = [mass] = gram",
    "K = [temperature] = kelvin",
    "mol = [substance] = mole",
    "deg = [angle] = degree = degrees",
    "rad = 57.29577951308232 * deg = radian",
    "min = 60 * s = minute",
    "h = 3600 * s = hour = hr",
    "day = 86400 * s = d",
    "week = 604800 * s",
    "year = 31557600 * s = yr",
    "t = 1e6 * g = tonne",
    "N = 1000 * g * m / s**2 = newton",
    "Pa = N / m**2 = pascal",
    "bar = 1e5 * Pa",
    "atm = 101325 * Pa",
    "J = N * m = joule",
    "W = J / s = watt",
    "litre = 1e-3 * m**3 = l = L = liter",
    "ha = 1e4 * m**2 = hectare",
    "knot = 0.5144444444444445 * m / s",
    "degC = K; offset: 273.15 = celsius = Celsius = degree_Celsius = degrees_Celsius",
    f"molecule = {1 / AVOGADRO!r} * mol = molec",
    "B = [data] = byte = bytes",
    "KiB = 1024 * B",
    "MiB = 1048576 * B",
    "GiB = 1073741824 * B",
    "TB = 1e12 * B",
    "TiB = 1099511627776 * B",
    "percent = 0.01 = %",
    "ppm = 1e-6 = ppmv",
    "ppb = 1e-9 = ppbv",
    "ppt = 1e-12 = pptv",
)

_WITH_OFFSET = frozenset({"degC", "celsius", "Celsius", "degree_Celsius", "degrees_Celsius"})
"""Units with an offset zero, which cannot be part of a product."""

_MEANINGS = {
    "s": ("a time", "120 s"),
    "m": ("a length", "20 m"),
    "deg": ("an angle", "0.25 deg"),
    "m/s": ("a speed", "0.5 cm/s"),
    "m2/s": ("a diffusivity", "10 m2/s"),
    "K": ("a temperature", "15 degC"),
    "Pa": ("a pressure", "1013 hPa"),
    "mol/mol": ("a mixing ratio", "10 ppb"),
    "kg/s": ("a mass per time", "5 g/s"),
    "mol/s": ("an amount per time", "0.1 mol/s"),
    "kg": ("a mass", "5 kg"),
    "molecules/cm3": ("a number concentration", "8.1e11 molecules/cm3"),
    "1/s": ("a rate", "1e-5 1/s"),
    "B": ("an amount of data", "2 GiB"),
    "1": ("a plain number", "0.5"),
}

_SAME_RATIOS = {"mol/mol": ("m3/m3",)}
"""Ratios with the same meaning: for gases, ratios of volumes."""

_MOST_TOLD = 4
_LONGEST = 200
"""Limit of the length of a quantity; the search for units takes time quadratic in the length."""
_NUMBER = re.compile(r"\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*", re.DOTALL | re.ASCII)
_SPELLINGS = str.maketrans({"°": "deg", "µ": "u", "\u03bc": "u"})


@dataclass(frozen=True)
class Quantity:
    """Value as written, and as a number in ``unit``: the SI unit, or degrees for angles."""

    text: str
    value: float
    unit: str

    def __str__(self) -> str:
        return self.text


def to(value: str | int | float, unit: str, *, where: str) -> float:
    """Return ``value``, such as "24 h" or "10 ppb", as a number in ``unit``.

    ``where`` is the key for messages. A bare number is accepted only if ``unit`` is "1". Raises CaseError for a missing
    or unknown unit, or a unit of another dimension.
    """
    return quantity(value, (unit,), where=where).value


def quantity(value: object, units: Sequence[str], *, where: str) -> Quantity:
    """Return ``value`` as a Quantity in the first of ``units`` with the same dimension; raise CaseError.

    The text must be a number followed by units without redundancy, see ``_reads_plainly``.
    """
    if isinstance(value, Quantity):
        value = value.text
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise CaseError(f"{where} must be {_expected(units)}, not {shown(value)}")
    return _read(value, tuple(units), where)


@lru_cache(4096, typed=True)  # models are built repeatedly from the same settings
def _read(value: str | int | float, units: tuple[str, ...], where: str) -> Quantity:
    number, unit_text = _split(str(value), units, where)
    if not unit_text and units[0] != "1":
        raise CaseError(f'{where} needs a unit, such as "{_meaning(units[0])[1]}"; {shown(value)} has none')
    factors = _factors(unit_text, units, f"{where} = {shown(value)}")
    given = _registry().Quantity(number, _product(factors))
    fitting = [unit for unit in units if given.is_compatible_with(_unit(unit))]
    if not fitting:
        raise CaseError(
            f"{where} = {shown(value)} has the wrong kind of unit: expected {_expected(units)}{_given(given)}"
        )
    if not (factors == unit_factors(fitting[0]) or _reads_plainly(factors, fitting[0])):
        raise CaseError(
            f"{where} = {shown(value)}: {shown(unit_text)} does not read plainly; expected {_expected(units)}"
        )
    converted = float(given.to(_unit(fitting[0])).magnitude)
    if not isfinite(converted):
        raise CaseError(f"{where} = {shown(value)} is too large a number")
    return Quantity(str(value), converted, fitting[0])


def _split(text: str, units: Sequence[str], where: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise CaseError(f"{where} = {shown(text)} is not a quantity: expected {_expected(units)}")
    number = float(match.group(1))
    if not isfinite(number):
        raise CaseError(f"{where} = {shown(text)} is too large a number")
    return number, match.group(2).translate(_SPELLINGS)


Factor = tuple[str, int]
"""Name of a unit, and its power."""

_NAME: Final = r"([A-Za-z%]+(?:_[A-Za-z]+)*)(?:(?:\^|\*\*)?([-+]?\d{1,2})(?!\d))?"
_TERM: Final = re.compile(rf"(\s*[*/]\s*|\s+|)(?:{_NAME}|\(([^()]+)\))", re.ASCII)
_ONE_OVER: Final = re.compile(r"1(?=\s*/)")


def unit_factors(text: str) -> list[Factor] | None:
    """Return the factors of a unit, none for "" and "1"; None for a text that is not a product of units.

    A slash divides by the next factor: one unit with its power, or a product in parentheses. A power follows the name,
    with or without ^ or **: cm3, cm-3, cm^-3, cm**3.
    """
    if text in ("", "1"):
        return []
    text, ones = _ONE_OVER.subn("", text, count=1) if text.startswith("1") else (text, 0)
    factors: list[Factor] = []
    at = 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None or (at == 0 and not ones) == bool(term[1]):  # only the first factor has no operator
            return None
        inner = unit_factors(term[4].strip()) if term[4] else [(term[2], int(term[3] or 1))]
        if not inner or any(power == 0 for _, power in inner):
            return None
        direction = -1 if "/" in term[1] else 1
        factors += [(name, direction * power) for name, power in inner]
        at = term.end()
    return factors


def _factors(text: str, units: Sequence[str], place: str) -> list[Factor]:
    """Return the factors of a unit: "cm3" and "m s-1" mean cm**3 and m*s**-1; raise CaseError for anything else."""
    problem, factors = f"{place}: {shown(text)} is not a unit that Airshed recognises", unit_factors(text)
    unknown = [name for name, _ in factors or () if not _is_unit(name)]
    match = nearest_unit(unknown[0]) if unknown else None
    if factors is None or unknown or (any(name in _WITH_OFFSET for name, _ in factors) and _is_product(factors)):
        raise CaseError(f"{problem}; " + (f"did you mean {match}?" if match else f"expected {_expected(units)}"))
    return factors


def _is_product(factors: Sequence[Factor]) -> bool:
    return len(factors) > 1 or factors[0][1] != 1


def _is_unit(name: str) -> bool:
    from pint.errors import PintError

    try:
        return name in _registry() and not name.startswith("delta_")  # pint's prefix for a difference of degC
    except PintError:  # degC with a prefix
        return False


def _product(factors: Sequence[Factor]) -> "Unit":
    product = _registry().Unit("")
    for name, power in factors:
        product = product * _registry().Unit(name) ** power
    return product


@cache
def _unit(text: str) -> "Unit":
    return _product(_factors(text, (text,), text))


def _reads_plainly(factors: Sequence[Factor], unit: str) -> bool:
    """Return whether no factor is redundant, as in "ppm ppm", "5 m m", "km/h/h" or "s s-1".

    A ratio such as mol/mol has the same units above and below the slash as its unit; for gases also volumes. A fraction
    such as ppb or % is the only factor, or is the first before a slash, as in %/h.
    """
    kinds = [frozenset(_registry().Unit(name).dimensionality) for name, _ in factors]
    if len(factors) == 2 and kinds[0] and kinds[0] == kinds[1]:
        ratios = [_factors(ratio, (ratio,), ratio) for ratio in (unit, *_SAME_RATIOS.get(unit, ()))]
        uppers = [_product(ratio[:1]).dimensionality for ratio in ratios]
        return factors[0][1] > 0 and _product(factors[:1]).dimensionality in uppers
    shares = [number for number, kind in enumerate(kinds) if not kind]
    named = [kind for kind in kinds if kind]
    before_a_line = shares == [0] and factors[0][1] == 1 and all(power < 0 for _, power in factors[1:])
    return len(set(named)) == len(named) and (not shares or before_a_line)


def _expected(units: Sequence[str]) -> str:
    if len(units) > _MOST_TOLD:
        return f"a number in one of {', '.join(units)}"
    return " or ".join(f'{noun} (such as "{example}")' for noun, example in map(_meaning, units))


def _meaning(unit: str) -> tuple[str, str]:
    return _MEANINGS.get(unit, (f"a quantity in {unit}", f"1 {unit}"))


def _given(measured: "PintQuantity[float]") -> str:
    for unit, (noun, _) in _MEANINGS.items():
        if measured.is_compatible_with(_unit(unit)):
            return f", not {noun}"
    return ""


def same_unit(unit: str, other: str) -> bool:
    """Return whether two texts denote the same unit: `kg m-2 s-1` and `kg/m2/s`, but not `km/h` and `m/s`."""
    try:
        return unit == other or to(f"1 {unit}", other, where="unit") == 1.0
    except CaseError:
        return False


def same_quantity(one: str, other: str) -> bool:
    """Return whether two texts denote the same quantity: "2 h" and "120 min"; False for texts without a unit."""
    match = _NUMBER.fullmatch(other) if len(other) <= _LONGEST else None
    if match is None or not match.group(2):
        return False
    unit = match.group(2).translate(_SPELLINGS)
    try:
        return to(one, unit, where="one") == to(other, unit, where="other")
    except CaseError:
        return False


def unit_names() -> list[str]:
    """Return the usual name of each unit."""
    return [line.split("=")[0].strip() for line in _UNITS]


def nearest_unit(name: str) -> str | None:
    """Return the unit that was probably meant, of all names and multiples in common use."""
    listed = [part.strip() for line in _UNITS for part in line.split("=")]
    return nearest(name, [*filter(str.isalpha, listed), "km", "cm", "mm", "hPa", "kPa", "kg", "mg", "ug"])


@cache
def _registry() -> "UnitRegistry[float]":
    from pint import UnitRegistry  # slow to import, and needed only for reading a case

    registry: UnitRegistry[float] = UnitRegistry(None)
    prefixes = [f"{symbol}- = {factor}" for symbol, factor in _PREFIXES.items()]
    registry.load_definitions([*prefixes, *_UNITS])
    return registry
