"""Dimensions of a sweep: varied settings and their values, from `--vary KEY=V1,V2,...`."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, prod
from typing import Final

import numpy as np

from airshed.core.errors import CaseError
from airshed.core.text import shown

MOST_MEMBERS: Final = 10_000
"""Most members of a sweep: each has a run folder of its own."""

_FIXED: Final = ("grid", "output", "time.start", "time.length", "model")
"""Settings or sections that fix the cells, times and fields of the results, which all members share."""

_BRACKETS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(frozen=True)
class Dimension:
    """One dimension of a sweep.

    name    of the dimension in the dataset: the key of its setting, or "member" of an ensemble
    keys    keys of the settings that it varies
    points  for each index along the dimension the value of each setting, as `--set` takes it
    """

    name: str
    keys: tuple[str, ...]
    points: tuple[tuple[str, ...], ...]

    def overrides(self, index: int) -> list[str]:
        """Return the settings at an index as `--set` takes them."""
        return [f"{key}={text}" for key, text in zip(self.keys, self.points[index], strict=True)]


def variable_name(key: str) -> str:
    """Return the name of a setting in the dataset; Zarr and netCDF allow no / in names."""
    return key.replace("/", "_")


def varied(text: str) -> Dimension:
    """Return the dimension that ``KEY=V1,V2,...`` or ``KEY=START:STOP:COUNT`` describes; raises CaseError."""
    key, equals, values = (part.strip() for part in text.partition("="))
    if not key or not equals:
        raise CaseError(f"--vary {shown(text)} is not understood; write KEY=V1,V2, such as emissions.scale.NOx=0.5,1")
    texts = _range(values, text) or split_values(values, text)
    if repeated := next((each for each in texts if texts.count(each) > 1), None):
        raise CaseError(f"--vary {shown(text)} gives {shown(repeated)} twice")
    return Dimension(variable_name(key), (key,), tuple((each,) for each in texts))


def split_values(values: str, text: str) -> list[str]:
    """Return the values between commas; commas inside quotes, [ ] and { } do not separate. Raises CaseError."""
    items, begin, depth, quote = [], 0, 0, ""
    for at, character in enumerate(values):
        if quote:
            quote = "" if character == quote and (quote == "'" or not _is_escaped(values, at)) else quote
        elif character in "\"'":
            quote = character
        elif character in _BRACKETS:
            depth += _BRACKETS[character]
        elif character == "," and depth == 0:
            items.append(values[begin:at].strip())
            begin = at + 1
    items.append(values[begin:].strip())
    if quote or depth:
        raise CaseError(f"--vary {shown(text)}: a quote or bracket is not closed")
    if not all(items):
        raise CaseError(f"--vary {shown(text)}: a value is missing; write KEY=V1,V2")
    return items


def _is_escaped(values: str, at: int) -> bool:
    """Return whether an odd number of backslashes precedes the character."""
    before = values[:at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _range(values: str, text: str) -> list[str]:
    """Return evenly spaced values from START to STOP, both included, of START:STOP:COUNT; none for another text.

    START and STOP have the same unit, or none.
    """
    parts = [part.strip() for part in values.split(":")]
    numbers, units = zip(*(part.partition(" ")[::2] for part in parts), strict=True)
    if len(parts) != 3 or not (_is_number(numbers[0]) and _is_number(numbers[1]) and parts[2].isdecimal()):
        return []
    (start, stop, count), (unit, other) = numbers, (each.strip() for each in units[:2])
    if unit != other:
        raise CaseError(f"--vary {shown(text)}: START and STOP need the same unit, as in time.step=60 s:120 s:3")
    if len(count) > 9 or not 2 <= int(count) <= MOST_MEMBERS:
        raise CaseError(f"--vary {shown(text)}: COUNT must be 2 to {MOST_MEMBERS}")
    steps = np.linspace(float(start), float(stop), int(count))
    return [f"{value:.12g} {unit}".strip() for value in steps]


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def check_dimensions(dimensions: Sequence[Dimension], settings: Sequence[str]) -> None:
    """Check that the dimensions are compatible with the settings of `--set`; raises CaseError.

    Settings that fix the axes of the results cannot be varied, since the members share one dataset.
    """
    if not dimensions:
        raise CaseError("a sweep needs --vary KEY=V1,V2,... or --ensemble N with --uncertainties TABLE")
    given = [assignment.partition("=")[0].strip() for assignment in settings]
    seen: set[str] = set()
    for key in (key for dimension in dimensions for key in dimension.keys):
        if key in seen:
            raise CaseError(f"{key} is varied twice; give all its values in one --vary")
        if key in given:
            raise CaseError(f"{key} is both varied and given by --set; leave one of them out")
        if any(f"{key}.".startswith(f"{fixed}.") for fixed in _FIXED):
            raise CaseError(
                f"{key} cannot be varied: it changes the cells, times or fields of the results, which the members of a "
                "sweep share; start a run for each value"
            )
        seen.add(key)
    count = prod(len(dimension.points) for dimension in dimensions)
    if count > MOST_MEMBERS:
        raise CaseError(f"the sweep has {count} members, more than {MOST_MEMBERS}; give fewer values")
