"""Moist air: humidity, hydrostatics, the standard atmosphere."""

import numpy as np
from numpy.typing import NDArray

from airshed.core.constants import (
    GAS_CONSTANT,
    GAS_CONSTANT_DRY_AIR,
    GRAVITY,
    MOLAR_MASS_DRY_AIR,
    MOLAR_MASS_WATER,
)
from airshed.core.saturation import saturation_vapour_pressure

Array = NDArray[np.float64]

STANDARD_TEMPERATURE = 288.15
"""Temperature of the standard atmosphere at sea level [K] (ISO 2533)."""
STANDARD_PRESSURE = 101325.0
"""Pressure of the standard atmosphere at sea level [Pa] (ISO 2533)."""
LAPSE_RATE = 6.5e-3
"""Fall of temperature with height in the standard troposphere [K/m] (ISO 2533)."""
TROPOPAUSE_TEMPERATURE = 216.65
"""Temperature of the standard atmosphere from 11 km to 20 km [K] (ISO 2533)."""
LAPSE_EXPONENT = LAPSE_RATE * GAS_CONSTANT_DRY_AIR / GRAVITY
"""Exponent 0.190 of T ~ p^x in the standard troposphere [1]."""

STANDARD_HEIGHTS = np.array([0.0, 11e3, 20e3, 32e3, 47e3, 51e3, 71e3, 84.852e3])
"""Geopotential heights between which the temperature of the standard atmosphere is linear [m].

Source: U.S. Standard Atmosphere 1976 (NOAA-S/T 76-1562), table 4; up to 32 km it is that of ISO 2533. The model has one
gravity at all heights, so that its heights are geopotential ones.
"""
STANDARD_TEMPERATURES = np.array([288.15, 216.65, 216.65, 228.65, 270.65, 270.65, 214.65, 186.946])
"""Temperatures there [K]; above the last one it stays as it is."""

_EPSILON = MOLAR_MASS_WATER / MOLAR_MASS_DRY_AIR


def mole_fraction(specific_humidity: Array) -> Array:
    """Return water vapour [mol/mol of moist air] of specific humidity [kg/kg]: q / (eps + (1 - eps) q)."""
    mass = (1.0 - _EPSILON) * specific_humidity
    mass += _EPSILON
    return np.asarray(specific_humidity / mass)


def molar_mass(water_vapour: Array) -> Array:
    """Return the molar mass of moist air [kg/mol] of its water vapour [mol/mol]."""
    mass = np.asarray((MOLAR_MASS_WATER - MOLAR_MASS_DRY_AIR) * water_vapour)
    mass += MOLAR_MASS_DRY_AIR
    return mass


def virtual_temperature(temperature: Array, water_vapour: Array) -> Array:
    """Return the temperature [K] at which dry air has the density of the moist air: T M_dry / M_moist."""
    return np.asarray(temperature * (MOLAR_MASS_DRY_AIR / molar_mass(water_vapour)))


def molar_density(pressure: Array, temperature: Array) -> Array:
    """Return moles of air per volume p / (R T) [mol/m3]."""
    return np.asarray(pressure / (GAS_CONSTANT * temperature))


def relative_humidity(water_vapour: Array, temperature: Array, pressure: Array) -> Array:
    """Return vapour pressure over saturation vapour pressure [1]."""
    return np.asarray(water_vapour * pressure / saturation_vapour_pressure(temperature))


def standard_relative_humidity(pressure: Array, surface_pressure: Array) -> Array:
    """Return 0.77 (p / ps - 0.02) / 0.98 [1], at least 0; source: Manabe & Wetherald 1967, J. Atmos. Sci. 24, 241."""
    return np.asarray(np.maximum(0.77 * (pressure / surface_pressure - 0.02) / 0.98, 0.0))


def standard_water_vapour(pressure: Array, temperature: Array, surface_pressure: Array) -> Array:
    """Return water vapour [mol/mol] at the standard relative humidity, at least 3 ppm as in the stratosphere."""
    vapour = standard_relative_humidity(pressure, surface_pressure) * saturation_vapour_pressure(temperature)
    return np.asarray(np.maximum(vapour / pressure, 3e-6))


def standard_temperature(height: Array) -> Array:
    """Return the temperature [K] of the standard atmosphere at geopotential heights [m]: linear between those listed.

    source  U.S. Standard Atmosphere 1976
    """
    return np.asarray(np.interp(height, STANDARD_HEIGHTS, STANDARD_TEMPERATURES))


def standard_pressure(height: Array) -> Array:
    """Return the pressure [Pa] of the standard atmosphere at geopotential heights [m].

    In each layer p = pb (T / Tb)^(-g / (R G)) with the gradient G of the temperature, or pb exp(-g (z - zb) / (R Tb))
    where there is none. source  U.S. Standard Atmosphere 1976
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


def hypsometric_heights(pressure: Array, virtual: Array, surface_pressure: Array) -> Array:
    """Return the heights above ground [m] of levels, from the ground up, by the hypsometric equation.

    z(k) - z(k-1) = ln(p(k-1) / p(k)) / mean(g / (R Tv)), and Tv below the first level is that of the first level;
    so g / (R Tv) linear in height between the levels gives back exactly their pressures.

    reads  pressure [Pa], virtual [K]  (level, ...), falling pressure;  surface_pressure [Pa] (...)
    """
    return heights_of_levels(pressure, inverse_scale_height(virtual), surface_pressure)


def heights_of_levels(pressure: Array, inverse: Array, surface_pressure: Array) -> Array:
    """Return the heights above ground [m] of levels, as :func:`hypsometric_heights`, of g / (R Tv) [1/m]."""
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

    The mass of a column is then (p_ground - p_top) / g to round-off.
    """
    density = face_pressure[:-1] - face_pressure[1:]
    density /= GRAVITY * thickness[:, None, None]
    density /= molar_mass(water_vapour)
    return density
