"""Single sources: a chimney, or the release of a tracer."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import CaseError
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.emissions.source import SteadyEmissions

Array = NDArray[np.float64]


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
