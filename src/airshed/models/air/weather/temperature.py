"""A temperature profile from date, latitude, hour and humidity, for data that has no temperature."""

import numpy as np
from numpy.typing import NDArray

from airshed.core.saturation import dew_point
from airshed.models.air.solar import declination, equation_of_time
from airshed.models.air.weather.atmosphere import (
    LAPSE_EXPONENT,
    STANDARD_PRESSURE,
    stratospheric_temperature,
)

Array = NDArray[np.float64]

_LATITUDES = np.array([15.0, 30.0, 45.0, 60.0, 75.0])
_ANNUAL_MEAN = np.array([299.65, 294.15, 283.15, 272.15, 263.65])
_ANNUAL_AMPLITUDE = np.array([0.0, 7.0, 11.0, 15.0, 14.5])

SURFACE_RELATIVE_HUMIDITY = 0.77
"""Mean relative humidity of surface air (Manabe & Wetherald 1967)."""

DIURNAL_DEPTH = 5000.0
"""Pressure depth over which the daily wave of temperature falls by e, about 400 m [Pa]."""

_LAND_AMPLITUDE = 5.0
_SEA_AMPLITUDE = 0.3
_HOUR_OF_MAXIMUM = 14.5


def sea_level_temperature(when: np.datetime64, lat: Array) -> Array:
    """Return the zonal mean temperature at sea level [K] by date and latitude [degrees north].

    T = mean(lat) - amplitude(lat) cos(2 pi (day - 28) / 365.25), tables at 15, 30 ... 75 degrees, linear between them,
    the southern half-year later
    source  Collins & Langley 1999, UNB Technical Report 203 (the UNB3 model), from the U.S. Standard Atmosphere
            Supplements 1966
    """
    date = when.astype("datetime64[ns]")
    day = (date - date.astype("datetime64[Y]")) / np.timedelta64(1, "D") + 1.0
    phase = np.where(lat < 0.0, 28.0 + 0.5 * 365.25, 28.0)
    mean = np.interp(np.abs(lat), _LATITUDES, _ANNUAL_MEAN)
    amplitude = np.interp(np.abs(lat), _LATITUDES, _ANNUAL_AMPLITUDE)
    return np.asarray(mean - amplitude * np.cos(2.0 * np.pi * (day - phase) / 365.25))


def temperature_of_humidity(water_vapour: Array, pressure: Array) -> Array:
    """Return the temperature [K], reduced to 1013.25 hPa, at which near-ground air has the mean relative humidity.

    The dew point of e / 0.77, brought to sea level with the standard lapse rate: an estimate that knows the air mass.
    """
    local = dew_point(water_vapour * pressure / SURFACE_RELATIVE_HUMIDITY)
    return np.asarray(local * (STANDARD_PRESSURE / pressure) ** LAPSE_EXPONENT)


def fit_plane(values: Array, lat: Array, lon: Array) -> Array:
    """Return the least-squares plane a + b lat + c lon of values (lat, lon): the large-scale part of a field."""
    north, east = lat[:, None] - lat.mean(), lon - lon.mean()
    # on rows and columns the three parts of the plane are orthogonal: each coefficient comes by itself
    by_north, by_east = (
        np.sum(values * along) / max(np.sum(np.broadcast_to(along, values.shape) ** 2), 1e-300)
        for along in (north, east)
    )
    return np.asarray(values.mean() + by_north * north + by_east * east)


def diurnal_wave(when: np.datetime64, lat: Array, lon: Array, land_fraction: Array) -> Array:
    """Return the deviation of the surface temperature from its daily mean [K], (lat, lon).

    A cos(2 pi (h - 14.5) / 24) with h the true solar hour; A = 5 K over land and 0.3 K over sea, each times the sine
    of the sun's elevation at noon: the first harmonic of the daily wave, with the range of 10 K that mid-latitude
    land shows under half-clouded skies.
    """
    date = when.astype("datetime64[ns]")
    utc_hour = (date - date.astype("datetime64[D]")) / np.timedelta64(1, "h")
    solar_hour = utc_hour + lon / 15.0 + float(equation_of_time(when)) / 3600.0
    noon = np.maximum(np.cos(np.radians(lat) - float(declination(when))), 0.0)[:, None]
    amplitude = (_LAND_AMPLITUDE * land_fraction + _SEA_AMPLITUDE * (1.0 - land_fraction)) * noon
    return np.asarray(amplitude * np.cos(2.0 * np.pi * (solar_hour - _HOUR_OF_MAXIMUM) / 24.0)[None, :])


def temperature_profile(
    pressure: Array, surface_pressure: Array, sea_level: Array, near_ground: Array, water_vapour: Array
) -> Array:
    """Return temperature [K] at pressures (level, lat, lon) [Pa].

    T = max( T0 (p / 1013.25 hPa)^0.190, Ts(p) ) + T' exp( -(ps - p) / 50 hPa ), and not below the dew point; the first
    term is the standard lapse rate of 6.5 K/km in pressure, Ts the standard stratosphere: 216.65 K up to 20 km.

    reads  sea_level    [K]  T0, (lat, lon)
           near_ground  [K]  T', the deviation at the ground from the first term, (lat, lon)
    """
    depth = np.asarray(surface_pressure - pressure)
    np.maximum(depth, 0.0, out=depth)
    depth /= -DIURNAL_DEPTH
    profile = np.exp(depth, out=depth)
    profile *= near_ground
    profile += standard_lapse(sea_level, pressure)
    return np.maximum(profile, dew_point(water_vapour * pressure), out=profile)


def standard_lapse(sea_level: Array, pressure: Array) -> Array:
    """Return max(T0 (p / 1013.25 hPa)^0.190, T of the standard stratosphere) [K]: 216.65 K up to 20 km."""
    lapse = np.asarray(pressure / STANDARD_PRESSURE)
    np.power(lapse, LAPSE_EXPONENT, out=lapse)
    lapse *= sea_level
    return np.maximum(lapse, stratospheric_temperature(pressure), out=lapse)
