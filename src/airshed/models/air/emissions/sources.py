"""Sources of emission: base class, area and point sources, and the sum of sources."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import CaseError
from airshed.core.text import number
from airshed.grid import Grid
from airshed.grid.regrid import area_in_box
from airshed.grid.window import Window
from airshed.io.timeline import Timeline
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.process.context import Source

HOUR: Final = 3600.0


def hour_of(seconds: float, start: np.datetime64) -> float:
    """Return the beginning of the full hour UTC of a time, both in seconds since the start of the case."""
    late = _late(start)
    return (seconds + late) // HOUR * HOUR - late


def middle_of_hour(seconds: float, start: np.datetime64) -> float:
    """Return the middle of the full hour UTC of a time [s], when the emission of vegetation needs weather."""
    return hour_of(seconds, start) + 0.5 * HOUR


@lru_cache(maxsize=1)
def _late(start: np.datetime64) -> float:
    """Return the time from the last full hour to the start of the case [s]; cached, since every step needs it."""
    return float((start - start.astype("datetime64[h]")) / np.timedelta64(1, "s"))


class CombinedEmissions:
    """Sum of several sources, with all their species and the maximum number of layers."""

    def __init__(self, sources: Sequence[Source]) -> None:
        """Raise CaseError if there is no source."""
        if not sources:
            raise CaseError("no emission source given; give at least one, or None for a run without emission")
        self.sources = tuple(sources)
        self.species = tuple(dict.fromkeys(name for source in self.sources for name in source.species))
        self.levels = max(source.levels for source in self.sources)
        self.changes = sorted({time for source in self.sources for time in source.changes})
        row = {name: index for index, name in enumerate(self.species)}
        self._rows = [[row[name] for name in source.species] for source in self.sources]

    def rate(self, seconds: float) -> NDArray[np.float64]:
        """Return the sum of the rates of all sources [mol/s per cell], shape (species, levels, lat, lon)."""
        rates = [source.rate(seconds) for source in self.sources]
        total = np.zeros((len(self.species), self.levels, *rates[0].shape[2:]))
        for rate, rows, source in zip(rates, self._rows, self.sources, strict=True):
            for of_species, row in zip(rate, rows, strict=True):  # fancy indexing would copy all rows
                total[row, : source.levels] += of_species
        return total


class MappedEmissions:
    """Base class of sources that store the emission of all cells in one array (..., lat, lon).

    kind     name of the kind of source in reports
    changes  increasing times [s] at which the emission changes, in addition to the full hours UTC
    """

    kind = "sources"
    changes: Sequence[float] = ()
    _field: Array
    _notices: list[str]

    def part(self, window: Window) -> Self:
        """Return the emission in a window; species, levels and notes remain those of the whole grid."""
        part = copy(self)
        part._field = np.ascontiguousarray(window.of(self._field))
        part._field.setflags(write=False)
        return part

    def notices(self) -> list[str]:
        """Return the notices of the source before a run, a line each."""
        return list(self._notices)

    def notes(self) -> list[str]:
        """Return the notices, and additional notes for the report."""
        return self.notices()


class SteadyEmissions(MappedEmissions):
    """Constant emission between two times [s since the start]; zero before and after.

    field  [mol/s per cell] of species into the lowest levels, (species, levels, lat, lon)
    """

    def __init__(
        self, species: tuple[str, ...], field: Array, begin: float = -inf, end: float = inf,
        notices: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.species, self.levels, self._begin, self._end = species, field.shape[1], begin, end
        self._notices = list(notices)
        self.changes = tuple(time for time in (begin, end) if isfinite(time))
        self.kind = "releases" if self.changes else self.kind
        self._field = field
        self._field.setflags(write=False)

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell], shape (species, levels, lat, lon); read-only."""
        return self._field if self._begin <= seconds < self._end else np.broadcast_to(0.0, self._field.shape)


