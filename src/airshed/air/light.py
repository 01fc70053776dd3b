"""The sun over every column of the grid, as the photolysis functions need it."""

from datetime import datetime

import numpy as np
import numpy.typing as npt

from airshed.air.photolysis import cloud_factor, daylight, effective_secant
from airshed.air.solar import cos_zenith

Array = npt.NDArray[np.float64]
AnyArray = npt.NDArray[np.floating]


class Light:
    """Zenith angles at times counted from the start of the case [s].

    lon, lat  [degrees] of places, of shapes that broadcast: (nlon,) and (nlat, 1) for a grid, or packed ones
    """

    def __init__(self, lon: AnyArray, lat: AnyArray, start: datetime, *, clouds: bool) -> None:
        self._lon, self._lat, self._clouds = lon, lat, clouds
        self._shape = np.broadcast_shapes(lon.shape, lat.shape)
        self._start = np.datetime64(start.replace(tzinfo=None), "ns")

    def cos_zenith(self, seconds: float) -> Array:
        """The cosine of the solar zenith angle at the places [1]."""
        when = self._start + np.timedelta64(round(seconds * 1e9), "ns")
        return np.broadcast_to(cos_zenith(when, self._lon, self._lat), self._shape)

    def secant_and_factor(self, seconds: float, cloud_cover: Array) -> tuple[Array, Array]:
        """Secant of the zenith angle [1] and factor on clear-sky photolysis [1] at the places."""
        cosine = self.cos_zenith(seconds)
        factor = daylight(cosine)
        if self._clouds:
            factor = factor * cloud_factor(cloud_cover, cosine)
        return effective_secant(cosine), factor
