"""Emission that is the same at all times: what area and point sources have in common."""

from copy import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from airshed.grid.window import Window

Array = NDArray[np.float64]


class SteadyEmissions:
    """Emission [mol/s per cell] of species into the lowest levels, (species, levels, lat, lon); a source."""

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