@dataclass(frozen=True)
class AreaSource:
    """Constant flux from a rectangle of longitude and latitude [degrees], by species [mol m-2 s-1].

    Raises CaseError for a rectangle without extent and for a rate that is negative or not finite.
    """

    lon: tuple[float, float]
    lat: tuple[float, float]
    rates: Mapping[str, float]

    def __post_init__(self) -> None:
        if not (self.lon[0] < self.lon[1] <= self.lon[0] + 360.0 and -90.0 <= self.lat[0] < self.lat[1] <= 90.0):
            raise CaseError(
                f"area source {self.lon} E, {self.lat} N: the rectangle has no extent, or invalid latitudes"
            )
        for species, rate in self.rates.items():
            if not (isfinite(rate) and rate >= 0.0):
                raise CaseError(f"area source of {species}: its rate is {rate:g}; give a number of 0 or more")

    @property
    def area(self) -> float:
        """The area of the rectangle [m2]."""
        (west, east), (south, north) = np.radians(self.lon), np.radians(self.lat)
        return float(EARTH_RADIUS**2 * (east - west) * (np.sin(north) - np.sin(south)))

    def __str__(self) -> str:
        return f"area source {self.lon[0]:g} to {self.lon[1]:g} E, {self.lat[0]:g} to {self.lat[1]:g} N"


class AreaEmissions(SteadyEmissions):
    """Emission of area sources into the lowest layer; overlapping sources are added.

    The emission of a rectangle is distributed to cells by area; the part outside the grid is cut.
    """

    kind = "area sources"

    def __init__(self, sources: Sequence[AreaSource], grid: Grid) -> None:
        """Raise CaseError if there is no source, or a source is entirely outside the grid."""
        if not sources:
            raise CaseError("no area source given; give at least one")
        species = tuple(dict.fromkeys(species for source in sources for species in source.rates))
        rates = np.zeros((len(species), 1, *grid.shape[1:]))
        notices = []
        for source in sources:
            area, _ = area_in_box(source.lon, source.lat, grid)
            if not area.any():
                raise CaseError(f"{source} lies outside the grid: {grid}")
            outside = 1.0 - float(area.sum()) / source.area
            if outside > 1e-6:
                notices.append(f"{source}: {100.0 * outside:.3g} % of it is outside the area")
            for name, rate in source.rates.items():
                rates[species.index(name), 0] += rate * area
        super().__init__(species, rates, notices=notices)


@dataclass(frozen=True)
class PointSource:
    """Constant point source of a species: location [degrees, m above ground] and rate [mol/s].

    Raises CaseError for a negative or non-finite height or rate.
    """

    species: str
    lon: float
    lat: float
    height: float
    rate: float

    def __post_init__(self) -> None:
        for name, value in (("height", self.height), ("rate", self.rate)):
            if not (isfinite(value) and value >= 0.0):
                raise CaseError(f"point source of {self.species}: its {name} is {value:g}; give a number of 0 or more")


class PointEmissions(SteadyEmissions):
    """Emission of point sources, each into one cell, between two times [s since the start]."""

    kind = "point sources"

    def __init__(self, sources: Sequence[PointSource], grid: Grid, begin: float = -inf, end: float = inf) -> None:
        """Raise CaseError if there is no source, or for a source outside the grid."""
        if not sources:
            raise CaseError("no point source given; give at least one")
        species = tuple(dict.fromkeys(source.species for source in sources))
        cells = [_cell(source, grid) for source in sources]
        rates = np.zeros((len(species), 1 + max(level for level, _, _ in cells), *grid.shape[1:]))
        for source, cell in zip(sources, cells, strict=True):
            rates[(species.index(source.species), *cell)] += source.rate
        super().__init__(species, rates, begin, end)


def _cell(source: PointSource, grid: Grid) -> tuple[int, int, int]:
    """Return layer, row and column of a source; a face belongs to the cell above, north or east of it."""
    if not (grid.contains(source.lon, source.lat) and source.height <= grid.layer_faces[-1]):
        raise CaseError(
            f"point source of {source.species} at {source.lon:g} E, {source.lat:g} N, {number(source.height)} m is "
            f"outside the grid: {grid}, up to {number(grid.layer_faces[-1])} m"
        )
    row, column = grid.cells_at(source.lon, source.lat)
    level = min(int(np.searchsorted(grid.layer_faces, source.height, side="right")), grid.shape[0]) - 1
    return level, int(row), int(column)


