"""Ensembles of perturbed parameters: settings drawn from distributions by a Latin hypercube.

The range of each setting is divided into as many intervals of equal probability as there are members, with one
draw from each (McKay, Beckman and Conover, 1979, https://doi.org/10.2307/1268522). Distributions with
bounds are truncated: the probability between the bounds is divided, without rejection of draws.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf, isfinite, log
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.case.toml import read_toml
from airshed.core.errors import CaseError
from airshed.core.files import read_text
from airshed.core.text import shown, suggestion
from airshed.io.run_state import MEMBER
from airshed.sweep.dimensions import MOST_MEMBERS, Dimension

"""Name of the dimension of an ensemble."""

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
            centre, width, ends = log(self.median or 1.0), log(self.gsd or 2.0), (_logarithm(low), _logarithm(high))
        below, above = (ndtr((end - centre) / width) for end in ends)
        values = centre + width * np.asarray(ndtri(below + probability * (above - below)))
        return np.clip(values if self.distribution == "normal" else np.exp(values), low, high)


def _logarithm(value: float) -> float:
    return log(value) if value > 0.0 else -inf


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
    _check_range(where, made)
    return made


def _check_range(where: str, made: Uncertainty) -> None:
    if made.sd is not None and made.sd <= 0.0:
        raise CaseError(f"{where}: sd = {made.sd:g} must be more than 0")
    if made.median is not None and made.median <= 0.0:
        raise CaseError(f"{where}: median = {made.median:g} must be more than 0")
    if made.gsd is not None and made.gsd <= 1.0:
        raise CaseError(f"{where}: gsd = {made.gsd:g} must be more than 1, the factor of one standard deviation")
    if made.low is not None and made.high is not None and made.low >= made.high:
        raise CaseError(f"{where}: low = {made.low:g} must be less than high = {made.high:g}")
    ends = made.quantile(np.array([0.25, 0.75]))
    if not (np.isfinite(ends).all() and ends[0] < ends[1]):
        raise CaseError(f"{where}: the distribution has no probability between low and high; widen them")


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
    """Return the given entries of the table for the attributes of the dataset."""
    return [
        {field.name: value for field in fields(each) if (value := getattr(each, field.name)) not in (None, "")}
        for each in uncertainties
    ]
