"""Area sources: a steady flux from the ground of a box."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import CaseError
from airshed.grid import Grid
from airshed.grid.regrid import area_in_box
from airshed.models.air.emissions.source import SteadyEmissions

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AreaSource:
    """A steady flux from the ground between two longitudes and two latitudes [degrees], by species [mol m-2 s-1].

    Raises CaseError for a box without extent and for a rate that is negative or not finite.
    """

    lon: tuple[float, float]
    lat: tuple[float, float]
    rates: Mapping[str, float]

    def __post_init__(self) -> None:
        if not (self.lon[0] < self.lon[1] <= self.lon[0] + 360.0 and -90.0 <= self.lat[0] < self.lat[1] <= 90.0):
            raise CaseError(f"area source {self.lon} E, {self.lat} N: its box has no extent, or leaves the sphere")
        for species, rate in self.rates.items():
            if not (np.isfinite(rate) and rate >= 0.0):
                raise CaseError(f"area source of {species}: its rate is {rate:g}; give a number of 0 or more")

    @property
    def area(self) -> float:
        """The area of the box [m2]."""
        (west, east), (south, north) = np.radians(self.lon), np.radians(self.lat)
        return float(EARTH_RADIUS**2 * (east - west) * (np.sin(north) - np.sin(south)))

    def __str__(self) -> str:
        return f"area source {self.lon[0]:g} to {self.lon[1]:g} E, {self.lat[0]:g} to {self.lat[1]:g} N"


class AreaEmissions(SteadyEmissions):
    """The emission of area sources into the lowest layer, where boxes overlap their sum.

    A cell takes its share of each box by area; what lies outside the grid is cut.
    """

    def __init__(self, sources: Sequence[AreaSource], grid: Grid) -> None:
        """Raises CaseError when there is none, or when no part of one lies in the grid."""
        if not sources:
            raise CaseError("no area source given; give at least one")
        species = tuple(dict.fromkeys(species for source in sources for species in source.rates))
        rates = np.zeros((len(species), 1, *grid.shape[1:]))
        self._notices = []
        for source in sources:
            area = _covered(source, grid)
            outside = 1.0 - float(area.sum()) / source.area
            if outside > 1e-6:
                self._notices.append(f"{source}: {100.0 * outside:.3g} % of it lies outside the area")
            for name, rate in source.rates.items():
                rates[species.index(name), 0] += rate * area
        super().__init__(species, rates)

    def notices(self) -> list[str]:
        """Return which part of each source the grid does not hold, a line each."""
        return list(self._notices)

    notes = notices


def _covered(source: AreaSource, grid: Grid) -> Array:
    """Return the area of each cell that a box covers [m2], (lat, lon)."""
    covered, _ = area_in_box(source.lon, source.lat, grid)
    if not covered.any():
        raise CaseError(f"{source} lies outside the grid: {grid}")
    return covered
