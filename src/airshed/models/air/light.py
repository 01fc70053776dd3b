"""Solar radiation: zenith angle, radiation at the ground, and light for photolysis under clouds."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import asin, atan2, cos, degrees, exp, pi, radians, sin
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from airshed.core.arrays import Array
from airshed.core.errors import KernelError
from airshed.kernels.backend import StepKernel
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.kernels.step.arguments import Pair

_J2000 = np.datetime64("2000-01-01T12:00:00", "ns")
_SECONDS_PER_DEGREE = 240.0


def _days_since_2000(when: np.datetime64 | ArrayLike) -> Array:
    """Return days since noon of 1 January 2000 UTC."""
    elapsed = np.asarray(when).astype("datetime64[ns]") - _J2000
    return np.asarray(elapsed / np.timedelta64(1, "D"), dtype=np.float64)


def _sun(days: float) -> tuple[float, float]:
    """Return the declination [rad] and the equation of time [s] at days since noon of 1 January 2000.

    A scalar function: every step of a model needs it, and NumPy would take ten times as long.
    """
    mean_longitude = radians((280.460 + 0.9856474 * days) % 360.0)
    anomaly = radians((357.528 + 0.9856003 * days) % 360.0)
    longitude = mean_longitude + radians(1.915 * sin(anomaly) + 0.020 * sin(2.0 * anomaly))
    obliquity = radians(23.439 - 4e-7 * days)
    right_ascension = atan2(cos(obliquity) * sin(longitude), cos(longitude))
    difference = degrees(mean_longitude - right_ascension)
    return asin(sin(obliquity) * sin(longitude)), _SECONDS_PER_DEGREE * ((difference + 180.0) % 360.0 - 180.0)


def _sun_of_all(days: Array) -> tuple[Array, Array]:
    """Return :func:`_sun` for an array of days of any shape."""
    both = np.array([_sun(each) for each in days.ravel().tolist()]).reshape(*days.shape, 2)
    return both[..., 0], both[..., 1]


def declination(when: np.datetime64 | ArrayLike) -> Array:
    """Return the sun's declination [rad] at UTC times."""
    return _sun_of_all(_days_since_2000(when))[0]


def equation_of_time(when: np.datetime64 | ArrayLike) -> Array:
    """Return the equation of time [s], apparent minus mean solar time, at UTC times."""
    return _sun_of_all(_days_since_2000(when))[1]


def hour_angle(when: np.datetime64 | ArrayLike, lon: ArrayLike) -> Array:
    """Return the sun's hour angle [rad] in [-pi, pi) at longitudes [degrees east]; 0 at true noon, > 0 after it.

    ``when`` and ``lon`` broadcast against each other.
    """
    days = _days_since_2000(when)
    utc_seconds = np.mod(days + 0.5, 1.0) * 86400.0
    angle = (utc_seconds + _sun_of_all(days)[1]) / _SECONDS_PER_DEGREE - 180.0 + np.asarray(lon, dtype=np.float64)
    return np.asarray(np.radians(np.mod(angle + 180.0, 360.0) - 180.0))


def sun_over(when: np.datetime64) -> tuple[float, float]:
    """Return the latitude and longitude [rad] of the subsolar point at a UTC time.

    The latitude is the declination, the longitude minus the hour angle at Greenwich. The hour angle at a location is
    its longitude minus that of the subsolar point.
    """
    days = float((when.astype("datetime64[ns]") - _J2000) / np.timedelta64(1, "D"))
    declination, ahead = _sun(days)
    return declination, pi - radians(((days + 0.5) % 1.0 * 86400.0 + ahead) / _SECONDS_PER_DEGREE)


def cos_zenith(when: np.datetime64 | ArrayLike, lon: ArrayLike, lat: ArrayLike) -> Array:
    """Return the cosine of the solar zenith angle [1], negative when the sun is below the horizon.

    cos(z) = sin(lat) sin(dec) + cos(lat) cos(dec) cos(hour angle)

    reads  when      UTC
           lon, lat  [degrees], broadcast against each other
    """
    phi = np.radians(np.asarray(lat, dtype=np.float64))
    delta, angle = declination(when), hour_angle(when, lon)
    return np.asarray(np.sin(phi) * np.sin(delta) + np.cos(phi) * np.cos(delta) * np.cos(angle))


