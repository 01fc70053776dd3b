"""Where the sun stands, and what of its light reaches the ground under cloud, as plants and surfaces see it.

Its place follows the low-precision formulas of the Astronomical Almanac.

source  Michalsky 1988, Solar Energy 40, 227-235: within 0.01 degrees for the years 1950 to 2050
"""

from math import asin, atan2, cos, degrees, pi, radians, sin

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_J2000 = np.datetime64("2000-01-01T12:00:00", "ns")
_SECONDS_PER_DEGREE = 240.0


def _days_since_2000(when: np.datetime64 | ArrayLike) -> Array:
    """Return days since noon of 1 January 2000 UTC."""
    elapsed = np.asarray(when).astype("datetime64[ns]") - _J2000
    return np.asarray(elapsed / np.timedelta64(1, "D"), dtype=np.float64)


def _sun(days: float) -> tuple[float, float]:
    """Return the declination [rad] and the equation of time [s] at days since noon of 1 January 2000.

    Of one time, in plain numbers: every step of a model asks for the sun, and NumPy would take ten times as long.
    """
    mean_longitude = radians((280.460 + 0.9856474 * days) % 360.0)
    anomaly = radians((357.528 + 0.9856003 * days) % 360.0)
    longitude = mean_longitude + radians(1.915 * sin(anomaly) + 0.020 * sin(2.0 * anomaly))
    obliquity = radians(23.439 - 4e-7 * days)
    right_ascension = atan2(cos(obliquity) * sin(longitude), cos(longitude))
    difference = degrees(mean_longitude - right_ascension)
    return asin(sin(obliquity) * sin(longitude)), _SECONDS_PER_DEGREE * ((difference + 180.0) % 360.0 - 180.0)


def _sun_of_all(days: Array) -> tuple[Array, Array]:
    """Return :func:`_sun` of days of any shape."""
    both = np.array([_sun(each) for each in days.ravel().tolist()]).reshape(*days.shape, 2)
    return both[..., 0], both[..., 1]


def declination(when: np.datetime64 | ArrayLike) -> Array:
    """Return the sun's declination [rad] at UTC times."""
    return _sun_of_all(_days_since_2000(when))[0]


def equation_of_time(when: np.datetime64 | ArrayLike) -> Array:
    """Return apparent minus mean solar time [s] at UTC times: how far the sundial is ahead of the clock."""
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
    """Return the latitude and the longitude [rad] over which the sun stands at a UTC time.

    Its declination, and minus the hour angle at Greenwich; the hour angle at a place is its longitude less the sun's.
    """
    days = float((when.astype("datetime64[ns]") - _J2000) / np.timedelta64(1, "D"))
    declination, ahead = _sun(days)
    return declination, pi - radians(((days + 0.5) % 1.0 * 86400.0 + ahead) / _SECONDS_PER_DEGREE)


def cos_zenith(when: np.datetime64 | ArrayLike, lon: ArrayLike, lat: ArrayLike) -> Array:
    """Return the cosine of the solar zenith angle [1], below 0 when the sun is under the horizon.

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
    """Return the solar radiation that reaches the ground.

    G = max(0, 910 cos z - 30) (1 - 0.75 n^3.4)

    reads    cos_zenith [1], cloud_cover [1], of one shape
    returns  same shape [W m-2]
    source   Kasten & Czeplak 1980, Solar Energy 24, 177-189 (Hamburg, ten years)
    """
    clear = np.maximum(910.0 * np.asarray(cos_zenith) - 30.0, 0.0)
    return np.asarray(clear * (1.0 - 0.75 * np.clip(cloud_cover, 0.0, 1.0) ** 3.4))


def photon_flux(cos_zenith: Array, cloud_cover: Array) -> Array:
    """Return the photosynthetically active photons (400 to 700 nm) that reach the ground.

    Q = 4.57 umol/J * 0.45 G

    reads    cos_zenith [1], cloud_cover [1], of one shape
    returns  same shape [umol m-2 s-1]
    source   McCree 1972, Agric. Meteorol. 10, 443-453: photons per energy; Papaioannou et al. 1993, Theor. Appl.
             Climatol. 48, 23-27, and others: the share of 0.45
    """
    return 4.57 * 0.45 * global_radiation(cos_zenith, cloud_cover)
