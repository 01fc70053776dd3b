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
from airshed.core.files import read_text
from airshed.core.units import to

Array = NDArray[np.float64]

_PPM = 1e-6
_PRESSURE = "pressure [Pa]"
_PRESSURES = (1e-3, 2e5)


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
    if path.is_file() and path.read_bytes()[:3] in (b"CDF", b"\x89HD"):
        raise DataError(
            f"the profile {path} is a netCDF file; a profile is one for all edges, in CSV: a line of names, of which "
            'the first is "pressure [Pa]", and lines of numbers [ppm]. Fields: Simulation(case, boundary=dataset)'
        )
    text = enumerate(read_text(path, 'give a file, or a shipped profile such as "clean-air"').splitlines(), start=1)
    lines = [(number, line) for number, line in text if line.strip() and not line.startswith("#")]
    try:
        cells = list(csv.reader((line for _, line in lines), strict=True))
    except csv.Error as error:
        raise DataError(f"the profile {path} is no table ({error}); it needs a line of names, then numbers") from None
    if len(cells) != len(lines) or len(cells) < 3:
        raise DataError(f"the profile {path} needs a line of names, then two or more lines of numbers")
    names = [name.strip() for name in cells[0]]
    _check_names(path, names)
    numbers = np.array([
        _row(f"{path}, line {line}", names, row) for (line, _), row in zip(lines[1:], cells[1:], strict=True)
    ])  # fmt: skip
    if np.any(np.diff(np.sort(numbers[:, 0])) <= 0.0):
        raise DataError(f"the profile {path} has a pressure more than once; take the double line out")
    numbers = numbers[np.argsort(numbers[:, 0])]
    columns = {name: _PPM * numbers[:, i] for i, name in enumerate(names) if i > 0}
    return ProfileTable(path.name, np.log(numbers[:, 0]), columns)


def _check_names(path: Path, names: list[str]) -> None:
    if names[0] != _PRESSURE:
        raise DataError(f"the profile {path} must have {_PRESSURE!r} as its first column, not {names[0][:40]!r}")
    twice = [name for index, name in enumerate(names) if name in names[:index]]
    if twice or "" in names:
        raise DataError(f"the profile {path} has a column {(twice or [''])[0]!r} that is double or without a name")


def _row(where: str, names: list[str], cells: list[str]) -> list[float]:
    """Return a line's pressure [Pa] and mixing ratios [ppm]; raises DataError for what these cannot be."""
    if len(cells) != len(names):
        raise DataError(f"{where}: {len(cells)} numbers, but {len(names)} columns")
    numbers = []
    for name, cell in zip(names, cells, strict=True):
        try:
            number = float(cell)
        except ValueError:
            raise DataError(f"{where}: {name} {cell[:40]!r} is not a number") from None
        low, high = _PRESSURES if name == _PRESSURE else (0.0, 1.0 / _PPM)
        if not low <= number <= high:
            raise DataError(f"{where}: {name} is {number:g}, but must lie within {low:g} and {high:g}")
        numbers.append(number)
    return numbers


def _shipped_or_given(choice: str | Path) -> Path:
    """Return the path of a profile that is shipped under a name, or the path as given."""
    with as_file(files("airshed.models.air") / "data" / "boundary") as folder:
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
