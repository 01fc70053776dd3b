"""Gravitational settling of particles through the layers to the ground.

    dq(k)/dt = [ F(k+1) q(k+1) - F(k) q(k) ] / A(k),      F = v n a

v [m/s] is the settling velocity in a layer, and n [mol m-3] the density of its air. a [m2] is the area of its lower
face, and A [mol] its air content. The scheme is upwind, of first order, and implicit in the column solve. The flux out
of the lowest layer is deposited.

The velocity is that of Stokes, with the slip correction for small particles and increased drag on fast ones:

    v = v0 / (1 + 0.15 Re^0.687),   v0 = (rho_p - rho) g d^2 C / (18 mu),   Re = rho v d / mu

Formulas use the diameter d [m] and the density rho_p [kg m-3] of a spherical particle, and the state of the air.
"""

from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT, GRAVITY, MOLAR_MASS_DRY_AIR
from airshed.process import Process, at_instant, per_species, settling, weather

_SUTHERLAND: Final = (1.458e-6, 110.4)
_SLIP: Final = (1.257, 0.4, 1.1)
_DRAG: Final = (0.15, 0.687)
_STEPS: Final = 5  # Newton steps after the first, accurate to 1e-6 up to a Reynolds number of 800
_NO_MOTION: Final = 1e-30  # minimum Reynolds number, since the power has no derivative at 0
LARGEST_REYNOLDS: Final = 800.0  # upper limit of the drag law, reached by drops of 3 mm


def viscosity(temperature: Array) -> Array:
    """Return the dynamic viscosity of air [kg m-1 s-1]: 1.458e-6 T^1.5 / (T + 110.4 K).

    reads   temperature [K]
    source  Sutherland's law as in the U.S. Standard Atmosphere 1976 (NOAA-S/T 76-1562), equation 51
    """
    factor, constant = _SUTHERLAND
    return factor * temperature * np.sqrt(temperature) / (temperature + constant)


def mean_free_path(temperature: Array, pressure: Array) -> Array:
    """Return the mean free path of air molecules [m]: 2 mu / (p sqrt(8 M / (pi R T))).

    reads   temperature [K], pressure [Pa]
    source  Seinfeld & Pandis 2006, Atmospheric Chemistry and Physics, equation 9.6
    """
    speed = np.sqrt(8.0 * MOLAR_MASS_DRY_AIR / (np.pi * GAS_CONSTANT * temperature))
    return 2.0 * viscosity(temperature) / (pressure * speed)


def slip_correction(diameter: Array, path: Array) -> Array:
    """Return the slip correction of the drag, C = 1 + (2 l / d) [1.257 + 0.4 exp(-1.1 d / (2 l))] [1].

    reads   diameter d [m], path l [m]
    source  Cunningham's correction with coefficients of Davies 1945, Proc. Phys. Soc. 57, 259; Seinfeld & Pandis 2006,
            equation 9.34
    """
    first, second, third = _SLIP
    ratio = 2.0 * path / diameter
    return 1.0 + ratio * (first + second * np.exp(-third / ratio))


def stokes_velocity(diameter: Array, density: Array, temperature: Array, pressure: Array) -> Array:
    """Return the Stokes settling velocity [m/s] of a particle in viscous flow; never upwards.

    v0 = (rho_p - rho) g d^2 C / (18 mu)

    reads   diameter [m], density [kg m-3] of the particle;  temperature [K], pressure [Pa] of the air
    source  Seinfeld & Pandis 2006, equation 9.42
    """
    slip = slip_correction(diameter, mean_free_path(temperature, pressure))
    heavier = np.maximum(density - _air(temperature, pressure), 0.0)
    return heavier * GRAVITY * diameter * diameter * slip / (18.0 * viscosity(temperature))


def settling_velocity(diameter: Array, density: Array, temperature: Array, pressure: Array) -> Array:
    """Return the settling velocity [m/s] with the drag of fast particles, C_D = 24 / Re (1 + 0.15 Re^0.687).

    X = Re / Re0 solves X + 0.15 Re0^0.687 X^1.687 = 1. The left side is convex and increasing, so that Newton's method
    from X = 1 converges monotonically; the number of steps is fixed.

    reads   as :func:`stokes_velocity`; all arguments broadcast, with particles before levels
    source  Schiller & Naumann 1933, Z. Ver. Dtsch. Ing. 77, 318; Seinfeld & Pandis 2006, equation 9.32
    """
    velocity = stokes_velocity(diameter, density, temperature, pressure)
    reynolds = _air(temperature, pressure) * velocity * diameter / viscosity(temperature)
    factor, power = _DRAG
    drag = factor * np.maximum(reynolds, _NO_MOTION) ** power
    part = (1.0 + power * drag) / (1.0 + (1.0 + power) * drag)  # the first step, from 1
    for _ in range(_STEPS):
        grown = drag * part**power
        part = (1.0 + power * grown * part) / (1.0 + (1.0 + power) * grown)
    return velocity * part


def reynolds_number(velocity: Array, diameter: Array, temperature: Array, pressure: Array) -> Array:
    """Return Re = rho v d / mu [1] of a particle with a settling velocity [m/s]."""
    return _air(temperature, pressure) * velocity * diameter / viscosity(temperature)


def sinking_air(velocity: Array, air: Array, thickness: Array) -> Array:
    """Return the settling flux of air [mol/s], F = v n a = v A / dz, through the lower faces of cells.

    reads  velocity [m/s];  air A [mol];  thickness dz [m]
    """
    return velocity * air / thickness


def outflow_rate(velocity: Array, thickness: Array) -> Array:
    """Return v / dz [1/s]: times the step, a Courant number without a limit, since settling is implicit."""
    return velocity / thickness


def _air(temperature: Array, pressure: Array) -> Array:
    """Return the density of dry air [kg m-3]."""
    return pressure * MOLAR_MASS_DRY_AIR / (GAS_CONSTANT * temperature)


class Settling(Process, section="particles", order=45):
    """Particles: species with gravitational settling, and deposition and scavenging by size."""

    diameters = per_species(
        "m", 'Diameters of particles by species, such as `{ DUST = "10 um" }`.', least="1 nm", most="3 mm",
        missing=None, settable=True,
    )  # fmt: skip
    densities = per_species(
        "kg/m3", "Densities of particles by species; by default 1000 kg/m3.", missing=1000.0,
        least="100 kg/m3", most="25000 kg/m3", settable=True,
    )  # fmt: skip
    temperature = weather("temperature", "K")
    pressure = weather("pressure", "Pa")

    @at_instant("m/s")
    def speed(diameters, densities, temperature, pressure):
        """Settling velocity."""
        return settling_velocity(diameters, densities, temperature, pressure)

    @settling(term="settled")
    def falls(speed):
        """Settling through lower faces to the ground."""
        return speed
