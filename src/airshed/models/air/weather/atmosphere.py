"""Moist air, the standard atmosphere, a temperature profile for data without temperature, and cloud."""

from collections.abc import Callable

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import (
    GAS_CONSTANT,
    GAS_CONSTANT_DRY_AIR,
    GRAVITY,
    MOLAR_MASS_DRY_AIR,
    MOLAR_MASS_WATER,
)
from airshed.core.saturation import SATURATION_AT_FREEZING, dew_point, saturation_exponent, saturation_vapour_pressure
from airshed.kernels.one_pass import one_pass
from airshed.models.air.light import declination, equation_of_time

STANDARD_TEMPERATURE = 288.15
"""Temperature of the standard atmosphere at sea level [K] (ISO 2533)."""
STANDARD_PRESSURE = 101325.0
"""Pressure of the standard atmosphere at sea level [Pa] (ISO 2533)."""
LAPSE_RATE = 6.5e-3
"""Lapse rate of the standard troposphere [K/m] (ISO 2533)."""
TROPOPAUSE_TEMPERATURE = 216.65
"""Temperature of the standard atmosphere from 11 km to 20 km [K] (ISO 2533)."""
LAPSE_EXPONENT = LAPSE_RATE * GAS_CONSTANT_DRY_AIR / GRAVITY
"""Exponent 0.190 of T ~ p^x in the standard troposphere [1]."""

STANDARD_HEIGHTS = np.array([0.0, 11e3, 20e3, 32e3, 47e3, 51e3, 71e3, 84.852e3])
"""Geopotential heights between which the temperature of the standard atmosphere is linear [m].

Source: U.S. Standard Atmosphere 1976 (NOAA-S/T 76-1562), table 4; up to 32 km identical to ISO 2533. Gravity is
constant in the model, so that its heights are geopotential heights.
"""
STANDARD_TEMPERATURES = np.array([288.15, 216.65, 216.65, 228.65, 270.65, 270.65, 214.65, 186.946])
"""Temperatures at these heights [K], constant above the last one."""

_EPSILON = MOLAR_MASS_WATER / MOLAR_MASS_DRY_AIR


def mole_fraction(specific_humidity: Array) -> Array:
    """Return water vapour [mol/mol of moist air] from specific humidity [kg/kg]: q / (eps + (1 - eps) q)."""
    mass = (1.0 - _EPSILON) * specific_humidity
    mass += _EPSILON
    return np.asarray(specific_humidity / mass)


def molar_mass(water_vapour: Array) -> Array:
    """Return the molar mass of moist air [kg/mol] from its water vapour [mol/mol]."""
    mass = np.asarray((MOLAR_MASS_WATER - MOLAR_MASS_DRY_AIR) * water_vapour)
    mass += MOLAR_MASS_DRY_AIR
    return mass


def virtual_temperature(temperature: Array, water_vapour: Array) -> Array:
    """Return the virtual temperature [K]: T M_dry / M_moist."""
    return np.asarray(temperature * (MOLAR_MASS_DRY_AIR / molar_mass(water_vapour)))


def molar_density(pressure: Array, temperature: Array) -> Array:
    """Return the molar density of air p / (R T) [mol/m3]."""
    return np.asarray(pressure / (GAS_CONSTANT * temperature))


def relative_humidity(
    water_vapour: Array, temperature: Array, pressure: Array,
    saturation: Callable[[Array], Array] = saturation_vapour_pressure,
) -> Array:  # fmt: skip
    """Return the ratio of vapour pressure to saturation vapour pressure [1], by default over water."""
    return np.asarray(water_vapour * pressure / saturation(temperature))


def standard_relative_humidity(pressure: Array, surface_pressure: Array) -> Array:
    """Return 0.77 (p / ps - 0.02) / 0.98 [1], at least 0; source: Manabe & Wetherald 1967, J. Atmos. Sci. 24, 241."""
    return np.asarray(np.maximum(0.77 * (pressure / surface_pressure - 0.02) / 0.98, 0.0))


def standard_water_vapour(pressure: Array, temperature: Array, surface_pressure: Array) -> Array:
    """Return water vapour [mol/mol] at the standard relative humidity, at least 3 ppm as in the stratosphere."""
    vapour = standard_relative_humidity(pressure, surface_pressure) * saturation_vapour_pressure(temperature)
    return np.asarray(np.maximum(vapour / pressure, 3e-6))


def standard_temperature(height: Array) -> Array:
    """Return the temperature [K] of the standard atmosphere at geopotential heights [m], by linear interpolation.

    source  U.S. Standard Atmosphere 1976
    """
    return np.asarray(np.interp(height, STANDARD_HEIGHTS, STANDARD_TEMPERATURES))


