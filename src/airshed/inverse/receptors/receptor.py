"""Receptors of the air: a measure of one species at a place and a time, as a cost.

    {"species": "O3", "lon": 6.96, "lat": 50.94, "level": 0, "time": "24 h"}             one cell at one time
    {"species": "O3", "lon": [5, 8], "lat": [50, 52], "time": ["12 h", "18 h"]}          an area, the mean of hours
    {"species": "O3", "place": "Cologne", "time": ["0 h", "24 h"], "measure": "mda8"}    a city of 100 000 people
    {"species": "O3", "place": "Belgium", "time": ["0 h", "24 h"], "measure": "aot40"}   or a country

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

from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.core.units import to
from airshed.grid import Grid
from airshed.grid.coverage import box_around, box_shares, outline_shares
from airshed.grid.world import Place, find_place
from airshed.inverse.cost import Fields

Array = npt.NDArray[np.float64]

MEASURES: Final = {"mean": "mol mol-1", "aot40": "mol mol-1 h", "mda8": "mol mol-1"}
"""What can be measured, and the units."""

THRESHOLD: Final = 40e-9
"""Of aot40 [mol/mol]."""

_HOUR: Final = 3600.0
_WINDOW: Final = 8
_KEYS: Final = ("species", "place", "lon", "lat", "level", "time", "measure")


@dataclass(frozen=True)
class Receptor:
    """A receptor as it was requested.

    place     a point, or an area;  level  from the ground, 0 is the lowest
    times     [s] since the start of the case
    """

    species: str
    place: Place
    level: int
    times: tuple[float, ...]
    measure: str

    @classmethod
    def of(cls, asked: Mapping[str, Any], end: float) -> "Receptor":
        """Return the receptor that a table of settings says, in a case that ends at a time [s]; raises CaseError."""
        for key in asked:
            if key not in _KEYS:
                raise CaseError(f"receptor.{key} is not a setting; {suggestion(key, _KEYS)}")
        if not asked.get("species"):
            raise CaseError("the receptor has no species; it needs one, and a place, or lon and lat")
        measure = str(asked.get("measure", "mean"))
        if measure not in MEASURES:
            raise CaseError(f"receptor.measure = {measure!r} is none; {suggestion(measure, list(MEASURES))}")
        level = asked.get("level", 0)
        if not isinstance(level, int) or isinstance(level, bool) or level < 0:
            raise CaseError(f"receptor.level = {level!r} is no level; 0 is the lowest one")
        times = _times(asked.get("time", end), end, measure)
        return cls(str(asked["species"]), _place(asked), level, times, measure)

    @property
    def title(self) -> str:
        """What is measured where, in words."""
        words = {"mean": "", "aot40": "AOT40 of ", "mda8": "maximum 8-hour mean of "}
        return f"{words[self.measure]}{self.species} in {self.place.name}"

    def weights(self, grid: Grid) -> Array:
        """Return what each cell counts (level, lat, lon), one in all; raises CaseError for a place outside."""
        if self.level >= grid.shape[0]:
            raise CaseError(f"receptor.level = {self.level}: the case has the levels 0 to {grid.shape[0] - 1}")
        found = np.zeros(grid.shape)
        found[self.level] = self._shares(grid) * np.broadcast_to(grid.cell_area, grid.shape[1:])
        return np.asarray(found / found.sum())

    def _shares(self, grid: Grid) -> Array:
        """The share of each cell that is in the place (lat, lon)."""
        place = self.place
        if not place.outline:
            return box_shares(place.lon, place.lat, grid, "receptor")
        near = [each for each in place.outline if grid.meets(*box_around(each))]
        shares = outline_shares(near, grid) if near else np.zeros(grid.shape[1:])
        if not shares.any():
            raise CaseError(f"receptor.place = {place.name!r} has no part within the case")
        return shares


class ReceptorCost:
    """A receptor as a cost, see :class:`airshed.inverse.cost.Cost`."""

    def __init__(self, receptor: Receptor, grid: Grid) -> None:
        self.receptor, self._weights = receptor, receptor.weights(grid)
        self.times: Sequence[float] = receptor.times
        self.measured: dict[float, float] = {}
        self.words = f"{receptor.title}, level {receptor.level}, {receptor.measure}"

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


def _place(asked: Mapping[str, Any]) -> Place:
    if "place" in asked:
        if "lon" in asked or "lat" in asked:
            raise CaseError("receptor.place beside lon or lat: give one of them")
        return find_place(str(asked["place"]), "receptor.place")
    if "lon" not in asked or "lat" not in asked:
        raise CaseError("the receptor has no place; give place, such as Cologne or Belgium, or lon and lat")
    lon, lat = _ends(asked, "lon"), _ends(asked, "lat")
    east, north = (f"{a:g}" if a == b else f"{a:g} to {b:g}" for a, b in (lon, lat))
    return Place(f"{north} N, {east} E", lon, lat)


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
    hours = round((last - first) / _HOUR)
    if abs(last - first - hours * _HOUR) > 1.0:
        raise CaseError(f"receptor.time = {value!r}: there are to be full hours from the first time to the last")
    times = tuple(first + _HOUR * number for number in range(hours + 1))
    if measure == "mda8" and len(times) < _WINDOW:
        raise CaseError(f"receptor.time = {value!r} has {len(times)} hours; mda8 needs {_WINDOW} at least")
    return times
