"""The ground's energy and the surface layer: radiation, heat flux, friction velocity, Obukhov length."""

import numpy as np
from numpy.typing import NDArray

from airshed.core.constants import GAS_CONSTANT_DRY_AIR, GRAVITY, HEAT_CAPACITY_DRY_AIR, VON_KARMAN
from airshed.core.saturation import saturation_slope
from airshed.models.air import landcover

Array = NDArray[np.float64]

LATENT_HEAT = 2.45e6
"""Heat of vaporisation of water at 20 C [J/kg]."""

_STEFAN_BOLTZMANN = 5.670374e-8
_ALBEDO = 0.23
_PSYCHROMETER = 0.66e2
_PRIESTLEY_TAYLOR = 1.26
_LEAST_WIND = 0.5
_LEAST_FRICTION_VELOCITY = 0.02
_ITERATIONS = 12


def shortwave(cos_zenith: Array, cloud: Array) -> Array:
    """Return the solar radiation at the ground [W/m2]: (990 cos z - 30) (1 - 0.75 N^3.4), at least 0.

    source  Holtslag & van Ulden 1983, J. Clim. Appl. Meteorol. 22, 517-529 (eqs. with the coefficients for De Bilt)
    """
    return np.asarray(np.maximum(990.0 * cos_zenith - 30.0, 0.0) * (1.0 - 0.75 * cloud**3.4))


def net_radiation(incoming: Array, temperature: Array, cloud: Array) -> Array:
    """Return ((1 - 0.23) K + 5.31e-13 T^6 - sigma T^4 + 60 N) / 1.12 [W/m2] over land; source: as ``shortwave``."""
    longwave = 5.31e-13 * temperature**6 - _STEFAN_BOLTZMANN * temperature**4 + 60.0 * cloud
    return np.asarray(((1.0 - _ALBEDO) * incoming + longwave) / 1.12)


def daytime_heat_flux(net: Array, temperature: Array, latent: Array | None) -> Array:
    """Return the sensible heat flux over land [W/m2], positive upwards; the ground takes 0.1 of the net radiation Q.

    With the latent heat flux known: 0.9 Q - LE, LE at most the 1.26 / (1 + g/s) 0.9 Q of a wet surface: what evaporates
    beyond that had more radiation than Q. Without it, the modified Priestley-Taylor form
    H = (g/s) / (1 + g/s) 0.9 Q - 20, with s the slope of saturation vapour pressure and g = 0.66 hPa/K.
    source  Holtslag & van Ulden 1983 (alpha = 1, beta' = 20 W/m2); wet surface: Priestley & Taylor 1972, MWR 100, 81-92
    """
    available = 0.9 * net
    slope = saturation_slope(temperature)
    ratio = _PSYCHROMETER / slope
    if latent is not None:
        return np.asarray(available - np.minimum(latent, _PRIESTLEY_TAYLOR / (1.0 + ratio) * available))
    return np.asarray(ratio / (1.0 + ratio) * available - 20.0)


def night_temperature_scale(cloud: Array) -> Array:
    """Return theta* = 0.09 (1 - 0.5 N^2) [K] of clear to cloudy nights; source: van Ulden & Holtslag 1985, JCAM 24."""
    return np.asarray(0.09 * (1.0 - 0.5 * cloud**2))


def stability_momentum(zeta: Array) -> Array:
    """Return psi_m(z / L) of the log law; source: Businger-Dyer, as in Paulson 1970, J. Appl. Meteorol. 9, 857-861."""
    stable, turbulent = -5.0 * np.maximum(zeta, 0.0), zeta < 0.0
    if not turbulent.any():
        return np.asarray(stable)
    x = np.sqrt(np.sqrt(1.0 - 16.0 * np.minimum(zeta, 0.0)))
    unstable = 2.0 * np.log(0.5 * (1.0 + x)) + np.log(0.5 * (1.0 + x * x)) - 2.0 * np.arctan(x) + 0.5 * np.pi
    return np.asarray(np.where(turbulent, unstable, stable))


