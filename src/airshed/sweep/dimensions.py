"""Dimensions of a sweep: varied settings from `--vary KEY=V1,V2,...`, and ensembles drawn by a Latin hypercube.

The range of each perturbed setting is divided into as many intervals of equal probability as there are members, with
one draw from each (McKay, Beckman and Conover, 1979, https://doi.org/10.2307/1268522). Distributions with
bounds are truncated: the probability between the bounds is divided, without rejection of draws.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf, isfinite, log, prod
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.case.toml import read_toml
from airshed.core.errors import CaseError
from airshed.core.files import read_text
from airshed.core.text import shown, suggestion
from airshed.io.run_state import MEMBER

MOST_MEMBERS: Final = 10_000
"""Most members of a sweep: each has a run folder of its own."""

_FIXED: Final = ("grid", "output", "time.start", "time.length", "model")
"""Settings or sections that fix the cells, times and fields of the results, which all members share."""

_BRACKETS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(frozen=True)
class Dimension:
    """Dimension of a sweep.

    name    of the dimension in the dataset: the key of its setting, or "member" of an ensemble
    keys    keys of the settings that it varies
    points  value of each setting, in the form of `--set`, for each index along the dimension
    """

    name: str
    keys: tuple[str, ...]
    points: tuple[tuple[str, ...], ...]

    def overrides(self, index: int) -> list[str]:
        """Return the settings at an index in the form of `--set`."""
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
            before = values[:at]
            is_escaped = (len(before) - len(before.rstrip("\\"))) % 2 == 1
            quote = "" if character == quote and (quote == "'" or not is_escaped) else quote
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


_NEEDED: Final = {"uniform": ("low", "high"), "normal": ("mean", "sd"), "lognormal": ("median", "gsd")}
"""Required parameters of each distribution; low and high may truncate the other two as well."""


@dataclass(frozen=True)
class Uncertainty:
    """The distribution of one setting.

    setting       key of the setting
    distribution  "uniform", "normal" or "lognormal"
    low, high     bounds; a normal or lognormal distribution is truncated there
    mean, sd      mean and standard deviation of a normal distribution
    median, gsd   median and geometric standard deviation of a lognormal distribution: 68 % lie in median / gsd to
                  median * gsd
    unit          unit of the drawn values; "" for plain numbers
    """

    setting: str
    distribution: str
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    sd: float | None = None
    median: float | None = None
    gsd: float | None = None
    unit: str = ""

    def quantile(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values below which the truncated distribution has these probabilities."""
        from scipy.special import ndtr, ndtri

        low, high = -inf if self.low is None else self.low, inf if self.high is None else self.high
        if self.distribution == "uniform":
            return low + probability * (high - low)
        if self.distribution == "normal":
            centre, width, ends = self.mean or 0.0, self.sd or 1.0, (low, high)
        else:  # the logarithm is normal
            centre, width = log(self.median or 1.0), log(self.gsd or 2.0)
            ends = (log(low) if low > 0.0 else -inf, log(high) if high > 0.0 else -inf)
        below, above = (ndtr((end - centre) / width) for end in ends)
        values = centre + width * np.asarray(ndtri(below + probability * (above - below)))
        return np.clip(values if self.distribution == "normal" else np.exp(values), low, high)


def read_uncertainties(path: Path) -> list[Uncertainty]:
    """Read a table of uncertainties from TOML (a table for each setting) or CSV (a row for each); raises CaseError."""
    if path.suffix == ".csv":
        rows = list(csv.DictReader(read_text(path).splitlines()))
        entries = [
            (f"{path}:{number}", {key: _number(value) for key, value in row.items() if key and value})
            for number, row in enumerate(rows, start=2)
        ]
    elif path.suffix == ".toml":
        tables = read_toml(path)[0]
        entries = [(f"{path}: {key}", _entry(path, key, table)) for key, table in tables.items()]
    else:
        raise CaseError(f"--uncertainties {path}: the name must end in .toml or .csv")
    if not entries:
        raise CaseError(f"{path} has no settings")
    return [_uncertainty(where, entry) for where, entry in entries]


