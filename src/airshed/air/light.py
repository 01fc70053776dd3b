"""The sun over every column of the grid, as the photolysis functions need it."""

from datetime import datetime

import numpy as np
import numpy.typing as npt

from airshed.air.photolysis import cloud_factor, daylight, effective_secant
from airshed.air.solar import cos_zenith
from airshed.grid import Grid

Array = npt.NDArray[np.float64]


class Light:
    """Zenith angles at times counted from the start of the case [s]."""

    def __init__(self, grid: Grid, start: datetime, *, clouds: bool) -> None:
        self._lon, self._lat, self._clouds = grid.lon, grid.lat[:, None], clouds
        self._start = np.datetime64(start.replace(tzinfo=None), "ns")

    def cos_zenith(self, seconds: float) -> Array:
        """The cosine of the solar zenith angle (lat, lon) [1]."""
        when = self._start + np.timedelta64(round(seconds * 1e9), "ns")
        return np.broadcast_to(cos_zenith(when, self._lon, self._lat), (self._lat.size, self._lon.size))

    def sun(self, seconds: float, cloud_cover: Array) -> Array:
        """Secant of the zenith angle [1] and factor on clear-sky photolysis [1]: (2, lat, lon)."""
        cosine = self.cos_zenith(seconds)
        factor = daylight(cosine)
        if self._clouds:
            factor = factor * cloud_factor(cloud_cover, cosine)
        return np.stack([effective_secant(cosine), factor])
