"""Meteorology of a part of the grid: what one of several ranks needs of the whole."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.weather.state import MetState

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Area:
    """The columns of a grid that a meteorology works on, and those that it is asked for.

    whole   the grid of the case
    window  of it, the columns that are worked on: one more on each side than are asked for, since the density at a face
            is the mean of the cells on both sides
    grid    the part of the whole in that window
    asked   the columns that are asked for, by their numbers in that window
    """

    whole: Grid
    window: Window
    grid: Grid
    asked: Window

    @classmethod
    def of(cls, whole: Grid, window: Window | None) -> "Area":
        """Return the area of a window, or that of the whole grid."""
        everything = Window.whole(*whole.shape[1:])
        asked = everything if window is None else window
        around = asked.grown(1, *whole.shape[1:])
        return cls(whole, around, whole if around == everything else whole.part(around), asked.within(around))

    def cut(self, state: MetState) -> MetState:
        """Return of a state of the columns that were worked on what is asked for."""
        return state.part(self.asked)

    def land(self, given: Array | None) -> Array:
        """Return the land fraction of the columns that are worked on, of that of the whole; None: all is land."""
        return np.ones(self.grid.shape[1:]) if given is None else np.ascontiguousarray(self.window.of(given))
