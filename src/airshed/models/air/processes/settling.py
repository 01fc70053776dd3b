"""Gravitational settling: particles fall through the layers to the ground.

    dq(k)/dt = [ F(k+1) q(k+1) - F(k) q(k) ] / A(k),      F = v n a

with the speed of fall v [m/s] of a layer, the density n [mol m-3] of its air, the area a [m2] of its lower face and its
content of air A [mol]: upwind, first order, implicit in the column solve. What leaves the lowest layer is deposited.

The speed is that of Stokes, with the slip of the air at small particles and more drag on fast ones:

    v = v0 / (1 + 0.15 Re^0.687),   v0 = (rho_p - rho) g d^2 C / (18 mu),   Re = rho v d / mu

Formulas take the diameter d [m] and the density rho_p [kg m-3] of a particle, a sphere, and the state of the air.
"""

from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT, GRAVITY, MOLAR_MASS_DRY_AIR
from airshed.process import Process, at_instant, per_species, settling, weather

_SUTHERLAND: Final = (1.458e-6, 110.4)
_SLIP: Final = (1.257, 0.4, 1.1)
_DRAG: Final = (0.15, 0.687)
_STEPS: Final = 5  # of Newton's method after the first: then the speed is right to 1e-6 up to a Reynolds number of 800
_NO_MOTION: Final = 1e-30  # reynolds number in place of 0, of which the power has no derivative
LARGEST_REYNOLDS: Final = 800.0  # up to which the law of drag holds; drops of 3 mm fall so fast


def viscosity(temperature: Array) -> Array:
    """Return the dynamic viscosity of air [kg m-1 s-1]: 1.458e-6 T^1.5 / (T + 110.4 K).

    reads   temperature [K]
    source  Sutherland's law as in the U.S. Standard Atmosphere 1976 (NOAA-S/T 76-1562), equation 51
    """
    factor, constant = _SUTHERLAND
    return factor * temperature * np.sqrt(temperature) / (temperature + constant)


def mean_free_path(temperature: Array, pressure: Array) -> Array:
    """Return the mean free path of the molecules of air [m]: 2 mu / (p sqrt(8 M / (pi R T))).

    reads   temperature [K], pressure [Pa]
    source  Seinfeld & Pandis 2006, Atmospheric Chemistry and Physics, equation 9.6
    """
    speed = np.sqrt(8.0 * MOLAR_MASS_DRY_AIR / (np.pi * GAS_CONSTANT * temperature))
    return 2.0 * viscosity(temperature) / (pressure * speed)


def slip_correction(diameter: Array, path: Array) -> Array:
    """Return C = 1 + (2 l / d) [1.257 + 0.4 exp(-1.1 d / (2 l))] [1], by which the air's slip lessens the drag.

    reads   diameter d [m], path l [m]
    source  Cunningham's correction with the numbers of Davies 1945, Proc. Phys. Soc. 57, 259; Seinfeld & Pandis 2006,
            equation 9.34
    """
    first, second, third = _SLIP
    ratio = 2.0 * path / diameter
    return 1.0 + ratio * (first + second * np.exp(-third / ratio))


def stokes_velocity(diameter: Array, density: Array, temperature: Array, pressure: Array) -> Array:
    """Return the speed of fall [m/s] where the air flows round the particle without inertia; never upwards.

    v0 = (rho_p - rho) g d^2 C / (18 mu)

    reads   diameter [m], density [kg m-3] of the particle;  temperature [K], pressure [Pa] of the air
    source  Seinfeld & Pandis 2006, equation 9.42
    """
    slip = slip_correction(diameter, mean_free_path(temperature, pressure))
    heavier = np.maximum(density - _air(temperature, pressure), 0.0)
    return heavier * GRAVITY * diameter * diameter * slip / (18.0 * viscosity(temperature))


def settling_velocity(diameter: Array, density: Array, temperature: Array, pressure: Array) -> Array:
    """Return the speed of fall [m/s] with the drag of fast particles, C_D = 24 / Re (1 + 0.15 Re^0.687).

    X = Re / Re0 solves X + 0.15 Re0^0.687 X^1.687 = 1. The left side is convex and rises, so that Newton's method from
    X = 1 comes down to the root; a fixed number of steps makes it a formula.

    reads   as :func:`stokes_velocity`; all of them broadcast, particles in front of levels
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
    """Return Re = rho v d / mu [1] of a particle that falls with a velocity [m/s]."""
    return _air(temperature, pressure) * velocity * diameter / viscosity(temperature)


def sinking_air(velocity: Array, air: Array, thickness: Array) -> Array:
    """Return the air that particles fall through [mol/s], F = v n a = v A / dz through the lower faces of cells.

    reads  velocity [m/s];  air A [mol];  thickness dz [m]
    """
    return velocity * air / thickness


def outflow_rate(velocity: Array, thickness: Array) -> Array:
    """Return v / dz [1/s]: times the step, the layers that a particle falls through in it. No limit: it is implicit."""
    return velocity / thickness


def _air(temperature: Array, pressure: Array) -> Array:
    """Return the density of dry air [kg m-3]."""
    return pressure * MOLAR_MASS_DRY_AIR / (GAS_CONSTANT * temperature)


class Settling(Process, section="particles", order=45):
    """Species that are particles: they fall by their weight, and deposit and are washed out according to their size."""

    diameters = per_species(
        "m", 'Diameters of the particles that species are, such as `{ DUST = "10 um" }`.', least="1 nm", most="3 mm",
        missing=None, settable=True,
    )  # fmt: skip
    densities = per_species(
        "kg/m3", "Densities of these particles; 1000 kg/m3 where none is given.", missing=1000.0,
        least="100 kg/m3", most="25000 kg/m3", settable=True,
    )  # fmt: skip
    temperature = weather("temperature", "K")
    pressure = weather("pressure", "Pa")

    @at_instant("m/s")
    def speed(diameters, densities, temperature, pressure):
        """Speed of fall."""
        return settling_velocity(diameters, densities, temperature, pressure)

    @settling(term="settled")
    def falls(speed):
        """Through lower faces, at last to the ground."""
        return speed
