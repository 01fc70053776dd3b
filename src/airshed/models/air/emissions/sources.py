"""Sources of emission: steady ones of areas and points, for a time or always, and the sum of several."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import CaseError
from airshed.grid import Grid
from airshed.grid.regrid import area_in_box
from airshed.grid.window import Window
from airshed.process.context import Source

Array = NDArray[np.float64]


class CombinedEmissions:
    """The sum of several sources: all their species, as many layers as the highest of them reaches."""

    def __init__(self, sources: Sequence[Source]) -> None:
        """Raises CaseError when there is no source to combine."""
        if not sources:
            raise CaseError("no emission source given; give at least one, or none at all for a run without emission")
        self.sources = tuple(sources)
        self.species = tuple(dict.fromkeys(name for source in self.sources for name in source.species))
        self.levels = max(source.levels for source in self.sources)
        self.changes = sorted({time for source in self.sources for time in source.changes})
        row = {name: index for index, name in enumerate(self.species)}
        self._rows = [[row[name] for name in source.species] for source in self.sources]

    def rate(self, seconds: float) -> NDArray[np.float64]:
        """The sum of the rates of all sources [mol/s per cell], shape (species, levels, lat, lon)."""
        rates = [source.rate(seconds) for source in self.sources]
        total = np.zeros((len(self.species), self.levels, *rates[0].shape[2:]))
        for rate, rows, source in zip(rates, self._rows, self.sources, strict=True):
            for of_species, row in zip(rate, rows, strict=True):  # NumPy would copy all of several rows at once
                total[row, : source.levels] += of_species
        return total


class SteadyEmissions:
    """Emission that is the same at all times, as that of areas and points is.

    rate  [mol/s per cell] of species into the lowest levels, (species, levels, lat, lon)
    """

    changes = ()

    def __init__(self, species: tuple[str, ...], rate: Array) -> None:
        self.species, self.levels = species, rate.shape[1]
        self._rate = rate
        self._rate.setflags(write=False)

    def part(self, window: Window) -> Self:
        """Return the emission of a window's cells; species and levels stay those of all sources."""
        part = copy(self)
        part._rate = np.ascontiguousarray(window.of(self._rate))
        part._rate.setflags(write=False)
        return part

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell], shape (species, levels, lat, lon); the same at all times, read-only."""
        return self._rate


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


@dataclass(frozen=True)
class PointSource:
    """A steady source of one species: where it is [degrees, m above ground] and how much it emits [mol/s].

    Raises CaseError for a negative or non-finite height or rate.
    """

    species: str
    lon: float
    lat: float
    height: float
    rate: float

    def __post_init__(self) -> None:
        for name, value in (("height", self.height), ("rate", self.rate)):
            if not (np.isfinite(value) and value >= 0.0):
                raise CaseError(f"point source of {self.species}: its {name} is {value:g}; give a number of 0 or more")


class PointEmissions(SteadyEmissions):
    """The emission of point sources, each into the one cell that holds it."""

    def __init__(self, sources: Sequence[PointSource], grid: Grid) -> None:
        """Raises CaseError when there is none, or for a source outside the grid."""
        if not sources:
            raise CaseError("no point source given; give at least one")
        species = tuple(dict.fromkeys(source.species for source in sources))
        cells = [_cell(source, grid) for source in sources]
        rates = np.zeros((len(species), 1 + max(level for level, _, _ in cells), *grid.shape[1:]))
        for source, cell in zip(sources, cells, strict=True):
            rates[(species.index(source.species), *cell)] += source.rate
        super().__init__(species, rates)


def _cell(source: PointSource, grid: Grid) -> tuple[int, int, int]:
    """The layer, row and column that hold a source; a face belongs to the cell above, north or east of it."""
    inside = grid.contains(source.lon, source.lat) and source.height <= grid.layer_faces[-1]
    if not inside:
        raise CaseError(
            f"point source of {source.species} at {source.lon:g} E, {source.lat:g} N, {source.height:g} m is "
            f"outside the grid: {grid}, up to {grid.layer_faces[-1]:g} m"
        )
    row, column = grid.cells_at(source.lon, source.lat)
    level = min(int(np.searchsorted(grid.layer_faces, source.height, side="right")), grid.shape[0]) - 1
    return level, int(row), int(column)


class TimedEmissions:
    """Steady emission from a time on, and until another [s since the start]; either may be infinite. A source."""

    def __init__(self, steady: SteadyEmissions, begin: float, end: float) -> None:
        self.species, self.levels = steady.species, steady.levels
        self.changes = tuple(time for time in (begin, end) if np.isfinite(time))
        self._steady, self._begin, self._end = steady, begin, end

    def part(self, window: Window) -> Self:
        """Return the emission of a window's cells; species and levels stay."""
        part = copy(self)
        part._steady = self._steady.part(window)
        return part

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell], shape (species, levels, lat, lon), or nothing before and after; read-only."""
        rate = self._steady.rate(seconds)
        return rate if self._begin <= seconds < self._end else np.broadcast_to(0.0, rate.shape)
