"""The sun over every column of the grid, as the photolysis functions need it."""

from datetime import datetime
from math import cos, sin

import numpy as np
import numpy.typing as npt

from airshed.air.photolysis import cloud_factor, daylight, effective_secant
from airshed.air.solar import sun_over

Array = npt.NDArray[np.float64]
AnyArray = npt.NDArray[np.floating]


class Light:
    """Zenith angles at times counted from the start of the case [s].

    lon, lat  [degrees] of places, of shapes that broadcast: (nlon,) and (nlat, 1) for a grid; the sine and cosine of
              the latitude are kept, as every step asks for the sun
    """

    def __init__(self, lon: AnyArray, lat: AnyArray, start: datetime, *, clouds: bool) -> None:
        phi = np.radians(np.asarray(lat, dtype=np.float64))
        self._lon, self._clouds = np.radians(np.asarray(lon, dtype=np.float64)), clouds
        self._sine, self._cosine = np.sin(phi), np.cos(phi)
        self._start = np.datetime64(start.replace(tzinfo=None), "ns")

    def cos_zenith(self, seconds: float) -> Array:
        """The cosine of the solar zenith angle at the places [1], see :func:`airshed.air.solar.cos_zenith`."""
        when = self._start + np.timedelta64(round(seconds * 1e9), "ns")
        declination, noon = sun_over(when)
        overhead, aslant = self._sine * sin(declination), self._cosine * cos(declination)
        return np.asarray(overhead + aslant * np.cos(self._lon - noon))

    def secant_and_factor(self, seconds: float, cloud_cover: Array) -> tuple[Array, Array]:
        """Secant of the zenith angle [1] and factor on clear-sky photolysis [1] at the places."""
        cosine = self.cos_zenith(seconds)
        factor = daylight(cosine)
        if self._clouds:
            factor = factor * cloud_factor(cloud_cover, cosine)
        return effective_secant(cosine), factor
