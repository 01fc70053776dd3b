"""The files behind the boundary: profiles of mixing ratios by pressure."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import CaseError, DataError
from airshed.core.units import to

Array = NDArray[np.float64]

_PPM = 1e-6
_PRESSURE = "pressure [Pa]"


@dataclass(frozen=True)
class ProfileTable:
    """Mixing ratios of a profile file's own species [mol/mol], by ln of pressure [ln Pa], rising."""

    name: str
    log_pressure: Array
    columns: Mapping[str, Array]


def read_profile(choice: str | Path) -> ProfileTable:
    """Return a profile file, by its path or the name under which it is shipped.

    The file: comments with #, a line of names of which the first is "pressure [Pa]", then lines of numbers [ppm].
    Raises DataError when it cannot be read or holds what no profile can.
    """
    path = _shipped_or_given(choice)
    try:
        lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
        names, *rows = csv.reader(lines)
        numbers = np.array(rows, dtype=np.float64)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read the profile {path}: {error}; it needs a line of names, then numbers") from None
    problem = _problem(names, numbers)
    if problem:
        raise DataError(f"the profile {path} {problem}")
    numbers = numbers[np.argsort(numbers[:, 0])]
    columns = {name: _PPM * numbers[:, i] for i, name in enumerate(names) if i > 0}
    return ProfileTable(path.name, np.log(numbers[:, 0]), columns)


def _problem(names: list[str], numbers: Array) -> str | None:
    if names[0] != _PRESSURE:
        return f"must have {_PRESSURE!r} as its first column, not {names[0]!r}"
    if numbers.ndim != 2 or numbers.shape[0] < 2 or numbers.shape[1] != len(names):
        return f"needs two or more lines of {len(names)} numbers"
    if not np.all(np.isfinite(numbers)) or np.any(numbers < 0.0):
        return "holds a number that is negative or not finite"
    if np.any(np.diff(np.sort(numbers[:, 0]), prepend=0.0) <= 0.0):
        return "needs pressures that are above 0 and different"
    return None


def _shipped_or_given(choice: str | Path) -> Path:
    """Return the path of a profile that is shipped under a name, or the path as given."""
    with as_file(files("airshed.air") / "data" / "boundary") as folder:
        shipped = folder / f"{choice}.csv"
        return shipped if shipped.is_file() else Path(choice)


def mixing_ratio(value: str | float, where: str) -> float:
    """Return a mixing ratio [mol/mol] from a number in it or a text such as "10 ppb"; raises CaseError below 0."""
    return _not_negative(to(value, "mol/mol", where=where) if isinstance(value, str) else float(value), where)


def factor(value: float, where: str) -> float:
    """Return a factor [1]; raises CaseError below 0."""
    return _not_negative(float(value), where)


def _not_negative(number: float, where: str) -> float:
    if not isfinite(number) or number < 0.0:
        raise CaseError(f"{where} = {number:g}: give a number that is not negative")
    return number
