"""Surface layer and boundary layer: radiation and heat flux at the ground, friction, depth and diffusivity."""

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT_DRY_AIR, GRAVITY, HEAT_CAPACITY_DRY_AIR, VON_KARMAN
from airshed.core.saturation import saturation_slope
from airshed.kernels.one_pass import one_pass
from airshed.models.air import landcover
from airshed.models.air.weather.atmosphere import LAPSE_RATE

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
    """Return the sensible heat flux over land [W/m2], positive upwards; the ground heat flux is 0.1 of net radiation Q.

    With a known latent heat flux: 0.9 Q - LE, with LE at most 1.26 / (1 + g/s) 0.9 Q of a wet surface: a larger LE
    implies a net radiation above Q. Without it, the modified Priestley-Taylor form
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
    """Return the roughness length of cells [m], for sea from the friction velocity of a neutral wind at a height.

    The roughness of the sea and the friction velocity depend on each other; four iterations converge to 1e-3. The
    maximum is half the height, above which the log law is not valid.
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

    z/L is limited to 1: in more stable air the log law with psi = -5 z/L is not valid.
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

    u* = (C U / 2) (1 + sqrt(1 - (2 u0 / (C^0.5 U))^2)), C = k / ln(z/z0), u0^2 = 5 z g theta* / T; for winds with a
    negative argument of the root, u* is proportional to the wind
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
    """Return the buoyancy flux 0.61 T w'q' [K m/s] of an evaporation [kg m-2 s-1]."""
    density = pressure / (GAS_CONSTANT_DRY_AIR * temperature)
    return np.asarray(0.61 * temperature * evaporation / density)


LEAST_HEIGHT = 100.0
"""Minimum height of the boundary layer [m]."""
GREATEST_HEIGHT = 4000.0
"""Maximum height of the boundary layer [m]."""
LEAST_DIFFUSIVITY = 0.1
"""Minimum diffusivity of the free troposphere [m2/s]."""
GREATEST_DEFICIT = 600.0
"""Maximum heat loss of the air in a night [K m], the deficit of an inversion of 6 K over 200 m."""

_STABLE_GRADIENT = GRAVITY / HEAT_CAPACITY_DRY_AIR - LAPSE_RATE
_INVERSION_GRADIENT = 6.0 / 200.0
_BRUNT_VAISALA, _BRUNT_VAISALA_OF_INVERSION = (
    float(np.sqrt(GRAVITY / 288.15 * gradient)) for gradient in (_STABLE_GRADIENT, _INVERSION_GRADIENT)
)
_LEAST_CORIOLIS = 2.5e-5
_ENTRAINMENT = 0.2
_ASYMPTOTIC_LENGTH = 30.0


def coriolis(lat: Array) -> Array:
    """Return |f| = 2 Omega |sin(lat)| [1/s], at least its value at 10 degrees."""
    return np.asarray(np.maximum(2.0 * 7.2921e-5 * np.abs(np.sin(np.radians(lat))), _LEAST_CORIOLIS))


def equilibrium_height(friction: Array, inverse_obukhov: Array, lat: Array, inversion: Array | float = 0.0) -> Array:
    """Return the equilibrium depth [m] of the neutral and stable boundary layer.

    1 / h^2 = f^2 / (0.6 u*)^2 + N f / (1.36 u*)^2 + f u*^3 / (k L) / (0.51 u*^2)^2 ; unstable air counts as neutral.
    N is the stability of the air above: 0.0105 /s in the standard atmosphere, 0.032 /s in the inversion of a night;
    ``inversion`` is the fraction of the area under such an inversion [1]
    source  Zilitinkevich, Esau & Baklanov 2007, Q. J. R. Meteorol. Soc. 133, 265-271
    """
    f = coriolis(lat)
    buoyancy = friction**3 * np.maximum(inverse_obukhov, 0.0) / VON_KARMAN
    rotation = (f / (0.6 * friction)) ** 2
    stability = _BRUNT_VAISALA + inversion * (_BRUNT_VAISALA_OF_INVERSION - _BRUNT_VAISALA)
    stratified = stability * f / (1.36 * friction) ** 2
    stable = f * buoyancy / (0.51 * friction**2) ** 2
    return np.asarray(1.0 / np.sqrt(rotation + stratified + stable))


def accumulate_heat(heat: Array, before: Array, now: Array, seconds: float) -> Array:
    """Return the heat input [K m] to the air since the morning.

    By day it is the integral of the flux w'theta' [K m/s], by the trapezoidal rule. At night it is reset to 0 and
    becomes a deficit of at most 600 K m, which the next morning compensates before the convective layer grows.
    """
    day = heat + 0.5 * (before + now) * seconds
    night = np.minimum(heat, 0.0) + now * seconds
    return np.asarray(np.maximum(np.where(now > 0.0, day, night), -GREATEST_DEFICIT))


