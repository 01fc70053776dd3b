"""What every emission source looks like to the air model, and the sum of several of them."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import CaseError
from airshed.grid.window import Window


class EmissionSource(Protocol):
    """Something that emits; an inventory, biogenic emission, a gridded file and a single stack all look like this."""

    @property
    def species(self) -> tuple[str, ...]:
        """The model species that this source emits, in the order of the first axis of :meth:`rate`."""
        ...

    @property
    def levels(self) -> int:
        """The number of lowest model layers that receive emission."""
        ...

    def rate(self, seconds: float) -> NDArray[np.float64]:
        """Emission [mol/s per cell], shape (species, levels, lat, lon), constant in the hour UTC or between `changes`.

        ``seconds`` counts from the start of the case; before it is negative. The caller must not write to the array.
        """
        ...

    @property
    def changes(self) -> Sequence[float]:
        """The rising times [s] at which the emission changes beside the full hours UTC."""
        ...


class MappedSource(EmissionSource, Protocol):
    """A source that knows its emission in every cell of the whole grid."""

    def part(self, window: Window) -> EmissionSource:
        """The emission of a window's cells."""
        ...


class CombinedEmissions:
    """The sum of several sources: all their species, as many layers as the highest of them reaches."""

    def __init__(self, sources: Sequence[EmissionSource]) -> None:
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