def standard_pressure(height: Array) -> Array:
    """Return the pressure [Pa] of the standard atmosphere at geopotential heights [m].

    In each layer p = pb (T / Tb)^(-g / (R G)) with the temperature gradient G, or pb exp(-g (z - zb) / (R Tb)) in
    isothermal layers. source  U.S. Standard Atmosphere 1976
    """
    pressure = np.full(np.shape(height), STANDARD_PRESSURE)
    tops = np.append(STANDARD_HEIGHTS[1:], np.inf)
    gradients = np.append(np.diff(STANDARD_TEMPERATURES) / np.diff(STANDARD_HEIGHTS), 0.0)
    for base, top, kelvin, gradient in zip(STANDARD_HEIGHTS, tops, STANDARD_TEMPERATURES, gradients, strict=True):
        depth = np.clip(height, base, top) - base
        if gradient:
            pressure *= (1.0 + gradient * depth / kelvin) ** (-GRAVITY / (GAS_CONSTANT_DRY_AIR * gradient))
        else:
            pressure *= np.exp(-GRAVITY * depth / (GAS_CONSTANT_DRY_AIR * kelvin))
    return pressure


def stratospheric_temperature(pressure: Array) -> Array | float:
    """Return the temperature [K] of the standard atmosphere above 11 km at pressures [Pa], 216.65 K below."""
    nodes = standard_pressure(STANDARD_HEIGHTS)
    if not pressure.size or pressure.min() >= nodes[2]:
        return TROPOPAUSE_TEMPERATURE
    # ln T is linear in ln p where T is linear in height
    logs = np.interp(-np.log(pressure), -np.log(nodes[1:]), np.log(STANDARD_TEMPERATURES[1:]))
    return np.asarray(np.where(pressure >= nodes[2], TROPOPAUSE_TEMPERATURE, np.exp(logs)))


def inverse_scale_height(virtual: Array) -> Array:
    """Return g / (R_dry Tv) [1/m]: - d ln p / dz of air at rest."""
    return np.asarray(GRAVITY / (GAS_CONSTANT_DRY_AIR * virtual))


def hypsometric_heights(pressure: Array, inverse: Array, surface_pressure: Array) -> Array:
    """Return the heights above ground [m] of levels, from the ground up, by the hypsometric equation.

    z(k) - z(k-1) = ln(p(k-1) / p(k)) / mean(g / (R Tv)), with Tv of the first level below it. Integration of
    g / (R Tv), linear in height between the levels, then reproduces their pressures exactly.

    reads  pressure [Pa], decreasing, inverse: g / (R Tv) [1/m]  (level, ...);  surface_pressure [Pa] (...)
    """
    rises = np.empty_like(inverse)
    np.divide(pressure[:-1], pressure[1:], out=rises[1:])
    np.divide(surface_pressure, pressure[0], out=rises[0, ...])
    np.log(rises, out=rises)
    mean = inverse[1:] + inverse[:-1]
    mean *= 0.5
    rises[1:] /= mean
    rises[0] /= inverse[0]
    np.cumsum(rises[1:], axis=0, out=rises[1:])
    rises[1:] += rises[0]
    return rises


def hydrostatic_density(face_pressure: Array, water_vapour: Array, thickness: Array) -> Array:
    """Return the molar density (p_below - p_above) / (g M dz) [mol/m3] of layers from pressures [Pa] at their faces.

    The mass of a column is (p_ground - p_top) / g to round-off.
    """
    density = face_pressure[:-1] - face_pressure[1:]
    density /= GRAVITY * thickness[:, None, None]
    density /= molar_mass(water_vapour)
    return density


_LATITUDES = np.array([15.0, 30.0, 45.0, 60.0, 75.0])
_ANNUAL_MEAN = np.array([299.65, 294.15, 283.15, 272.15, 263.65])
_ANNUAL_AMPLITUDE = np.array([0.0, 7.0, 11.0, 15.0, 14.5])

SURFACE_RELATIVE_HUMIDITY = 0.77
"""Mean relative humidity of surface air (Manabe & Wetherald 1967)."""

DIURNAL_DEPTH = 5000.0
"""Pressure depth over which the diurnal temperature wave decreases by a factor e, about 400 m [Pa]."""

_LAND_AMPLITUDE = 5.0
_SEA_AMPLITUDE = 0.3
_HOUR_OF_MAXIMUM = 14.5


def sea_level_temperature(when: np.datetime64, lat: Array) -> Array:
    """Return the zonal mean temperature at sea level [K] by date and latitude [degrees north].

    T = mean(lat) - amplitude(lat) cos(2 pi (day - 28) / 365.25), tables at 15, 30 ... 75 degrees, linear between them;
    shifted by half a year in the south
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

    It is the dew point of e / 0.77, reduced to sea level with the standard lapse rate: an estimate for the air mass.
    """
    local = dew_point(water_vapour * pressure / SURFACE_RELATIVE_HUMIDITY)
    return np.asarray(local * (STANDARD_PRESSURE / pressure) ** LAPSE_EXPONENT)


def fit_plane(values: Array, lat: Array, lon: Array) -> Array:
    """Return the least-squares plane a + b lat + c lon of values (lat, lon): the large-scale part of a field."""
    north, east = lat[:, None] - lat.mean(), lon - lon.mean()
    # on rows and columns the three parts of the plane are orthogonal: coefficients are independent
    by_north, by_east = (
        np.sum(values * along) / max(np.sum(np.broadcast_to(along, values.shape) ** 2), 1e-300)
        for along in (north, east)
    )
    return np.asarray(values.mean() + by_north * north + by_east * east)


