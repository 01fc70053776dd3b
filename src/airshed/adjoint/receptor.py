"""Receptors: what is measured of one species, somewhere, at some time.

    {"species": "O3", "lon": 6.96, "lat": 50.94, "level": 0, "time": "24 h"}             one cell at one time
    {"species": "O3", "lon": [5, 8], "lat": [50, 52], "time": ["12 h", "18 h"]}          an area, the mean of hours
    {"species": "O3", "lon": 6.96, "lat": 50.94, "time": ["0 h", "24 h"], "measure": "mda8"}

Measures of the mixing ratio of the place, its cells weighted with their air's area:

    mean     of the times [mol/mol]
    aot40    sum over the hours of what is above 40 ppb [mol/mol h]
    mda8     the greatest mean of eight hours in a row [mol/mol]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.adjoint.cost import Fields
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.core.units import to
from airshed.grid import Grid

Array = npt.NDArray[np.float64]

MEASURES: Final = {"mean": "mol mol-1", "aot40": "mol mol-1 h", "mda8": "mol mol-1"}
"""What can be measured, and the units."""

THRESHOLD: Final = 40e-9
"""Of aot40 [mol/mol]."""

_HOUR: Final = 3600.0
_WINDOW: Final = 8
_KEYS: Final = ("species", "lon", "lat", "level", "time", "measure")


@dataclass(frozen=True)
class Receptor:
    """A receptor as it was asked for.

    lon, lat  [degrees] of a point, or the two ends of an area;  level  from the ground, 0 is the lowest
    times     [s] since the start of the case
    """

    species: str
    lon: tuple[float, float]
    lat: tuple[float, float]
    level: int
    times: tuple[float, ...]
    measure: str

    @classmethod
    def of(cls, asked: Mapping[str, Any], end: float) -> "Receptor":
        """Return the receptor that a table of settings says, in a case that ends at a time [s]; raises CaseError."""
        for key in asked:
            if key not in _KEYS:
                raise CaseError(f"receptor.{key} is not a setting; {suggestion(key, _KEYS)}")
        for key in ("species", "lon", "lat"):
            if key not in asked:
                raise CaseError(f"the receptor has no {key}; it needs species, lon and lat")
        measure = str(asked.get("measure", "mean"))
        if measure not in MEASURES:
            raise CaseError(f"receptor.measure = {measure!r} is none; {suggestion(measure, list(MEASURES))}")
        level = asked.get("level", 0)
        if not isinstance(level, int) or isinstance(level, bool) or level < 0:
            raise CaseError(f"receptor.level = {level!r} is no level; 0 is the lowest one")
        times = _times(asked.get("time", end), end, measure)
        return cls(str(asked["species"]), _ends(asked, "lon"), _ends(asked, "lat"), level, times, measure)

    def weights(self, grid: Grid) -> Array:
        """Return what each cell counts (level, lat, lon), one in all; raises CaseError for a place outside."""
        if self.level >= grid.shape[0]:
            raise CaseError(f"receptor.level = {self.level}: the case has the levels 0 to {grid.shape[0] - 1}")
        across, along = _covered(grid.lat_faces, self.lat, "lat"), _covered(grid.lon_faces, self.lon, "lon")
        found = np.zeros(grid.shape)
        found[self.level] = across[:, None] * along[None, :] * np.broadcast_to(grid.cell_area, grid.shape[1:])
        return np.asarray(found / found.sum())


class ReceptorCost:
    """A receptor as a cost, see :class:`airshed.adjoint.cost.Cost`."""

    def __init__(self, receptor: Receptor, grid: Grid) -> None:
        self.receptor, self._weights = receptor, receptor.weights(grid)
        self.times: Sequence[float] = receptor.times
        self.measured: dict[float, float] = {}

    def see(self, seconds: float, fields: Fields) -> None:
        """Measure the mixing ratio of the place."""
        self.measured[seconds] = float(np.sum(self._weights * fields(self.receptor.species)))

    @property
    def value(self) -> float:
        """What was measured, in the unit of the measure."""
        measured = np.array([self.measured[time] for time in self.times])
        if self.receptor.measure == "aot40":
            return float(np.sum(np.maximum(measured - THRESHOLD, 0.0)))
        return float(np.sum(self._shares() * measured))

    def _shares(self) -> Array:
        """The derivative of the measure by what was measured at each of the times."""
        measured = np.array([self.measured[time] for time in self.times])
        if self.receptor.measure == "aot40":
            return np.where(measured > THRESHOLD, 1.0, 0.0)
        if self.receptor.measure == "mda8":
            sums = np.convolve(measured, np.ones(_WINDOW), mode="valid")
            shares = np.zeros(len(measured))
            shares[int(np.argmax(sums)) :][:_WINDOW] = 1.0 / _WINDOW
            return shares
        return np.full(len(measured), 1.0 / len(measured))

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """The derivative by the mixing ratios at one of the times."""
        share = dict(zip(self.times, self._shares(), strict=True))[seconds]
        return {self.receptor.species: share * self._weights}


def _ends(asked: Mapping[str, Any], key: str) -> tuple[float, float]:
    value = asked[key]
    pair = value if isinstance(value, Sequence) and not isinstance(value, str) else (value, value)
    if len(pair) != 2 or not all(isinstance(each, Real) and np.isfinite(float(each)) for each in pair):
        raise CaseError(f"receptor.{key} = {value!r} is no place; give degrees, or the two ends of an area")
    first, last = map(float, pair)
    if first > last:
        raise CaseError(f"receptor.{key} = {value!r}: the first end lies beyond the second")
    return first, last


def _times(value: Any, end: float, measure: str) -> tuple[float, ...]:
    """The times that are meant: one, or every hour from one to another."""
    pair = value if isinstance(value, Sequence) and not isinstance(value, str) else (value, value)
    if len(pair) != 2:
        raise CaseError(f'receptor.time = {value!r}: give one time, such as "24 h", or the first and the last')
    first, last = (float(each) if isinstance(each, Real) else to(each, "s", where="receptor.time") for each in pair)
    if not 0.0 <= first <= last <= end:
        raise CaseError(f"receptor.time = {value!r} is not within the case, 0 to {end:g} s")
    times = tuple(first + _HOUR * number for number in range(int((last - first + 1.0) // _HOUR) + 1))
    if measure == "mda8" and len(times) < _WINDOW:
        raise CaseError(f"receptor.time = {value!r} has {len(times)} hours; mda8 needs {_WINDOW} at least")
    return times


def _covered(faces: Array, ends: tuple[float, float], name: str) -> Array:
    """The share of each cell along an axis that lies between two ends; of a point all of the cell that holds it."""
    first, last = ends
    if first < faces[0] or last > faces[-1]:
        raise CaseError(f"receptor.{name} = {list(ends)} is not within the case, {faces[0]:g} to {faces[-1]:g}")
    if first == last:
        shares = np.zeros(len(faces) - 1)
        shares[min(int(np.searchsorted(faces, first, side="right")) - 1, len(shares) - 1)] = 1.0
        return shares
    inside = np.minimum(faces[1:], last) - np.maximum(faces[:-1], first)
    return np.asarray(np.maximum(inside, 0.0) / np.diff(faces))
