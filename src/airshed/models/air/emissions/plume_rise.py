"""Rise of plumes from stacks by the formulas of Briggs, layer by layer.

Buoyancy flux of the exhaust:

    F = g v d^2 / 4 (T_s - T_a) / T_s     [m4 s-3]

A plume whose centre is at the height r above the stack has used the buoyancy flux N(r) of the air of its layer:

    stable          N = u s (r / 2.6)^3                               r = 2.6 (F / u s)^(1/3)
    convective      N = u (r / 30)^(5/3)                              r = 30 (F / u)^(3/5)
    neutral         N = (u r / 38.71)^(5/3), for F < 55 (u r / 21.425)^(4/3):
                                                                      r = 1.6 F^(1/3) (3.5 x*)^(2/3) / u
    every layer     N = u u*^2 (r / 1.2)^(5/3) / (h + r)^(2/3)        r = 1.2 (F / u u*^2)^(3/5) (h + r)^(2/5)

with s = g/theta dtheta/dz, x* = 14 F^(5/8) for F < 55, 34 F^(2/5) above, and h the height of the stack. The top of the
plume is at 1.5 r. While it passes a layer, the plume uses the increment of N over the layer, of the two formulas that
apply the larger one; the rest of F remains for the layers above. A plume thus penetrates an inversion as far as its
flux suffices. In air of one kind, the result is that of the formula on the right, for any layers.

The momentum of the exhaust raises the plume at least by 3 d v / u; in stable air by at most
1.5 (v^2 d^2 T_a / (4 T_s u))^(1/3) s^(-1/6). The plume extends from r/2 below to r/2 above its centre.

source  Briggs 1969, Plume rise, TID-25075; Briggs 1971, Nucl. Saf. 12, 15-24; Briggs 1975, in Lectures on Air Pollution
        and Environmental Impact Analyses, AMS, 59-111; final neutral rise: ISC3 user's guide, EPA-454/B-95-003b; by
        layers: Turner 1985, Atmos. Environ. 19, 1215-1218, and Byun & Ching 1999, EPA/600/R-99/030 (CMAQ);
        comparison, and extent of the plume: Gordon et al. 2018, Atmos. Chem. Phys. 18, 14695-14714
"""

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT_DRY_AIR, GRAVITY, HEAT_CAPACITY_DRY_AIR, VON_KARMAN
from airshed.grid import Grid
from airshed.models.air.weather.state import winds

if TYPE_CHECKING:
    from airshed.models.air.weather import MetState

PLUME_TOP: Final = 1.5
"""Height of the top of a plume above the stack, relative to the height of its centre."""

LEAST_WIND: Final = 1.0
"""Minimum wind speed in the formulas [m/s], as in CMAQ."""

LEAST_STABILITY: Final = 3.0e-5
"""Minimum of g/theta dtheta/dz in stable air [s-2], as in CMAQ."""

_LEAST_CONVECTION: Final = 3.0e-6  # minimum buoyancy flux of the ground in a convective layer [m2 s-3], as in CMAQ
_LEAST_EXTENT: Final = 1.0  # minimum vertical extent of a plume [m]
_LARGE: Final = 55.0  # buoyancy flux of large plumes [m4 s-3]
_REFERENCE_PRESSURE: Final = 1.0e5
_HALVINGS: Final = 40


@dataclass(frozen=True)
class Exhaust:
    """Exhaust of stacks, all arrays (stacks,): height and diameter [m], velocity [m/s] and temperature [K]."""

    height: Array
    diameter: Array
    velocity: Array
    temperature: Array

    def part(self, rows: npt.NDArray[np.intp]) -> Self:
        """Return the exhaust of some stacks, by index."""
        return replace(self, **{each.name: getattr(self, each.name)[rows] for each in fields(self)})

    def buoyancy_flux(self, air_temperature: Array) -> Array:
        """Return the buoyancy flux [m4 s-3] (stacks,) in air of a temperature [K]; 0 for exhaust that is colder."""
        excess = np.maximum(self.temperature - air_temperature, 0.0)
        return np.asarray(GRAVITY * self.velocity * self.diameter**2 / 4.0 * excess / self.temperature)