def diurnal_wave(when: np.datetime64, lat: Array, lon: Array, land_fraction: Array) -> Array:
    """Return the deviation of the surface temperature from its daily mean [K], (lat, lon).

    A cos(2 pi (h - 14.5) / 24) with the true solar hour h. A is 5 K over land and 0.3 K over sea, times the sine of
    the solar elevation at noon: the first harmonic of the diurnal wave. The range of 10 K is typical for mid-latitude
    land under half-clouded skies.
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

    T = max( T0 (p / 1013.25 hPa)^0.190, Ts(p) ) + T' exp( -(ps - p) / 50 hPa ), at least the dew point. The first term
    is the standard lapse rate of 6.5 K/km in pressure, Ts the standard stratosphere: 216.65 K up to 20 km.

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


_CRITICAL_LAND = 0.75
_CRITICAL_SEA = 0.85
_DEEPEST_FOG = 100.0
_NEARLY_ALL = 1.0 - 1e-9
_TEMPERATURE_ERROR = 3.0
_MIDDLES_OF_FIFTHS = (-1.2816, -0.5244, 0.0, 0.5244, 1.2816)  # of the normal distribution


def cloud_fraction(relative_humidity: Array, land_fraction: Array) -> Array:
    """Return the cloud fraction 1 - sqrt((1 - RH) / (1 - RHc)) of layers [1], with RHc = 0.75 over land, 0.85 over sea.

    source  Sundqvist, Berge & Kristjansson 1989, Mon. Weather Rev. 117, 1641-1657
    """
    critical = _CRITICAL_LAND * land_fraction + _CRITICAL_SEA * (1.0 - land_fraction)
    dryness = (1.0 - relative_humidity) / (1.0 - critical)
    return 1.0 - np.sqrt(np.minimum(np.maximum(dryness, 0.0), 1.0))  # a form that kernels.one_pass compiles


def total_cover(fraction: Array) -> Array:
    """Return the total cover of layers (level, ...) with maximum-random overlap.

    1 - product over k of (1 - max(c(k), c(k-1))) / (1 - c(k-1))
    source  Geleyn & Hollingsworth 1979, Beitr. Phys. Atmos. 52, 1-16
    """
    clear = 1.0 - np.clip(fraction[0], 0.0, _NEARLY_ALL)
    for gap in _gaps(fraction[1:], fraction[:-1]):
        clear *= gap
    return np.asarray(np.clip(1.0 - clear, 0.0, 1.0))


@one_pass
def _gaps(here: Array, below: Array) -> Array:
    here, below = (np.minimum(np.maximum(each, 0.0), _NEARLY_ALL) for each in (here, below))
    return (1.0 - np.maximum(here, below)) / (1.0 - below)


def diagnosed_cover(relative_humidity: Array, heights: Array, land_fraction: Array) -> Array:
    """Return the total cover of the layers above 100 m (level, lat, lon): moist air at the ground is not cloud."""
    return total_cover(cloud_fraction(relative_humidity[_with_cloud(heights)], land_fraction))


def possible_covers(
    water_vapour: Array, temperature: Array, pressure: Array, heights: Array, land_fraction: Array
) -> Array:
    """Return five equally likely total covers for an estimated temperature: (5, lat, lon).

    Their temperatures are T + 3 K times the centres of the quintiles of the normal distribution; 3 K is about the
    standard deviation of air aloft in summer from the mean of season and latitude. A single estimate would give a cover
    of 0 or 1 almost everywhere, with unrealistic edges in light, heat and mixing.

    reads  water_vapour [mol/mol], temperature [K], pressure [Pa]  (level, lat, lon);  heights [m]  (level,)
    """
    layers = _with_cloud(heights)
    offsets = _TEMPERATURE_ERROR * np.array(_MIDDLES_OF_FIFTHS)[:, None, None]
    exponent = _exponent(temperature[layers, None], offsets)  # (level, 5, lat, lon)
    exponential = np.exp(exponent, out=exponent)
    vapour_pressure = water_vapour[layers, None] * pressure[layers, None]
    return total_cover(_fraction(vapour_pressure, exponential, land_fraction))


@one_pass
def _exponent(temperature: Array, offset: Array) -> Array:
    return saturation_exponent(temperature + offset)


@one_pass
def _fraction(vapour_pressure: Array, exponential: Array, land_fraction: Array) -> Array:
    return cloud_fraction(vapour_pressure / (SATURATION_AT_FREEZING * exponential), land_fraction)


def _with_cloud(heights: Array) -> slice:
    """Return the layers whose moist air is cloud: layers above 100 m, or all layers of a lower grid."""
    first = int(np.searchsorted(heights, _DEEPEST_FOG, side="right"))
    return slice(first if first < heights.size else 0, None)
