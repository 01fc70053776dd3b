"""Input data from files and users: units, numeric arrays and datasets.

Units are read from the attribute ``units`` and converted to those of the model. Archives and converters spell one unit
in many ways: m s**-1, m/s, m s-1. The common spellings are compared directly, so that a usual file costs no time; other
spellings are parsed by the unit registry.
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
    "m": ("meter", "metre", "meters", "metres", "gpm", "m of water equivalent"),
    "1": _NUMBER,
    "kg m-2 s-1": ("kg/m2/s", "kg/(m2 s)"),
    "W m-2": ("w m-2", "w/m2"),
    "J m-2": ("j m-2", "j/m2"),
    "deg": (
        "degrees", "degree", "degrees_north", "degrees_east", "degree_north", "degree_east", "degreen", "degreee",
        "degrees_n", "degrees_e", "degree_n", "degree_e",
    ),
}  # fmt: skip
"""Unit of the model -> other spellings of it, in lower case."""

_SPELLED = {
    "millibar": "hPa", "millibars": "hPa", "mbar": "hPa", "mb": "hPa", "radians": "rad", "meters": "m", "metres": "m",
    "kilometers": "km", "kilometres": "km", "percent": "%", "c": "degC", "degree_c": "degC", "degrees_c": "degC",
    "km/hr": "km/h", "knots": "knot", "kt": "knot", "kts": "knot", "mm of water equivalent": "mm",
}  # fmt: skip
"""Spellings of other units that are missing from the unit registry, in lower case."""

_ROUND_OFF = 1e-6

_KINDS = {"U": "text", "S": "text", "T": "text", "O": "objects", "M": "dates", "m": "durations", "c": "complex values"}
"""Non-numeric kinds of NumPy types -> a word for each kind."""


@dataclass(frozen=True)
class Conversion:
    """Linear conversion: value in the model's unit = factor * number in the file + offset.

    given    unit in the file
    missing  whether the file gives no unit, so that its numbers are used unchanged
    """

    factor: float = 1.0
    offset: float = 0.0
    given: str = ""
    missing: bool = False

    @property
    def changes(self) -> bool:
        """True unless the conversion is the identity."""
        return (self.factor, self.offset) != (1.0, 0.0)


def conversion(
    attributes: Mapping[Any, Any], unit: str, where: str, *, also: Mapping[str, float] | None = None
) -> Conversion:
    """Return the conversion from the unit in the attribute ``units`` to the model's ``unit``.

    Without the attribute, or if it is empty, the numbers are in the model's unit.

    where  name of the quantity, for messages
    also   accepted units of another dimension -> their value in ``unit``: 1 kg/m2 of water is 1 mm
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
        raise DataError(f"{where} is in {written[:40]!r}; give it in {unit}, or correct its unit") from None
    factor = (also or {}).get(one.unit, 1.0)
    return Conversion(factor * (one.value - zero.value), factor * zero.value, written)


def kind(dtype: np.dtype[Any]) -> str:
    """Return a word for the values of a type, for messages."""
    return _KINDS.get(dtype.kind, dtype.name)


def numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[np.float64]:
    """Return an array as float64; raise DataError, which names ``what``, for text, dates or objects."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise DataError(f"{what} holds {kind(array.dtype)}, no numbers; give numbers")
    return array.astype(np.float64)


def without_round_off(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the values with small negative round-off, of at most 1e-6 times the maximum, set to 0.

    Differences of sums, regridding and packing to integers produce such values. Larger negative values are not changed.
    """
    least = np.nanmin(values, initial=0.0)
    if not least < 0.0 or not -least <= _ROUND_OFF * np.nanmax(values, initial=0.0):
        return values
    return np.where(values < 0.0, 0.0, values)


def is_dataset(value: object) -> "TypeGuard[xr.Dataset]":
    """Return whether a value is an xarray.Dataset; False as long as xarray has not been imported.

    Importing xarray for this test alone would take as long as importing all of Airshed.
    """
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(value, xarray.Dataset)
