"""Resistances to dry deposition: turbulence, the quasi-laminar layer, the surface.

    v = 1 / (R_a + R_b + R_c)

The last axes of velocities and resistances are columns, (nlat, nlon) or a list of cells, and the first axis is species:
(n, 1, 1) or (n, nlat, nlon).
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import VON_KARMAN
from airshed.models.air.species_map.parts import read_table

_WATER_MASS = 18.015
_SCHMIDT_OF_WATER_VAPOUR = 0.62
_PRANDTL = 0.72
_SMALLEST_FRICTION_VELOCITY = 0.01
_SMALLEST_AERODYNAMIC = 1.0
_SMALLEST_SURFACE = 1.0
_FREEZING = 273.15
_WARMEST_LEAF = 40.0
_STRONGEST_PARTICLE_INSTABILITY = 0.04

SEASONS = ("summer", "autumn", "late_autumn", "spring")
"""Seasonal categories of Wesely (1989), except snow."""

WATER = "water"
_SEASON_OF_MONTH = ("late_autumn",) * 2 + ("spring",) * 3 + ("summer",) * 3 + ("autumn",) * 2 + ("late_autumn",) * 2


@dataclass(frozen=True)
class Surface:
    """Surface type in one season: fraction of land or sea [1], and resistances [s/m], infinite without uptake."""

    share: float
    stomata: float
    cuticle: float
    in_canopy: float
    ground_so2: float
    ground_o3: float
    exposed_so2: float
    exposed_o3: float


def season(month: int, latitude: float) -> str:
    """Return Wesely's season for a month (1 to 12) and a latitude [degrees], shifted by half a year in the south."""
    return _SEASON_OF_MONTH[(month - 1 + (6 if latitude < 0.0 else 0)) % 12]


def surfaces(of_season: str) -> dict[str, Surface]:
    """Return the surface types in one of ``SEASONS``: land types with their fractions, and water with 1."""
    table = read_table("deposition/surfaces.toml")
    mix = table["mix"]
    return {
        name: Surface(mix.get(name, 1.0), **dict(zip(table["columns"], table[name][of_season], strict=True)))
        for name in (*mix, WATER)
    }


def aerodynamic(height: float, roughness: Array, friction_velocity: Array, obukhov_length: Array) -> Array:
    """Return the aerodynamic resistance between ``height`` [m] and the surface.

    R_a = [ ln(z/z0) - psi(z/L) + psi(z0/L) ] / (kappa u*)

    psi = 2 ln((1 + sqrt(1 - 16 z/L)) / 2) where L < 0, -5 min(z/L, 1) where L > 0; at least 1 s/m.

    reads    roughness [m], friction_velocity [m/s], obukhov_length [m]: (nlat, nlon)
    returns  (nlat, nlon) [s/m]
    source   Dyer 1974, Boundary-Layer Meteorol. 7, 363-372
    """
    height_above = np.maximum(height, 2.0 * roughness)
    profile = (
        np.log(height_above / roughness)
        - _stability(height_above / obukhov_length)
        + _stability(roughness / obukhov_length)
    )
    resistance = profile / (VON_KARMAN * np.maximum(friction_velocity, _SMALLEST_FRICTION_VELOCITY))
    return np.asarray(np.maximum(resistance, _SMALLEST_AERODYNAMIC))


def _stability(ratio: Array) -> Array:
    """Return the integrated stability correction for scalars at z/L."""
    unstable = 2.0 * np.log(0.5 * (1.0 + np.sqrt(1.0 - 16.0 * np.minimum(ratio, 0.0))))
    return np.where(ratio < 0.0, unstable, -5.0 * np.clip(ratio, 0.0, 1.0))


def quasi_laminar(mass: Array, friction_velocity: Array) -> Array:
    """Return the resistance of the quasi-laminar layer to gases of molar masses ``mass`` [g/mol].

    R_b = 2 / (kappa u*) (Sc / Pr)^(2/3),   Sc = 0.62 sqrt(M / M_water)

    reads    mass (n, 1, 1), friction_velocity (nlat, nlon) [m/s]
    returns  (n, nlat, nlon) [s/m]
    source   Hicks et al. 1987, Water Air Soil Pollut. 36, 311-330
    """
    schmidt = _SCHMIDT_OF_WATER_VAPOUR * np.sqrt(mass / _WATER_MASS)
    friction = np.maximum(friction_velocity, _SMALLEST_FRICTION_VELOCITY)
    return np.asarray(2.0 / (VON_KARMAN * friction) * (schmidt / _PRANDTL) ** (2.0 / 3.0))