def day_length(when: np.datetime64 | ArrayLike, lat: ArrayLike) -> Array:
    """Return the time [s] from geometric sunrise to sunset at latitudes [degrees north]: 0 to 86400.

    86400 / pi * arccos(- tan(lat) tan(dec)), without refraction and the sun's radius (about +8 minutes at 50 degrees)
    """
    phi = np.radians(np.clip(np.asarray(lat, dtype=np.float64), -89.999999, 89.999999))
    cosine = -np.tan(phi) * np.tan(declination(when))
    return np.asarray(86400.0 / np.pi * np.arccos(np.clip(cosine, -1.0, 1.0)))


def global_radiation(cos_zenith: Array, cloud_cover: Array) -> Array:
    """Return the global radiation at the ground.

    G = max(0, 910 cos z - 30) (1 - 0.75 n^3.4)

    reads    cos_zenith [1], cloud_cover [1], of one shape
    returns  same shape [W m-2]
    source   Kasten & Czeplak 1980, Solar Energy 24, 177-189 (Hamburg, ten years)
    """
    clear = np.maximum(910.0 * np.asarray(cos_zenith) - 30.0, 0.0)
    return np.asarray(clear * (1.0 - 0.75 * np.clip(cloud_cover, 0.0, 1.0) ** 3.4))


def photon_flux(cos_zenith: Array, cloud_cover: Array) -> Array:
    """Return the photosynthetic photon flux (400 to 700 nm) at the ground.

    Q = 4.57 umol/J * 0.45 G

    reads    cos_zenith [1], cloud_cover [1], of one shape
    returns  same shape [umol m-2 s-1]
    source   McCree 1972, Agric. Meteorol. 10, 443-453: photons per energy; Papaioannou et al. 1993, Theor. Appl.
             Climatol. 48, 23-27, and others: the fraction of 0.45
    """
    return 4.57 * 0.45 * global_radiation(cos_zenith, cloud_cover)


class Light:
    """Zenith angles of columns at times since the start of the case [s].

    lon, lat  [degrees], of shapes that broadcast; sine and cosine of the latitude are stored, since every step
              computes the zenith angle
    """

    def __init__(self, lon: AnyArray, lat: AnyArray, start: datetime, *, clouds: bool) -> None:
        phi = np.radians(np.asarray(lat, dtype=np.float64))
        self._lon, self._clouds = np.radians(np.asarray(lon, dtype=np.float64)), clouds
        self._sine, self._cosine = np.sin(phi), np.cos(phi)
        self._start = np.datetime64(start.replace(tzinfo=None), "ns")

    def cos_zenith(self, seconds: float) -> Array:
        """Return the cosine of the solar zenith angle [1], see :func:`airshed.models.air.light.cos_zenith`."""
        when = self._start + np.timedelta64(round(seconds * 1e9), "ns")
        declination, noon = sun_over(when)
        overhead, aslant = self._sine * sin(declination), self._cosine * cos(declination)
        return np.asarray(overhead + aslant * np.cos(self._lon - noon))

    def secant_and_factor(self, seconds: float, cloud_cover: Array) -> tuple[Array, Array]:
        """Return the secant of the zenith angle [1] and the factor on clear-sky photolysis [1]."""
        cosine = self.cos_zenith(seconds)
        factor = daylight(cosine)
        if self._clouds:
            factor = factor * cloud_factor(cloud_cover, cosine)
        return effective_secant(cosine), factor


