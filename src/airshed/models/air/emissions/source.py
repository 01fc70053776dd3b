"""Sources of emission: the sum of several, and one that is the same at all times."""

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import CaseError
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