@dataclass(frozen=True)
class AirAtStacks:
    """Air in the columns of stacks.

    wind         [m/s]  (layers, stacks), in the layer of the stack at its top
    stability    [s-2]  (layers, stacks)  g/theta dtheta/dz
    convective   (layers, stacks)  layers within a convective boundary layer
    stable       (layers, stacks)  stable layers
    friction     [m/s]  (stacks,)  friction velocity
    temperature  [K]    (stacks,)  at the top of the stack
    layer        (stacks,)  index of the layer of the top of the stack
    """

    wind: Array
    stability: Array
    convective: npt.NDArray[np.bool_]
    stable: npt.NDArray[np.bool_]
    friction: Array
    temperature: Array
    layer: npt.NDArray[np.intp]


def air_at_stacks(
    met: "MetState", grid: Grid, cells: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]], height: Array
) -> AirAtStacks:  # fmt: skip
    """Return the air in the columns of stacks.

    reads  temperature, pressure, winds, friction_velocity, obukhov_length and boundary_layer_height of ``met``
           cells   row and column of each stack;  height  [m] (stacks,)
    """
    # wind and temperature
    column = (slice(None), *cells)
    components = winds(met, grid)
    wind = np.hypot(components["eastward_wind"][column], components["northward_wind"][column])
    temperature, levels = met.temperature[column], grid.level
    above = np.clip(np.searchsorted(levels, height), 1, max(levels.size - 1, 1))
    above = np.minimum(above, levels.size - 1)
    below = np.maximum(above - 1, 0)
    span = np.where(above > below, levels[above] - levels[below], 1.0)
    weight, stacks = np.clip((height - levels[below]) / span, 0.0, 1.0), np.arange(height.size)
    at_top, wind_at_top = (
        (1.0 - weight) * each[below, stacks] + weight * each[above, stacks] for each in (temperature, wind)
    )
    layer = np.minimum(np.searchsorted(grid.layer_faces, height, side="right") - 1, levels.size - 1)
    wind[layer, stacks] = wind_at_top

    # stability of layers
    exponent = GAS_CONSTANT_DRY_AIR / HEAT_CAPACITY_DRY_AIR
    potential = temperature * (_REFERENCE_PRESSURE / met.pressure[column]) ** exponent
    gradient = np.gradient(potential, levels, axis=0) if levels.size > 1 else np.zeros_like(potential)
    stability = GRAVITY * gradient / potential

    # boundary layer: convective for an upward buoyancy flux u*^3 / (k |L|), stable for a downward one
    friction, length = met.friction_velocity[cells], met.obukhov_length[cells]
    upward = -(friction * friction * friction) / (VON_KARMAN * length)
    mixed = levels[:, None] < met.boundary_layer_height[cells]
    convective = mixed & (upward > _LEAST_CONVECTION)
    stable = ~convective & ((stability > LEAST_STABILITY) | (mixed & (upward < -_LEAST_CONVECTION)))
    return AirAtStacks(
        np.maximum(wind, LEAST_WIND), np.maximum(stability, LEAST_STABILITY), convective, stable, friction, at_top,
        layer,
    )  # fmt: skip


def plume_rise(exhaust: Exhaust, air: AirAtStacks, layer_faces: Array) -> Array:
    """Return the height of the centres of plumes above their stacks [m], (stacks,).

    A plume with more flux than the air of all layers can use rises to the top of the model.
    """
    flux = exhaust.buoyancy_flux(air.temperature)
    by_momentum = _momentum_rise(exhaust, air)
    left, rise = flux.copy(), np.zeros_like(flux)
    rising = flux > 0.0
    for level in range(layer_faces.size - 1):
        bottom, top = (np.maximum(face - exhaust.height, 0.0) / PLUME_TOP for face in layer_faces[level : level + 2])
        layer = _Layer.of(air, level, exhaust.height, flux, bottom)
        whole = layer.used(top)
        ends = np.flatnonzero(rising & (left <= whole))
        rise[ends] = _height(layer.part(ends), left[ends], bottom[ends], top[ends])
        rising[ends] = False
        left, rise = left - whole, np.where(rising, top, rise)
    return np.maximum(rise, by_momentum)


