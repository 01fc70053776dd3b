"""The sun over packed columns, by compiled code; its formulas are in ``control.hpp`` and ``air/light.py``."""

from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.kernels.cpu.compiled import keeping_lock
from airshed.kernels.memory import AnyArray, address
from airshed.kernels.step.data import Pair

Array = npt.NDArray[np.float64]


class Sunlight:
    """Fills secant of the zenith angle and light factor [time][lat][block][2][W] of fixed arrays.

    places  [lat][block][3][W] unit vectors to the zenith of each column
    limits  smallest cosine of the zenith angle, light under an overcast sky over it, smallest cosine for that
    """

    def __init__(self, function: Any, places: AnyArray, limits: Array, suns: AnyArray) -> None:
        self._function = keeping_lock(function)
        self._held, self._blocks = (places, limits, suns), places.shape[0] * places.shape[1]
        self._places, self._limits, self._suns = (address(each) for each in self._held)

    def __call__(self, directions: Array, cloud: Pair | None, weights: Array) -> None:
        """Fill them for each direction to the sun (time, 3).

        cloud    packed cover at both ends of an interval, None for a clear sky
        weights  of the second end at each time
        """
        ends = [None, None] if cloud is None else [address(each) for each in cloud]
        self._function(
            self._places, address(directions), *ends, address(weights), len(weights), self._limits, self._blocks,
            self._suns,
        )  # fmt: skip
