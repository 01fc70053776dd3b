"""Receptors of models of points: the mean or sum of a field of some cells, at a time or over some.

{"field": "standing_dry_matter"}                                       the mean of all cells, at the end
{"field": "growth", "lon": [148, 150], "lat": [-27, -26], "time": ["90 day", "180 day"]}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.grid.land import within
from airshed.grid.world import find_place
from airshed.kernels.cells.formulas import Rows
from airshed.models.points.model import PointModel
from airshed.models.points.sections import ReceptorSection

Array = npt.NDArray[np.float64]

_ALL: Final = "all cells"


@dataclass(frozen=True)
class PointReceptor:
    """What is measured of a run.

    place   in words
    first, last  numbers of the steps after which it is measured
    weights (cells,) of the whole domain
    """

    field: str
    unit: str
    text: str
    place: str
    first: int
    last: int
    measure: str
    weights: Array

    @property
    def title(self) -> str:
        """What is measured where, in words."""
        return f"{self.text[:1].lower()}{self.text[1:]}, {self.measure} of {self.place}"


def point_receptor(section: ReceptorSection, model: PointModel, end: float) -> PointReceptor:
    """Return the receptor of a case that ends at a time [s]; raise CaseError for names that do not exist."""
    if section.field is None:
        raise CaseError("receptor.field is not given; name a field of the state or a flux that is to be measured")
    (spec,) = model.fields.select([section.field], where="receptor.field")
    first, last = _steps(section, model.step_length, end)
    place, inside = _cells(section, model)
    weights = np.where(inside, _areas(model), 0.0)
    weights = weights / weights.sum() if section.measure == "mean" else inside.astype(np.float64)
    return PointReceptor(spec.name, spec.unit, spec.text, place, first, last, section.measure, weights)


class PointReceptorCost:
    """A receptor as a cost, see :class:`airshed.inverse.points.PointCost`."""

    def __init__(self, receptor: PointReceptor, model: PointModel) -> None:
        self.fields: Sequence[str] = (receptor.field,)
        self._receptor, self._domain = receptor, model.domain
        self._weights = model.domain.box.of(receptor.weights)
        self._share = 1.0 / (receptor.last - receptor.first + 1)
        self._sum = 0.0

    @property
    def value(self) -> float:
        """The mean over the steps, in the unit of the field."""
        return self._sum * self._share

    def measure(self, first: int, rows: Mapping[str, Array]) -> None:
        """Add the steps that count; the same bits on any number of ranks."""
        (values,) = rows.values()
        for row, counts in zip(values, self._counts(first, len(values)), strict=True):
            if counts:
                self._sum += float(self._domain.total(self._weights * row)[()])

    def gradient(self, first: int, steps: int) -> Mapping[str, Rows]:
        """Return the weights of cells on the steps that count, else 0."""
        weights = self._weights * self._share
        rows = Rows(np.stack([np.zeros_like(weights), weights]), self._counts(first, steps).astype(np.int64))
        return {self._receptor.field: rows}

    def _counts(self, first: int, steps: int) -> npt.NDArray[np.bool_]:
        numbers = np.arange(first, first + steps)
        return (numbers >= self._receptor.first) & (numbers <= self._receptor.last)


def _steps(section: ReceptorSection, length: float, end: float) -> tuple[int, int]:
    """Return the numbers of the steps that end at the first and at the last time."""
    times = (end, end) if section.time is None else (section.time[0].value, section.time[1].value)
    if not 0.0 < times[1] <= end:
        raise CaseError(f"receptor.time: {times[1]:g} s is not within the case, 0 to {end:g} s")
    first, last = (round(time / length) for time in times)
    if any(abs(number * length - time) > 1.0 for number, time in zip((first, last), times, strict=True)):
        raise CaseError(f"receptor.time lies within a step; give multiples of {length:g} s")
    return max(first, 1) - 1, last - 1


def _cells(section: ReceptorSection, model: PointModel) -> tuple[str, npt.NDArray[np.bool_]]:
    """Return where is measured in words, and which cells of the whole domain these are."""
    shape = model.domain.axes.whole.shape
    if section.cells:
        inside = np.zeros(shape, np.bool_)
        strange = [each for each in section.cells if not 0 <= each < inside.size]
        if strange:
            raise CaseError(f"receptor.cells: there is no cell {strange[0]}; cells are 0 to {inside.size - 1}")
        inside.reshape(-1)[list(section.cells)] = True
        return f"{len(set(section.cells))} of {inside.size} cells", inside
    if section.place is None and section.lon is None:
        return _ALL, np.ones(shape, np.bool_)
    found = _coordinates(model)
    if found is None:
        raise CaseError("receptor: cells of this model have no latitude and longitude; give receptor.cells")
    lat, lon = found
    if section.place is not None:
        place = find_place(section.place, "receptor.place")
        name, (west, east), (south, north) = place.name, place.lon, place.lat
    else:
        assert section.lon is not None
        assert section.lat is not None
        (west, east), (south, north), place = section.lon, section.lat, None
        name = f"{_ends(south, north)} N, {_ends(west, east)} E"
    if place is not None and place.outline:
        rows, columns = np.unique(lat), np.unique(lon)
        mask = within(place.outline, rows, columns)
        inside = mask[np.searchsorted(rows, lat), np.searchsorted(columns, lon)]
    elif west == east and south == north:
        inside = _nearest(lat, lon, south, west)
    else:
        inside = (lat >= south) & (lat <= north) & (lon >= west) & (lon <= east)
    if not inside.any():
        raise CaseError(f"receptor: {name} has no cell of the case")
    return name, inside


def _nearest(lat: Array, lon: Array, south: float, west: float) -> npt.NDArray[np.bool_]:
    """Return the cell around a point; none where the nearest centre lies beyond the size of cells."""
    distance = np.hypot(lat - south, (lon - west) * np.cos(np.radians(south)))
    sizes = [np.diff(np.unique(each)).min(initial=np.inf) for each in (lat, lon)]
    found = np.zeros(lat.shape, np.bool_)
    at = int(np.argmin(distance))
    found[at] = bool(abs(lat[at] - south) <= 0.51 * sizes[0] and abs(lon[at] - west) <= 0.51 * sizes[1])
    return found


def _areas(model: PointModel) -> Array:
    """Return the area of cells of the whole domain, in any unit: they have one size in degrees, or are alike."""
    found = _coordinates(model)
    return np.ones(model.domain.axes.whole.shape) if found is None else np.cos(np.radians(found[0]))


def _coordinates(model: PointModel) -> tuple[Array, Array] | None:
    """Return the latitude and longitude of each cell of the whole domain."""
    own = {each.name: each.values for each in model.domain.axes.coordinates}
    return (own["lat"], own["lon"]) if {"lat", "lon"} <= own.keys() else None


def _ends(first: float, last: float) -> str:
    return f"{first:g}" if first == last else f"{first:g} to {last:g}"
