"""What files and users hand over: the units that data have, arrays that must hold numbers, datasets.

Units are those of attributes ``units``, and become the model's. Archives, converters and people spell one unit in many
ways: m s**-1, m/s, m s-1. The spellings that are expected are known without a look into the registry of units, so that
a usual file costs nothing; others are looked up there.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError, DataError
from airshed.core.units import quantity

if TYPE_CHECKING:
    import xarray as xr

_NUMBER = ("", "1", "(0 - 1)", "0-1", "(0-1)", "~", "numeric", "dimensionless", "unitless", "fraction", "kg/kg")
_SAME: Mapping[str, tuple[str, ...]] = {
    "m s-1": ("m/s",),
    "K": ("k", "kelvin", "degk"),
    "Pa": ("pa", "pascal", "pascals"),
    "kg kg-1": (*_NUMBER, "kg kg-1"),
    "m2 s-1": ("m2/s",),
    "m2 s-2": ("m2/s2",),
    "m": ("meter", "metre", "meters", "metres", "m of water equivalent"),
    "1": _NUMBER,
    "kg m-2 s-1": ("kg/m2/s", "kg/(m2 s)"),
    "W m-2": ("w m-2", "w/m2"),
    "J m-2": ("j m-2", "j/m2"),
    "deg": (
        "degrees", "degree", "degrees_north", "degrees_east", "degree_north", "degree_east", "degreen", "degreee",
        "degrees_n", "degrees_e", "degree_n", "degree_e",
    ),
}  # fmt: skip
"""The model's unit -> further spellings of it, in small letters."""

_SPELLED = {
    "millibar": "hPa", "millibars": "hPa", "mbar": "hPa", "mb": "hPa", "radians": "rad", "meters": "m", "metres": "m",
    "kilometers": "km", "kilometres": "km", "percent": "%", "c": "degC", "degree_c": "degC", "degrees_c": "degC",
    "km/hr": "km/h", "knots": "knot", "kt": "knot", "kts": "knot", "mm of water equivalent": "mm",
}  # fmt: skip
"""Spellings of other units that the registry of units does not know, in small letters."""

_ROUND_OFF = 1e-6

_KINDS = {"U": "text", "S": "text", "T": "text", "O": "objects", "M": "dates", "m": "durations", "c": "complex values"}
"""Kinds of NumPy's types that are no numbers -> a word for them."""


@dataclass(frozen=True)
class Conversion:
    """value in the model's unit = factor * number in the file + offset; ``given`` is the file's unit.

    missing  whether the file tells none, so that its numbers are taken as they are
    """

    factor: float = 1.0
    offset: float = 0.0
    given: str = ""
    missing: bool = False

    @property
    def changes(self) -> bool:
        """Whether numbers become others."""
        return (self.factor, self.offset) != (1.0, 0.0)


def conversion(
    attributes: Mapping[Any, Any], unit: str, where: str, *, also: Mapping[str, float] | None = None
) -> Conversion:
    """Return how numbers in the unit of an attribute ``units`` become numbers in the model's ``unit``.

    Without the attribute, or where it is empty, the numbers are in the model's unit.

    where  names what has the unit, for messages
    also   units of another dimension that are taken too -> what one of them is in ``unit``: of water 1 kg/m2 is 1 mm
    raises DataError for a unit that is unknown or of another dimension
    """
    written = str(attributes.get("units", "")).strip()
    if not written:
        return Conversion(missing=True)
    plain = " ".join(written.replace("**", "").replace("^", "").split())
    folded = plain.casefold()
    if plain == unit or folded in _SAME.get(unit, ()):
        return Conversion(given=written)
    asked = (unit, *(also or {}))
    text = _SPELLED.get(folded, plain)
    try:
        zero, one = (quantity(f"{number} {text}", asked, where=where) for number in (0, 1))
    except CaseError:
        raise DataError(f"{where} is in {written[:40]!r}; give it in {unit}, or name the unit that it has") from None
    factor = (also or {}).get(one.unit, 1.0)
    return Conversion(factor * (one.value - zero.value), factor * zero.value, written)


def kind(dtype: np.dtype[Any]) -> str:
    """Return what values of a type are, in a word for messages."""
    return _KINDS.get(dtype.kind, dtype.name)


def numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[np.float64]:
    """Return an array as float64; raises DataError for one of text, dates or objects, which ``what`` names."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise DataError(f"{what} holds {kind(array.dtype)}, no numbers; give numbers")
    return array.astype(np.float64)


def without_round_off(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return values of which those that round-off made negative, by at most 1e-6 of the greatest, are 0.

    Differences of sums, regridding and packing to integers leave such values; larger negative ones stay.
    """
    least = np.nanmin(values, initial=0.0)
    if not least < 0.0 or not -least <= _ROUND_OFF * np.nanmax(values, initial=0.0):
        return values
    return np.where(values < 0.0, 0.0, values)


def is_dataset(value: object) -> "TypeGuard[xr.Dataset]":
    """Whether a value is an xarray.Dataset: while nobody has imported xarray, nothing is.

    To import it for this question alone would take as long as all of Airshed.
    """
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(value, xarray.Dataset)