def roughness_length(wind: Array, height: float, land_fraction: Array) -> Array:
    """Return the roughness length of cells [m], that of the sea under the friction of a neutral wind at a height.

    The sea's roughness and the friction velocity depend on each other; four rounds settle both to 1e-3. It is half the
    height at most: beyond there is no log law, as in a layer thinner than bushes or a wind faster than any.
    """
    speed = np.maximum(wind, _LEAST_WIND)
    roughness = np.minimum(landcover.roughness_length(land_fraction, 0.04 * speed), 0.5 * height)
    for _ in range(4):
        friction = VON_KARMAN * speed / np.log(height / roughness)
        roughness = np.minimum(landcover.roughness_length(land_fraction, friction), 0.5 * height)
    return roughness


def inverse_obukhov(friction: Array, temperature: Array, kinematic_flux: Array) -> Array:
    """Return 1 / L = - k g w'theta' / (T u*^3) [1/m]."""
    return np.asarray(-VON_KARMAN * GRAVITY * kinematic_flux / (temperature * friction**3))


def friction_of_flux(wind: Array, height: float, roughness: Array, temperature: Array, kinematic_flux: Array) -> Array:
    """Return u* [m/s] of wind and heat flux: u* = k U / (ln(z/z0) - psi(z/L) + psi(z0/L)), by 12 fixed-point steps.

    z/L is kept below 1: in stabler air the log law with psi = -5 z/L no longer holds.
    """
    speed = np.maximum(wind, _LEAST_WIND)
    logarithm = np.log(height / roughness)
    neutral = VON_KARMAN * speed
    friction = neutral / logarithm
    for _ in range(_ITERATIONS):
        zeta = np.clip(height * inverse_obukhov(friction, temperature, kinematic_flux), -20.0, 1.0)
        above, below = stability_momentum(np.array([zeta, zeta * roughness / height]))
        friction = 0.5 * (friction + neutral / (logarithm - above + below))
    return np.asarray(np.maximum(friction, _LEAST_FRICTION_VELOCITY))


def friction_of_night(wind: Array, height: float, roughness: Array, temperature: Array, theta_scale: Array) -> Array:
    """Return u* [m/s] of stable air with a known theta*.

    u* = (C U / 2) (1 + sqrt(1 - (2 u0 / (C^0.5 U))^2)), C = k / ln(z/z0), u0^2 = 5 z g theta* / T; below the wind at
    which the root vanishes, u* is proportional to the wind
    source  Venkatram 1980, Bound.-Layer Meteorol. 19, 481-485; as in Cimorelli et al. 2005, J. Appl. Meteorol. 44
    """
    speed = np.maximum(wind, _LEAST_WIND)
    drag = VON_KARMAN / np.log(height / roughness)
    critical = 2.0 * np.sqrt(5.0 * height * GRAVITY * theta_scale / (temperature * drag))
    root = np.sqrt(np.maximum(1.0 - (critical / speed) ** 2, 0.0))
    friction = 0.5 * drag * speed * (1.0 + root)
    return np.asarray(np.maximum(friction, _LEAST_FRICTION_VELOCITY))


def kinematic(flux: Array, pressure: Array, temperature: Array) -> Array:
    """Return a heat flux [W/m2] as w'theta' [K m/s]."""
    density = pressure / (GAS_CONSTANT_DRY_AIR * temperature)
    return np.asarray(flux / (density * HEAT_CAPACITY_DRY_AIR))


def buoyancy_of_evaporation(evaporation: Array, pressure: Array, temperature: Array) -> Array:
    """Return 0.61 T w'q' [K m/s] of an evaporation [kg m-2 s-1]: vapour is lighter than air."""
    density = pressure / (GAS_CONSTANT_DRY_AIR * temperature)
    return np.asarray(0.61 * temperature * evaporation / density)
