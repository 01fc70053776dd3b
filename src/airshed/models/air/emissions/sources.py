"""Sources of emission: steady ones of areas and points, for a time or always, the base of others, and their sum."""

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
from airshed.grid import Grid
from airshed.grid.regrid import area_in_box
from airshed.grid.window import Window
from airshed.io.timeline import Timeline
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.process.context import Source

HOUR: Final = 3600.0


def hour_of(seconds: float, start: np.datetime64) -> float:
    """Return when the full hour UTC began that holds a time, both in seconds since the start of the case."""
    late = _late(start)
    return (seconds + late) // HOUR * HOUR - late


def middle_of_hour(seconds: float, start: np.datetime64) -> float:
    """Return the middle of the full hour UTC that holds a time [s]: vegetation needs the weather of then."""
    return hour_of(seconds, start) + 0.5 * HOUR


@lru_cache(maxsize=1)
def _late(start: np.datetime64) -> float:
    """How long after a full hour the case starts [s]; every step asks."""
    return float((start - start.astype("datetime64[h]")) / np.timedelta64(1, "s"))


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


class MappedEmissions:
    """Source that holds the emission of every cell of the grid in one array (..., lat, lon); base of most sources.

    kind     what it is, in words of reports
    changes  the rising times [s] at which the emission changes beside the full hours UTC
    """

    kind = "sources"
    changes: Sequence[float] = ()
    _field: Array
    _notices: list[str]

    def part(self, window: Window) -> Self:
        """Return the emission of a window's cells; species, levels and notes stay those of the whole grid."""
        part = copy(self)
        part._field = np.ascontiguousarray(window.of(self._field))
        part._field.setflags(write=False)
        return part

    def notices(self) -> list[str]:
        """Return what to know of the source before a run, a line each."""
        return list(self._notices)

    def notes(self) -> list[str]:
        """Return the notices, and what else a report should say of the source."""
        return self.notices()


class SteadyEmissions(MappedEmissions):
    """Emission that is the same from a time on, and until another [s since the start]; nothing before and after.

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
            if not (isfinite(rate) and rate >= 0.0):
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

    kind = "area sources"

    def __init__(self, sources: Sequence[AreaSource], grid: Grid) -> None:
        """Raises CaseError when there is none, or when no part of one lies in the grid."""
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
                notices.append(f"{source}: {100.0 * outside:.3g} % of it lies outside the area")
            for name, rate in source.rates.items():
                rates[species.index(name), 0] += rate * area
        super().__init__(species, rates, notices=notices)


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
            if not (isfinite(value) and value >= 0.0):
                raise CaseError(f"point source of {self.species}: its {name} is {value:g}; give a number of 0 or more")


class PointEmissions(SteadyEmissions):
    """The emission of point sources, each into the one cell that holds it, between two times [s since the start]."""

    kind = "point sources"

    def __init__(self, sources: Sequence[PointSource], grid: Grid, begin: float = -inf, end: float = inf) -> None:
        """Raises CaseError when there is none, or for a source outside the grid."""
        if not sources:
            raise CaseError("no point source given; give at least one")
        species = tuple(dict.fromkeys(source.species for source in sources))
        cells = [_cell(source, grid) for source in sources]
        rates = np.zeros((len(species), 1 + max(level for level, _, _ in cells), *grid.shape[1:]))
        for source, cell in zip(sources, cells, strict=True):
            rates[(species.index(source.species), *cell)] += source.rate
        super().__init__(species, rates, begin, end)


def _cell(source: PointSource, grid: Grid) -> tuple[int, int, int]:
    """The layer, row and column that hold a source; a face belongs to the cell above, north or east of it."""
    if not (grid.contains(source.lon, source.lat) and source.height <= grid.layer_faces[-1]):
        raise CaseError(
            f"point source of {source.species} at {source.lon:g} E, {source.lat:g} N, {source.height:g} m is "
            f"outside the grid: {grid}, up to {grid.layer_faces[-1]:g} m"
        )
    row, column = grid.cells_at(source.lon, source.lat)
    level = min(int(np.searchsorted(grid.layer_faces, source.height, side="right")), grid.shape[0]) - 1
    return level, int(row), int(column)


class PackedSources:
    """The sum of emission sources as the step reads it, renewed at the beginning of each period.

    Emission is constant in each period: an hour UTC, or less where a source changes inside it.

    total  sums up (..., lat, lon) over the whole area, of which this may be a part
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
        """The sources that are summed up."""
        return self._sum.sources if self._sum else ()

    def replace(self, sources: Sequence[Source]) -> None:
        """Take other sources with the species, levels and changes of those of now; raises ValueError for others."""
        new = CombinedEmissions(sources) if sources else None
        if self._sum and (not new or (new.species, list(new.changes)) != (self.species, list(self._changes))):
            raise ValueError("sources can be replaced by ones of the same species and changes alone")
        self._sum = new
        self._periods.clear()

    def middles(self, first: float, last: float) -> list[float]:
        """The middles of the hours that hold two times, where something is emitted: vegetation needs their weather."""
        return [middle_of_hour(each, self._start) for each in (first, last)] if self._sum else []

    def next_change(self, seconds: float) -> float:
        """The beginning of the next period [s]; infinity where nothing is emitted."""
        if not self._sum:
            return np.inf
        later = bisect_right(self._changes, seconds)
        return min([hour_of(seconds, self._start) + HOUR, *self._changes[later : later + 1]])

    def at(self, seconds: float) -> tuple[AnyArray, Array]:
        """Return the packed emission [mol/s] of the period that holds the time, and its sums by species [mol/s].

        The sums are those of the whole area: all ranks call this together.
        """
        return self._periods.of(self.begin_of(seconds))

    def changes_at(self, seconds: float) -> bool:
        """Whether a period begins at a time [s]."""
        return self._sum is not None and self.begin_of(seconds) == seconds

    def read_ahead(self, seconds: float, pool: Executor | None) -> None:
        """Prefetch the period after the one that holds a time, see :meth:`airshed.io.timeline.Timeline.read_ahead`."""
        self._periods.travel(seconds)
        self._periods.read_ahead(seconds, pool)

    def begin_of(self, seconds: float) -> float:
        """When the period began that holds a time [s]."""
        if self._sum is None:
            return 0.0
        earlier = bisect_right(self._changes, seconds)
        return max([hour_of(seconds, self._start), *self._changes[max(earlier - 1, 0) : earlier]])

    def _period(self, make: Callable[[], tuple[AnyArray, Array]]) -> tuple[AnyArray, Array]:
        packed, columns = self._complete(make)
        return packed, self._total(columns)

    def _complete(self, make: Callable[[], tuple[AnyArray, Array]]) -> tuple[AnyArray, Array]:
        """Return an emission that a function makes; ranks with the whole area gather it here."""
        return make()

    def _build(self, begin: float) -> tuple[AnyArray, Array]:
        """Return the emission from a time on [mol/s]: packed, and of whole columns (species, lat, lon)."""
        rate = self._sum.rate(begin) if self._sum else np.zeros((0, 1, *self._columns))
        return self._layout.pack(rate, padding="constant"), rate.sum(axis=1)
