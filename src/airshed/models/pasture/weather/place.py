"""Where a station is, from a header that may not mean what it says."""

import re
from collections.abc import Mapping
from typing import Final

from airshed.core.errors import DataError
from airshed.core.text import quoted

_LIMITS: Final = {"latitude": 90.0, "longitude": 360.0}
_VALUE: Final = re.compile(r"\s*([-+]?[0-9.]+)\s*(?:\(([^)]*)\))?")


def degrees(constants: Mapping[str, str], where: str) -> tuple[float | None, float | None, tuple[str, ...]]:
    """Return latitude and longitude [degrees] from the constants of a file, None for one that is not there, and notes.

    Headers with the unit (deg.min) hold decimal degrees all the same: the programs that read them never looked at the
    unit. Where the digits after the point are 60 or more this is proven; otherwise a note gives both readings.

    raises  DataError for what is no number, or off the globe
    """
    found = {name: _read(constants[name], name, where) for name in _LIMITS if name in constants}
    values = {name: number for name, (number, _) in found.items()}
    minutes = {name: number for name, (number, unit) in found.items() if "min" in unit.casefold()}
    notes: tuple[str, ...] = ()
    if minutes:
        proof = [name for name, number in minutes.items() if round(abs(number) % 1 * 100, 6) >= 60.0]
        told = ", ".join(f"{name} {number:g}" for name, number in minutes.items())
        if proof:
            why = f"there are no {round(abs(minutes[proof[0]]) % 1 * 100)} minutes"
        else:
            other = ", ".join(f"{name} {_of_minutes(number):.4f}" for name, number in minutes.items())
            why = f"as programs that read this format do; in minutes it would be {other}"
        notes = (f"{told} said to be (deg.min) is taken as decimal degrees: {why}",)
    return values.get("latitude"), values.get("longitude"), notes


def _read(text: str, name: str, where: str) -> tuple[float, str]:
    """Return a value and the unit in brackets after it."""
    found = _VALUE.match(text)
    try:
        number = float(found.group(1)) if found else None
    except ValueError:
        number = None
    if found is None or number is None:
        raise DataError(f"{where}: its {name} is {quoted(text)}, which is no number; give degrees, south negative")
    if abs(number) > _LIMITS[name]:
        raise DataError(f"{where}: its {name} is {number:g}, which is off the globe; give degrees, south negative")
    return number, found.group(2) or ""


def _of_minutes(number: float) -> float:
    """Return degrees from a number with minutes in the digits after the point."""
    whole = int(abs(number))
    return (whole + (abs(number) - whole) / 0.6) * (-1.0 if number < 0.0 else 1.0)
