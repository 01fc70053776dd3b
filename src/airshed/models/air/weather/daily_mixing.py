"""A layer over the ground that the sun mixes by day, for the analytic air of a case without data."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from airshed.grid import Grid
from airshed.models.air.light import Light
from airshed.models.air.weather.series import CheckedSeries
from airshed.models.air.weather.state import Meteorology, MetState
from airshed.models.air.weather.window import Area

Array = npt.NDArray[np.float64]

_HOUR = 3600.0
_PEAK = 27.0 / 4.0
"""Makes 1 of the largest s (1 - s)^2, which lies at s = 1/3."""
_LEAST_DEPTH = 1e-3
"""[m] Below the lowest face between layers: such a layer mixes nothing."""


class DailyMixing(CheckedSeries):
    """Steady air with a turbulent layer that follows the sun over each column; new at every hour, linear in between.

        K(z) = K0 + K1 c 27/4 s (1 - s)^2,   s = z / (depth c) < 1,   c = max(cos zenith angle, 0)

    with K0 the diffusivity of ``base``; the profile is that of O'Brien 1970, J. Atmos. Sci. 27, 1213-1215, with
    nothing left at its top. It depends on place and time alone: a part of the grid has the bits of the whole.

    base   the steady air of ``grid``, which may be a part of a case's
    depth  [m] of the layer under a sun that stands overhead;  largest  [m2/s] its K1
    last   [s] since the start, the end of the time for which instants are made
    """

    def __init__(
        self, base: Meteorology, grid: Grid, light: Light, *, depth: float, largest: float, last: float
    ) -> None:  # fmt: skip
        self._base, self._light, self._depth, self._largest = base, light, depth, largest
        self._heights = grid.layer_faces[1:-1, None, None]
        count = int(np.ceil(last / _HOUR))
        text = f"diagnosed: up to {largest:g} m2/s in a layer of up to {depth:g} m that follows the sun"
        super().__init__(
            tuple(_HOUR * hour for hour in range(count + 1)), Area.of(grid, None), self._state,
            {**base.provenance, "diffusivity": text},
        )  # fmt: skip

    def _state(self, hour: int) -> MetState:
        """Return the air at a full hour since the start."""
        steady = self._base.at(_HOUR * hour)
        height = np.maximum(self._light.cos_zenith(_HOUR * hour), 0.0)
        diffusivity = steady.diffusivity.copy()
        diffusivity[1:-1] += self._largest * height * mixing_profile(self._heights, self._depth * height)
        layer = np.maximum(steady.boundary_layer_height, self._depth * height)
        return replace(steady, diffusivity=diffusivity, boundary_layer_height=layer)


def mixing_profile(heights: Array, depth: Array) -> Array:
    """Return 27/4 s (1 - s)^2 with s = height / depth [1], 0 from the depth up: 1 at a third of it."""
    part = np.minimum(heights / np.maximum(depth, _LEAST_DEPTH), 1.0)
    return np.asarray(_PEAK * part * (1.0 - part) ** 2)
