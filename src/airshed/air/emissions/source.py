"""The sum of several emission sources."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import CaseError
from airshed.process.release import Source


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
