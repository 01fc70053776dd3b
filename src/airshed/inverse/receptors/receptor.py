"""Receptors of the air-quality model: a measure of one species at a location and time, as a cost.

    {"species": "O3", "lon": 6.96, "lat": 50.94, "level": 0, "time": "24 h"}             one cell at one time
    {"species": "O3", "lon": [5, 8], "lat": [50, 52], "time": ["12 h", "18 h"]}          an area, the mean of hours
    {"species": "O3", "place": "Cologne", "time": ["0 h", "24 h"], "measure": "mda8"}    a city of 100 000 people
    {"species": "O3", "place": "Belgium", "time": ["0 h", "24 h"], "measure": "aot40"}   a country

Measures of the area-weighted mixing ratio of the location:

    mean     mean over the times [mol/mol]
    aot40    sum over the hours of the excess above 40 ppb [mol/mol h]
    mda8     maximum mean of eight consecutive hours [mol/mol]
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final, TypeVar

import numpy as np
from pydantic import ValidationError, create_model

from airshed.case.messages import explain
from airshed.case.values import pair
from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.settings import Section
from airshed.core.text import duration
from airshed.grid import Grid
from airshed.grid.coverage import box_around, box_shares, outline_shares
from airshed.grid.world import Location, find_location
from airshed.inverse.cost import Fields
from airshed.models.air.case.inverse import ReceptorSection
from airshed.parallel.communicator import world

MEASURES: Final = {"mean": "mol mol-1", "aot40": "mol mol-1 h", "mda8": "mol mol-1"}
"""Measures and their units."""

THRESHOLD: Final = 40e-9
"""Threshold of aot40 [mol/mol]."""

_HOUR: Final = 3600.0
_WINDOW: Final = 8


@dataclass(frozen=True)
class Receptor:
    """Receptor: a measure of the mixing ratio of a species at a location.

    place     point or area
    level     level from the ground, 0 is the lowest
    times     times [s] since the start of the case
    """

    species: str
    place: Location
    level: int
    times: tuple[float, ...]
    measure: str

    @classmethod
    def of(cls, settings: ReceptorSection | Mapping[str, Any], end: float) -> "Receptor":
        """Return the receptor with the settings of a section, in a case that ends at a time [s]; raises CaseError."""
        section = settings if isinstance(settings, ReceptorSection) else receptor_section(ReceptorSection, settings)
        if section.species is None:
            raise CaseError("the receptor has no species; give species, and place, or lon and lat")
        if section.place is not None:
            place = find_location(section.place, "receptor.place")
        elif section.lon is not None and section.lat is not None:
            east, north = (f"{a:g}" if a == b else f"{a:g} to {b:g}" for a, b in (section.lon, section.lat))
            place = Location(f"{north} N, {east} E", section.lon, section.lat)
        else:
            raise CaseError("the receptor has no place; give place, such as Cologne or Belgium, or lon and lat")
        return cls(section.species, place, section.level, _times(section, end), section.measure)

    @property
    def title(self) -> str:
        """Description of the measure and the location."""
        words = {"mean": "", "aot40": "AOT40 of ", "mda8": "maximum 8-hour mean of "}
        return f"{words[self.measure]}{self.species} in {self.place.name}"

    def weights(self, grid: Grid) -> Array:
        """Return the weights of cells (level, lat, lon), with a sum of 1; raises CaseError for a place outside."""
        if self.level >= grid.shape[0]:
            raise CaseError(f"receptor.level = {self.level}: the case has the levels 0 to {grid.shape[0] - 1}")
        place = self.place
        if place.outline:
            near = [each for each in place.outline if grid.meets(*box_around(each))]
            shares = outline_shares(near, grid) if near else np.zeros(grid.shape[1:])
            if not shares.any():
                raise CaseError(f"receptor.place = {place.name!r} has no part within the case")
        else:
            shares = box_shares(place.lon, place.lat, grid, "receptor")
        found = np.zeros(grid.shape)
        found[self.level] = shares * np.broadcast_to(grid.cell_area, grid.shape[1:])
        return np.asarray(found / found.sum())


class ReceptorCost:
    """A receptor as a cost, see :class:`airshed.inverse.cost.Cost`."""

    def __init__(self, receptor: Receptor, grid: Grid) -> None:
        self.receptor, self._weights = receptor, receptor.weights(grid)
        self.times: Sequence[float] = receptor.times
        self.measured: dict[float, float] = {}
        self.words = f"{receptor.title}, level {receptor.level}, {receptor.measure}"

    def observe(self, seconds: float, fields: Fields) -> None:
        """Store the mixing ratio of the location."""
        self.measured[seconds] = float(np.sum(self._weights * fields(self.receptor.species)))

    @property
    def value(self) -> float:
        """Value of the receptor, in the unit of its measure."""
        measured = np.array([self.measured[time] for time in self.times])
        if self.receptor.measure == "aot40":
            return float(np.sum(np.maximum(measured - THRESHOLD, 0.0)))
        return float(np.sum(self._shares() * measured))

    def _shares(self) -> Array:
        """Return the derivatives of the measure with respect to the mixing ratio at each of the times."""
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
        """Return the gradient with respect to the mixing ratios at one of the times."""
        share = dict(zip(self.times, self._shares(), strict=True))[seconds]
        return {self.receptor.species: share * self._weights}


def _times(section: ReceptorSection, end: float) -> tuple[float, ...]:
    """Return the time [s] of a receptor, or all full hours between its first and last time."""
    first, last = (end, end) if section.time is None else (each.value for each in section.time)
    where = f"receptor.time = {duration(first)} to {duration(last)}"
    if last > end:
        raise CaseError(f"{where} is not within the case, 0 to {duration(end)}")
    hours = round((last - first) / _HOUR)
    if abs(last - first - hours * _HOUR) > 1.0:
        raise CaseError(f"{where}: the interval must be a whole number of hours")
    times = tuple(first + _HOUR * number for number in range(hours + 1))
    if section.measure == "mda8" and len(times) < _WINDOW:
        raise CaseError(f"{where} has {len(times)} hours; mda8 needs at least {_WINDOW}")
    return times


def notify_default_time(end: float, on_notice: Callable[[str], object]) -> None:
    """Report, on the root, that a receptor without a time is measured at the end of the case [s]."""
    if world().rank == 0:
        line = f"the receptor has no time: it is measured at the end of the case, {duration(end)}; set receptor.time"
        logging.getLogger("airshed").warning(line)
        on_notice(line)


Chosen = TypeVar("Chosen", bound=Section)


def receptor_section(kind: type[Chosen], settings: Mapping[str, Any]) -> Chosen:
    """Return the section of a receptor from a table, whose times may be numbers [s]; raises CaseError."""
    given, ends = dict(settings), pair(settings.get("time"))
    if isinstance(ends, list | tuple):
        given["time"] = [f"{float(each)!r} s" if isinstance(each, Real) else each for each in ends]
    whole = create_model("Given", __base__=Section, receptor=(kind, ...))
    try:
        found: Chosen = whole.model_validate({"receptor": given}).receptor  # type: ignore[attr-defined]
    except ValidationError as error:
        raise CaseError(explain(error, whole, {"receptor": given}, lambda key: "", None, "the receptor")) from error
    return found