class PackedSources:
    """Packed sum of emission sources for the step, computed at the beginning of each period.

    Emission is constant in each period: an hour UTC, or less if a source changes within the hour.

    total  function that sums (..., lat, lon) over the whole area, of which this may be a part
    """

    def __init__(
        self, sources: Sequence[Source], layout: Layout, columns: tuple[int, int], start: np.datetime64,
        total: Callable[[Array], Array],
    ) -> None:  # fmt: skip
        self._sum = CombinedEmissions(sources) if sources else None
        self.species = self._sum.species if self._sum else ()
        self._changes: Sequence[float] = self._sum.changes if self._sum else ()
        self._layout, self._columns, self._start, self._total = layout, columns, start, total
        self._periods = Timeline[tuple[AnyArray, Array]](self, self._build, finish=self._period)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources."""
        return self._sum.sources if self._sum else ()

    def replace(self, sources: Sequence[Source]) -> None:
        """Replace the sources by ones with the same species, levels and changes; raises ValueError for others."""
        new = CombinedEmissions(sources) if sources else None
        if self._sum and (not new or (new.species, list(new.changes)) != (self.species, list(self._changes))):
            raise ValueError("sources can be replaced only by sources with the same species and changes")
        self._sum = new
        self._periods.clear()

    def middles(self, first: float, last: float) -> list[float]:
        """Return the middles of the hours of two times if there are sources: vegetation needs their weather."""
        return [middle_of_hour(each, self._start) for each in (first, last)] if self._sum else []

    def next_change(self, seconds: float) -> float:
        """Return the beginning of the next period [s]; infinity without emission."""
        if not self._sum:
            return np.inf
        later = bisect_right(self._changes, seconds)
        return min([hour_of(seconds, self._start) + HOUR, *self._changes[later : later + 1]])

    def at(self, seconds: float) -> tuple[AnyArray, Array]:
        """Return the packed emission [mol/s] in the period of a time, and its sums by species [mol/s].

        The sums are those of the whole area. Collective.
        """
        return self._periods.of(self.begin_of(seconds))

    def changes_at(self, seconds: float) -> bool:
        """Return True if a period begins at a time [s]."""
        return self._sum is not None and self.begin_of(seconds) == seconds

    def read_ahead(self, seconds: float, pool: Executor | None) -> None:
        """Prefetch the period after the one that holds a time, see :meth:`airshed.io.timeline.Timeline.read_ahead`."""
        self._periods.travel(seconds)
        self._periods.read_ahead(seconds, pool)

    def begin_of(self, seconds: float) -> float:
        """Return the beginning of the period of a time [s]."""
        if self._sum is None:
            return 0.0
        earlier = bisect_right(self._changes, seconds)
        return max([hour_of(seconds, self._start), *self._changes[max(earlier - 1, 0) : earlier]])

    def _period(self, make: Callable[[], tuple[AnyArray, Array]]) -> tuple[AnyArray, Array]:
        packed, columns = self._complete(make)
        return packed, self._total(columns)

    def _complete(self, make: Callable[[], tuple[AnyArray, Array]]) -> tuple[AnyArray, Array]:
        """Return the emission from a function; subclasses with the whole area gather it from all ranks."""
        return make()

    def _build(self, begin: float) -> tuple[AnyArray, Array]:
        """Return the emission from a time on [mol/s]: packed, and by column (species, lat, lon)."""
        rate = self._sum.rate(begin) if self._sum else np.zeros((0, 1, *self._columns))
        packed = self._layout.pack(rate, padding="constant")
        self._layout.memory.prefetch([packed], constant=True)
        return packed, rate.sum(axis=1)