def _entry(path: Path, key: str, table: object) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise CaseError(f'{path}: {key} must be a table, such as ["emissions.scale.NOx"] with the key in quotes')
    if not {"distribution"} & table.keys() and all(isinstance(each, Mapping) for each in table.values()):
        raise CaseError(f'{path}: [{key}...] has no distribution; write the whole key in quotes, ["{key}..."]')
    return {"setting": key, **table}


def _number(text: str | None) -> Any:
    """Return a cell as a number if it is one, else as text."""
    try:
        return float(text or "")
    except ValueError:
        return (text or "").strip()


def _uncertainty(where: str, entry: Mapping[str, Any]) -> Uncertainty:
    known = [field.name for field in fields(Uncertainty)]
    for name, value in entry.items():
        if name not in known:
            raise CaseError(f"{where}: {shown(name)} is unknown; {suggestion(name, known)}")
        if name in ("setting", "distribution", "unit"):
            if not isinstance(value, str):
                raise CaseError(f"{where}: {name} = {shown(value)} must be a text")
        elif isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise CaseError(f"{where}: {name} = {shown(value)} must be a number; its unit goes to unit")
    distribution = entry.get("distribution", "")
    if not entry.get("setting"):
        raise CaseError(f"{where}: setting is missing, the key of a setting such as emissions.scale.NOx")
    if distribution not in _NEEDED:
        raise CaseError(f"{where}: distribution = {shown(distribution)} must be one of {', '.join(_NEEDED)}")
    needed = _NEEDED[distribution]
    if lacking := [name for name in needed if name not in entry]:
        raise CaseError(f"{where}: the {distribution} distribution needs {' and '.join(lacking)}")
    others = set(entry) - {"setting", "distribution", "unit", "low", "high", *needed}
    if others:
        raise CaseError(
            f"{where}: {min(others)} is not a parameter of the {distribution} distribution: {', '.join(needed)}"
        )
    made = Uncertainty(**entry)
    limits = (("sd", made.sd, 0, ""), ("median", made.median, 0, ""),
              ("gsd", made.gsd, 1, ", the factor of one standard deviation"))  # fmt: skip
    for name, value, limit, why in limits:
        if value is not None and value <= limit:
            raise CaseError(f"{where}: {name} = {value:g} must be more than {limit}{why}")
    if made.low is not None and made.high is not None and made.low >= made.high:
        raise CaseError(f"{where}: low = {made.low:g} must be less than high = {made.high:g}")
    ends = made.quantile(np.array([0.25, 0.75]))
    if not (np.isfinite(ends).all() and ends[0] < ends[1]):
        raise CaseError(f"{where}: the distribution has no probability between low and high; widen them")
    return made


def draw(uncertainties: Sequence[Uncertainty], members: int, seed: int) -> Dimension:
    """Return the dimension of an ensemble, drawn by a Latin hypercube; equal seeds give equal draws. Raises CaseError.

    Parameters
    ----------
    uncertainties : distributions of the settings
    members : number of draws of all settings
    seed : of NumPy's default generator
    """
    from scipy.stats import qmc

    if not 2 <= members <= MOST_MEMBERS:
        raise CaseError(f"--ensemble {members}: give 2 to {MOST_MEMBERS} members")
    sampler = qmc.LatinHypercube(d=len(uncertainties), rng=np.random.default_rng(seed))
    probabilities = sampler.random(members)
    columns = [
        [f"{float(value)!r} {each.unit}".strip() for value in each.quantile(probabilities[:, number])]
        for number, each in enumerate(uncertainties)
    ]
    return Dimension(MEMBER, tuple(each.setting for each in uncertainties), tuple(zip(*columns, strict=True)))


def describe(uncertainties: Sequence[Uncertainty]) -> list[dict[str, Any]]:
    """Return the table of uncertainties as plain values, for the attributes of the dataset."""
    return [
        {field.name: value for field in fields(each) if (value := getattr(each, field.name)) not in (None, "")}
        for each in uncertainties
    ]