def convective_height(heat: Array) -> Array:
    """Return the depth [m] of a convective layer that grows into air of the standard lapse rate.

    h^2 = 2 (1 + 2 A) / gamma * heat,  A = 0.2 (entrainment),  gamma = g / cp - 6.5 K/km = 3.3 K/km
    source  Tennekes 1973, J. Atmos. Sci. 30, 558-567: h dh/dt = (1 + 2 A) w'theta' / gamma
    """
    return np.asarray(np.sqrt(2.0 * (1.0 + 2.0 * _ENTRAINMENT) / _STABLE_GRADIENT * np.maximum(heat, 0.0)))


def richardson_height(theta: Array, east: Array, north: Array, heights: Array, excess: Array) -> Array:
    """Return the height [m] where the bulk Richardson number from the ground first reaches 0.25.

    Ri(z) = g / theta_s (theta(z) - theta_s) z / |V(z)|^2, linear between layers: the wind at the ground is 0. theta_s
    is that of the lowest layer and the thermal excess of convective plumes
    source  Seidel et al. 2012, J. Geophys. Res. 117, D17106, as ERA5's height; Vogelezang & Holtslag 1996,
            Bound.-Layer Meteorol. 81, 245-269

    reads  theta [K], east, north [m/s]  (level, lat, lon);  heights [m]  (level,);  excess  (lat, lon)
    """
    surface = theta[0] + excess
    speed_squared = np.maximum(east**2 + north**2, 1e-6)
    richardson = GRAVITY / surface * (theta - surface) * heights[:, None, None] / speed_squared
    richardson[0] = np.minimum(richardson[0], 0.0)
    above = richardson >= 0.25
    level = np.where(above.any(axis=0), above.argmax(axis=0), heights.size - 1)
    below = np.maximum(level - 1, 0)
    high = np.take_along_axis(richardson, level[None], axis=0)[0]
    low = np.take_along_axis(richardson, below[None], axis=0)[0]
    fraction = np.clip((0.25 - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    return np.asarray(heights[below] + fraction * (heights[level] - heights[below]))


def stability_heat(zeta: Array) -> Array:
    """Return phi_h(z / L): (1 - 16 z/L)^-1/2 unstable, 1 + 5 z/L stable; source: Businger-Dyer, Dyer 1974, BLM 7."""
    return np.asarray(np.where(zeta < 0.0, 1.0 / np.sqrt(1.0 - 16.0 * np.minimum(zeta, 0.0)), 1.0 + 5.0 * zeta))


def boundary_layer_diffusivity(heights: Array, depth: Array, friction: Array, inverse_obukhov: Array) -> Array:
    """Return K = k u* / phi_h(z_s / L) z (1 - z / h)^2 [m2/s] at heights (face,), 0 at the ground and above h.

    z_s = min(z, 0.1 h) in unstable air, z in stable air
    source  Troen & Mahrt 1986, Bound.-Layer Meteorol. 37, 129-148
    """
    z = heights[:, None, None]
    scale = np.where(inverse_obukhov < 0.0, np.minimum(z, 0.1 * depth), z)
    velocity = friction / stability_heat(scale * inverse_obukhov)
    return np.asarray(VON_KARMAN * velocity * z * np.maximum(1.0 - z / depth, 0.0) ** 2)


def free_diffusivity(theta: Array, east: Array, north: Array, levels: Array, faces: Array) -> Array:
    """Return K = l^2 |dV/dz| F(Ri) [m2/s] at the inner faces (level - 1, lat, lon), at least 0.1, at most 100.

    1 / l = 1 / (k z) + 1 / 30 m;  F = 1 / (1 + 10 Ri (1 + 8 Ri)) stable, (1 - 18 Ri)^1/2 unstable
    source  Holtslag & Boville 1993, J. Clim. 6, 1825-1842

    reads  theta [K], east, north [m/s]  (level, lat, lon);  levels, faces [m]
    """
    z = faces[1:-1, None, None]
    length = 1.0 / (1.0 / (VON_KARMAN * z) + 1.0 / _ASYMPTOTIC_LENGTH)
    neighbours = (each for field in (theta, east, north) for each in (field[:-1], field[1:]))
    return _free_diffusivity(*neighbours, np.diff(levels)[:, None, None], length**2)


@one_pass
def _free_diffusivity(
    theta: Array, theta_above: Array, east: Array, east_above: Array, north: Array, north_above: Array, rise: Array,
    length_squared: Array,
) -> Array:  # fmt: skip
    east_shear, north_shear = (east_above - east) / rise, (north_above - north) / rise
    shear_squared = east_shear * east_shear + north_shear * north_shear
    stability = GRAVITY / (0.5 * (theta_above + theta)) * (theta_above - theta) / rise
    richardson = stability / np.maximum(shear_squared, 1e-8)
    stable, unstable = np.maximum(richardson, 0.0), np.minimum(richardson, 0.0)
    # one of both factors is 1
    reduction = 1.0 / (1.0 + 10.0 * stable * (1.0 + 8.0 * stable)) * np.sqrt(1.0 - 18.0 * unstable)
    diffusivity = length_squared * np.sqrt(shear_squared) * reduction
    return np.minimum(np.maximum(diffusivity, LEAST_DIFFUSIVITY), 100.0)