@dataclass(frozen=True)
class _Layer:
    """Layer of the air of stacks: its formulas for the buoyancy that plumes use, all arrays (stacks,)."""

    wind: Array
    stability: Array
    convective: npt.NDArray[np.bool_]
    stable: npt.NDArray[np.bool_]
    friction: Array
    height: Array
    large: npt.NDArray[np.bool_]
    bottom: Array

    @classmethod
    def of(cls, air: AirAtStacks, level: int, height: Array, flux: Array, bottom: Array) -> Self:
        """Return a layer; flux is that of the exhaust, bottom the height above stacks of centres that enter it."""
        return cls(
            air.wind[level], air.stability[level], air.convective[level], air.stable[level], air.friction, height,
            flux >= _LARGE, bottom,
        )  # fmt: skip

    def part(self, rows: npt.NDArray[np.intp]) -> Self:
        """Return the layer for some stacks, by index."""
        return replace(self, **{each.name: getattr(self, each.name)[rows] for each in fields(self)})

    def used(self, rise: Array) -> Array:
        """Return the buoyancy flux [m4 s-3] that plumes use from the bottom of the layer to a rise [m]."""
        return np.maximum(
            self._by_stratification(rise) - self._by_stratification(self.bottom),
            self._by_friction(rise) - self._by_friction(self.bottom),
        )

    def _by_stratification(self, rise: Array) -> Array:
        wind = self.wind
        slope = np.where(self.large, (wind * rise / 38.71) ** (5.0 / 3.0), (wind * rise / 21.425) ** (4.0 / 3.0))
        relative = rise / 2.6
        cubic = wind * self.stability * (relative * relative * relative)
        return np.where(
            self.stable, cubic, np.where(self.convective, wind * (rise / 30.0) ** (5.0 / 3.0), slope)
        )  # fmt: skip

    def _by_friction(self, rise: Array) -> Array:
        height = np.maximum(self.height + rise, _LEAST_EXTENT)
        return np.asarray(
            self.wind * self.friction**2 * (rise / 1.2) ** (5.0 / 3.0) / height ** (2.0 / 3.0)
        )  # fmt: skip


def _height(layer: _Layer, flux: Array, low: Array, high: Array) -> Array:
    """Return the rise at which plumes have used their flux, between two heights, by bisection."""
    for _ in range(_HALVINGS if flux.size else 0):
        middle = 0.5 * (low + high)
        enough = layer.used(middle) >= flux
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _momentum_rise(exhaust: Exhaust, air: AirAtStacks) -> Array:
    """Return the rise by momentum [m], (stacks,)."""
    at = air.layer, np.arange(air.layer.size)
    wind, stability = air.wind[at], air.stability[at]
    neutral = 3.0 * exhaust.diameter * exhaust.velocity / wind
    flux = (exhaust.velocity * exhaust.diameter) ** 2 * air.temperature / (4.0 * exhaust.temperature)
    stable = 1.5 * np.cbrt(flux / wind) / stability ** (1.0 / 6.0)
    return np.where(air.stable[at], np.minimum(neutral, stable), neutral)


def layer_fractions(height: Array, rise: Array, layer_faces: Array) -> Array:
    """Return the fraction of each plume in each layer, (layers, stacks); each plume sums to one.

    The plume is uniform from h + r/2 to h + 3r/2, at least 1 m; a part above the highest layer is in that layer.
    """
    extent = np.maximum(rise, _LEAST_EXTENT)
    base = np.maximum(height + rise - 0.5 * extent, 0.0)
    lower, upper = layer_faces[:-1, None], layer_faces[1:, None]
    fractions = np.maximum(np.minimum(base + extent, upper) - np.maximum(base, lower), 0.0) / extent
    fractions[-1] += np.maximum(1.0 - fractions.sum(axis=0), 0.0)
    return np.asarray(fractions)


def highest_rise(exhaust: Exhaust) -> Array:
    """Return a bound of the rise in any weather [m], (stacks,): cold air, minimum wind, no friction."""
    flux = exhaust.buoyancy_flux(np.full_like(exhaust.temperature, 220.0))
    neutral = np.where(flux >= _LARGE, 38.71 * flux**0.6, 21.425 * flux**0.75)
    buoyant = np.maximum(np.maximum(neutral, 30.0 * flux**0.6), 2.6 * np.cbrt(flux / LEAST_STABILITY))
    return np.maximum(buoyant, 3.0 * exhaust.diameter * exhaust.velocity)