def surface_weather(radiation: Array, temperature: Array) -> tuple[Array, Array, Array]:
    """Return factors of the weather on the uptake by any surface, (nlat, nlon).

    Stomatal conductance of water vapour relative to its maximum, { 1 + [200 / (G + 0.1)]^2 }^-1 T (40 - T) / 400 [1];
    additional resistance in the cold, 1000 exp(-T - 4) [s/m]; resistance of convection in the canopy,
    r_dc = 100 [1 + 1000/(G + 10)] [s/m]

    reads  radiation G [W/m2] and temperature of the air near the ground [K]
    """
    celsius = temperature - _FREEZING
    warmth = np.maximum(celsius * (_WARMEST_LEAF - celsius), 0.0) / 400.0
    openness = warmth / (1.0 + (200.0 / (radiation + 0.1)) ** 2)
    cold = 1000.0 * np.exp(-np.maximum(celsius, -20.0) - 4.0)
    return openness, cold, 100.0 * (1.0 + 1000.0 / (radiation + 10.0))


def surface(
    kind: Surface, mass: Array, henry: Array, reactivity: Array, openness: Array, cold: Array, down: Array
) -> Array:  # fmt: skip
    """Return the surface resistance to gases: stomata, cuticles, lower canopy and ground in parallel.

    1/R_c = 1/(r_s + r_m) + 1/r_lu + 1/(r_dc + r_cl) + 1/(r_ac + r_gs);  at least 1 s/m

    r_s = r_i D_water/D { 1 + [200 / (G + 0.1)]^2 } 400 / (T (40 - T)), shut below 0 and above 40 degrees Celsius
    r_m = 1 / (H/3000 + 100 f0),   r_lu = r_lu' / (H/1e5 + f0),   r_dc = 100 [1 + 1000/(G + 10)]
    r_cl, r_gs = 1 / (H/(1e5 r_SO2) + f0/r_O3); r_lu, r_cl and r_gs increase by 1000 exp(-T - 4) in the cold

    The formula is compiled, see ``kernels.one_pass``.

    reads    mass [g/mol], henry [mol/(l atm)], reactivity f0 [1]: (n, 1, 1); weather as of :func:`surface_weather`
    returns  (n, nlat, nlon) [s/m]
    source   Wesely 1989, Atmos. Environ. 23, 1293-1304; least R_c: Wang et al. 1998, J. Geophys. Res. 103, 10713
    """
    paths = []
    if isfinite(kind.stomata):
        mesophyll = 1.0 / (henry / 3000.0 + 100.0 * reactivity)
        paths.append(_then(openness / (kind.stomata * np.sqrt(mass / _WATER_MASS)), mesophyll))
    if isfinite(kind.cuticle):
        paths.append(_then(_uptake(henry, reactivity, kind.cuticle, kind.cuticle), cold))
    if isfinite(min(kind.exposed_so2, kind.exposed_o3)):
        exposed = _uptake(henry, reactivity, kind.exposed_so2, kind.exposed_o3)
        paths.append(_then(exposed, cold + down))
    ground = _uptake(henry, reactivity, kind.ground_so2, kind.ground_o3)
    paths.append(_then(ground, cold + kind.in_canopy))
    conductance = sum(paths[1:], start=paths[0])
    return 1.0 / np.minimum(np.maximum(conductance, 1e-12), 1.0 / _SMALLEST_SURFACE)


def _uptake(henry: Array, reactivity: Array, as_so2: float, as_o3: float) -> Array:
    """Return the conductance [m/s] of a surface from its resistances to SO2 (H = 1e5) and O3 (f0 = 1)."""
    return henry / (1e5 * as_so2) + reactivity / as_o3


def _then(conductance: Array, resistance: Array | float) -> Array:
    """Return the conductance [m/s] of a conductance and a resistance [s/m] in series."""
    return conductance / (1.0 + conductance * resistance)


def fine_particles(friction_velocity: Array, obukhov_length: Array, turbulent: Array) -> Array:
    """Return the deposition velocity of fine particles (0.1 to 1 um).

    v = 1 / (R_a + 1/v_s),   v_s = u*/500 (1 + (300/-L)^(2/3) where L < 0), with -1/L at most 0.04 per m

    reads    friction_velocity [m/s], obukhov_length [m], turbulent resistance R_a [s/m]: (nlat, nlon)
    returns  (nlat, nlon) [m/s]
    source   Wesely et al. 1985, Atmos. Environ. 19, 2145; the bound: Simpson et al. 2012, Atmos. Chem. Phys. 12, 7825
    """
    instability = np.clip(-1.0 / obukhov_length, 0.0, _STRONGEST_PARTICLE_INSTABILITY)
    friction = np.maximum(friction_velocity, _SMALLEST_FRICTION_VELOCITY)
    at_surface = friction / 500.0 * (1.0 + (300.0 * instability) ** (2.0 / 3.0))
    return np.asarray(1.0 / (turbulent + 1.0 / at_surface))
