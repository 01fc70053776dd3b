"""Where the sun stands: the low-precision formulas of the Astronomical Almanac.

source  Michalsky 1988, Solar Energy 40, 227-235: within 0.01 degrees for the years 1950 to 2050
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_J2000 = np.datetime64("2000-01-01T12:00:00", "ns")
_SECONDS_PER_DEGREE = 240.0


def _days_since_2000(when: np.datetime64 | ArrayLike) -> Array:
    """Return days since noon of 1 January 2000 UTC."""
    elapsed = np.asarray(when).astype("datetime64[ns]") - _J2000
    return np.asarray(elapsed / np.timedelta64(1, "D"), dtype=np.float64)


def _ecliptic(days: Array) -> tuple[Array, Array, Array]:
    """Return mean longitude, ecliptic longitude and obliquity of the ecliptic [rad]."""
    mean_longitude = np.radians(np.mod(280.460 + 0.9856474 * days, 360.0))
    anomaly = np.radians(np.mod(357.528 + 0.9856003 * days, 360.0))
    longitude = mean_longitude + np.radians(1.915 * np.sin(anomaly) + 0.020 * np.sin(2.0 * anomaly))
    return mean_longitude, longitude, np.radians(23.439 - 4e-7 * days)


def _right_ascension(longitude: Array, obliquity: Array) -> Array:
    """Return the sun's right ascension [rad]."""
    return np.asarray(np.arctan2(np.cos(obliquity) * np.sin(longitude), np.cos(longitude)))


def _declination_and_equation_of_time(days: Array) -> tuple[Array, Array]:
    mean_longitude, longitude, obliquity = _ecliptic(days)
    difference = np.degrees(mean_longitude - _right_ascension(longitude, obliquity))
    ahead = _SECONDS_PER_DEGREE * (np.mod(difference + 180.0, 360.0) - 180.0)
    return np.asarray(np.arcsin(np.sin(obliquity) * np.sin(longitude))), np.asarray(ahead)


def declination(when: np.datetime64 | ArrayLike) -> Array:
    """Return the sun's declination [rad] at UTC times."""
    return _declination_and_equation_of_time(_days_since_2000(when))[0]


def equation_of_time(when: np.datetime64 | ArrayLike) -> Array:
    """Return apparent minus mean solar time [s] at UTC times: how far the sundial is ahead of the clock."""
    return _declination_and_equation_of_time(_days_since_2000(when))[1]


def hour_angle(when: np.datetime64 | ArrayLike, lon: ArrayLike) -> Array:
    """Return the sun's hour angle [rad] in [-pi, pi) at longitudes [degrees east]; 0 at true noon, > 0 after it.

    ``when`` and ``lon`` broadcast against each other.
    """
    return sun_position(when, lon)[1]


def sun_position(when: np.datetime64 | ArrayLike, lon: ArrayLike) -> tuple[Array, Array]:
    """Return the declination and the hour angle at longitudes, see :func:`declination` and :func:`hour_angle` [rad]."""
    days = _days_since_2000(when)
    declination, ahead = _declination_and_equation_of_time(days)
    utc_seconds = np.mod(days + 0.5, 1.0) * 86400.0
    degrees = (utc_seconds + ahead) / _SECONDS_PER_DEGREE - 180.0 + np.asarray(lon, dtype=np.float64)
    return declination, np.asarray(np.radians(np.mod(degrees + 180.0, 360.0) - 180.0))


def cos_zenith(when: np.datetime64 | ArrayLike, lon: ArrayLike, lat: ArrayLike) -> Array:
    """Return the cosine of the solar zenith angle [1], below 0 when the sun is under the horizon.

    cos(z) = sin(lat) sin(dec) + cos(lat) cos(dec) cos(hour angle)

    reads  when      UTC
           lon, lat  [degrees], broadcast against each other: ``cos_zenith(when, lon, lat[:, None])`` for a grid
    """
    phi = np.radians(np.asarray(lat, dtype=np.float64))
    delta, angle = sun_position(when, lon)
    return np.asarray(np.sin(phi) * np.sin(delta) + np.cos(phi) * np.cos(delta) * np.cos(angle))


def day_length(when: np.datetime64 | ArrayLike, lat: ArrayLike) -> Array:
    """Return the time [s] from geometric sunrise to sunset at latitudes [degrees north]: 0 to 86400.

    86400 / pi * arccos(- tan(lat) tan(dec)), without refraction and the sun's radius (about +8 minutes at 50 degrees)
    """
    phi = np.radians(np.clip(np.asarray(lat, dtype=np.float64), -89.999999, 89.999999))
    cosine = -np.tan(phi) * np.tan(declination(when))
    return np.asarray(86400.0 / np.pi * np.arccos(np.clip(cosine, -1.0, 1.0)))