class PackedLight:
    """Light over packed columns at each step, in compiled code; :class:`Light` is the reference implementation.

        cos z = n . s,   with the unit vectors n to the zenith and s to the sun

    kernel, layout  of the state;  lon, lat (ny, nx)  [degrees] of its columns
    times           maximum number of times per call
    """

    def __init__(
        self, kernel: StepKernel, layout: Layout, lon: Array, lat: Array, start: datetime, *, clouds: bool,
        times: int = 1,
    ) -> None:  # fmt: skip
        self._clouds = clouds
        east, north = np.radians(lon), np.radians(lat)
        zenith = np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)
        places = replace(layout, dtype=np.float64).pack(zenith)
        suns = layout.empty(times, layout.rows, layout.blocks, 2, layout.width)
        suns[...] = 0.0
        self._suns, self._memory = list(suns), layout.memory
        self._start = np.datetime64(start.replace(tzinfo=None), "ns")
        self._sunlight = kernel.sunlight(places, np.array([SMALLEST_COSINE, OVERCAST, STEEPEST_COSINE]), suns)

    def at(self, times: Sequence[float], cloud: Pair, weights: Sequence[float]) -> list[AnyArray]:
        """Return secant of the zenith angle and light factor [lat][block][2][W] at each time [s].

        The arrays are valid until the next call.

        cloud    packed cloud cover at both ends of an interval [1]
        weights  of the second end, for each time
        raises   KernelError for more times than the buffers hold
        """
        if len(times) > len(self._suns):
            raise KernelError(f"{len(times)} times were requested; the buffers hold {len(self._suns)}")
        suns = (sun_over(self._start + np.timedelta64(round(each * 1e9), "ns")) for each in times)
        directions = np.array([(cos(lat) * cos(lon), cos(lat) * sin(lon), sin(lat)) for lat, lon in suns])
        self._sunlight(directions, cloud if self._clouds else None, np.array(weights))
        self._memory.prefetch(self._suns[: len(times)], constant=False)
        return self._suns[: len(times)]


SMALLEST_COSINE: Final = 1e-3
STEEPEST_COSINE: Final = 0.5
_OPTICAL_DEPTH: Final = 20.0
_SCATTER_FORWARD: Final = 0.86
_TRANSMISSION: Final = (5.0 - exp(-_OPTICAL_DEPTH)) / (4.0 + 3.0 * _OPTICAL_DEPTH * (1.0 - _SCATTER_FORWARD))
OVERCAST: Final = 1.6 * _TRANSMISSION  # light under an overcast sky relative to clear sky, over cos z


def daylight(cos_zenith: Array) -> Array:
    """Return 1 where the sun is above the horizon, 0 elsewhere; same shape as ``cos_zenith`` [1]."""
    return np.where(np.asarray(cos_zenith) > 0.0, 1.0, 0.0)


def effective_secant(cos_zenith: Array) -> Array:
    """Return sec z, finite also where the sun is at or below the horizon.

    1 / max(cos z, 0.001), which is the secant itself for elevations of at least 0.06 degrees. With it, a exp(-b sec z)
    with b > 0 approaches 0 smoothly at sunrise and sunset.

    reads    cos_zenith [1], any shape
    returns  same shape [1], 1 to 1000
    """
    return np.asarray(1.0 / np.maximum(cos_zenith, SMALLEST_COSINE))


def cloud_factor(cloud_cover: Array, cos_zenith: Array) -> Array:
    """Return the ratio of photolysis below broken cloud to photolysis under a clear sky.

    F = 1 + n (1.6 t cos z - 1),   t = (5 - exp(-tau)) / (4 + 3 tau (1 - 0.86))

    t is the transmission of the cloud, tau its optical depth. Cloud cover n does not determine tau, which is set to 20:
    a layer of stratocumulus of 120 g m-2 liquid water with droplets of 9 um. cos z has the minimum 0.5, the limit of
    the formula. An overcast sky transmits a third to half of the light (sun at 60 and at 40 degrees).

    reads    cloud_cover [1] 0 to 1, cos_zenith [1], broadcast against each other
    returns  [1] above 0
    source   Chang et al. 1987, J. Geophys. Res. 92, 14681-14700, section 3.3
    """
    overcast = OVERCAST * np.maximum(cos_zenith, STEEPEST_COSINE)
    return np.asarray(1.0 + np.clip(cloud_cover, 0.0, 1.0) * (overcast - 1.0))
