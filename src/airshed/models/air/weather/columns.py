"""Columns of ERA5 at the points of the data: pressures, heights, and means over the model layers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT_DRY_AIR, GRAVITY, MOLAR_MASS_DRY_AIR
from airshed.core.errors import DataError
from airshed.kernels.arrays import column_integrals, column_values
from airshed.models.air.weather import atmosphere


@dataclass
class Columns:
    """Levels of an instant from the ground up, (level, lat, lon); pressures decrease, and equal ps below ground."""

    pressure: Array
    surface_pressure: Array
    east: Array
    north: Array
    water_vapour: Array
    temperature: Array
    """[K], diagnosed if the data has none"""
    geopotential: Array | None = None
    """[m2 s-2] above any reference level, None if heights follow from temperature"""
    ground_wind: tuple[Array, Array] | None = None
    """[m/s] at 10 m, used at the ground; None: the wind is constant below the lowest level"""
    ground_vapour: Array | None = None
    """[mol/mol] near the ground; None: humidity is constant below the lowest level"""
    ground_temperature: Array | None = None
    """[K] near the ground; None: temperature is constant below the lowest level"""
    heights: Array | None = None
    """[m] above the ground, where the data has them"""
    extra: Mapping[str, Array] = field(default_factory=dict)
    """Fields that some processes need, by name"""


def above_ground(pressure: Array, surface_pressure: Array, values: Array, ground: Array | None = None) -> Array:
    """Return level values in which levels below the ground have the value of the lowest level above it.

    With ``ground`` they have that value instead: the field is then linear from the ground up.
    """
    if (pressure[0] < surface_pressure).all():  # and all other levels, since pressures decrease
        return values
    filled = values.copy()
    for level in range(filled.shape[0] - 2, -1, -1):
        buried = pressure[level] >= surface_pressure
        if buried.any():
            filled[level] = np.where(buried, filled[level + 1] if ground is None else ground, filled[level])
    return filled


def layer_means(columns: Columns, faces: Array) -> tuple[Array, dict[str, Array]]:
    """Return pressures at ``faces`` [m above ground], and means over the layers of fields linear in height.

    The means (layer, lat, lon) are for "east", "north", "water_vapour", "temperature", and the extra fields.
    Fields without a value at the ground are constant below the lowest level. The pressure at the faces is hydrostatic:
    ln p = ln ps - integral of g / (R Tv) dz. The inverse of temperature is linear in height and averaged, as there.
    raises  DataError if the data does not reach the top of the layers
    """
    # Values of levels and of the ground, the first node: nodes[0] is the inverse scale height.
    ps = columns.surface_pressure
    fields = {
        "east": columns.east, "north": columns.north, "water_vapour": columns.water_vapour,
        "temperature": columns.temperature, **columns.extra,
    }  # fmt: skip
    at_ground = dict(zip(("east", "north"), columns.ground_wind or (), strict=False))
    ground_values = {"water_vapour": columns.ground_vapour, "temperature": columns.ground_temperature}
    at_ground |= {name: values for name, values in ground_values.items() if values is not None}
    nodes = np.empty((1 + len(fields), len(columns.pressure) + 1, *ps.shape))
    for (name, values), node in zip(fields.items(), nodes[1:], strict=True):
        ground = at_ground.get(name)
        node[1:] = above_ground(columns.pressure, ps, values, ground)
        node[0] = node[1] if ground is None else ground
    inverse, _, _, vapour, temperature = nodes[:5]
    virtual = atmosphere.virtual_temperature(temperature, vapour)
    inverse[...] = atmosphere.inverse_scale_height(virtual)
    np.divide(1.0, temperature, out=temperature)

    # Heights of the nodes, and integrals from the ground up.
    pressure = np.minimum(columns.pressure, ps)
    heights = _heights(columns, pressure, virtual, inverse)
    lowest_top = float(heights[-1].min())
    if lowest_top < faces[-1]:
        raise DataError(
            f"the data reaches up to {lowest_top:.0f} m above ground, the model's layers to {faces[-1]:.0f} m; "
            "give data on higher levels or fewer layers"
        )
    integrals = column_integrals(heights, nodes, faces)
    log_pressure = np.log(ps) - integrals[0]
    if columns.geopotential is not None or columns.heights is not None:
        # heights may deviate slightly from the temperature in the data: the pressures of levels have priority
        upwards = np.zeros_like(heights)
        np.cumsum(0.5 * np.diff(heights, axis=0) * (inverse[1:] + inverse[:-1]), axis=0, out=upwards[1:])
        hydrostatic = np.log(ps) - upwards
        given = np.log(np.concatenate([ps[None], pressure]))
        log_pressure += column_values(heights, (given - hydrostatic)[None], faces)[0]
    means = np.diff(integrals[1:], axis=1)
    means /= np.diff(faces)[:, None, None]
    found = dict(zip(fields, means, strict=True))
    return np.exp(log_pressure), found | {"temperature": 1.0 / found["temperature"]}


def _heights(columns: Columns, pressure: Array, virtual: Array, inverse: Array) -> Array:
    """Return the heights of the nodes above ground [m], from geopotential or hypsometric.

    reads  pressure [Pa] of the levels, virtual [K] and inverse, its inverse scale height [1/m], of the nodes
    """
    heights = np.zeros_like(virtual)
    if columns.heights is not None:
        heights[1:] = columns.heights
        return heights
    if columns.geopotential is None:
        heights[1:] = atmosphere.hypsometric_heights(pressure, inverse[1:], columns.surface_pressure)
        heights[1:] += heights[1] * (inverse[1] / (0.5 * (inverse[0] + inverse[1])) - 1.0)  # from the ground's value
        return heights
    height = columns.geopotential / GRAVITY
    ground = height_of_pressure(columns.pressure, height, virtual[1:], columns.surface_pressure)
    above = np.where(columns.pressure < columns.surface_pressure, height - ground, 0.0)
    np.maximum(above, 0.0, out=heights[1:])
    return heights


def height_of_pressure(pressure: Array, height: Array, virtual: Array, target: Array) -> Array:
    """Return the height [m] of the pressure ``target`` (lat, lon) in columns, linear in ln p between levels.

    Below the lowest level: hypsometric with the virtual temperature of that level.
    """
    above = np.clip(np.sum(pressure > target, axis=0), 1, pressure.shape[0] - 1)[None]
    low, high = above - 1, above
    p_low, p_high = (np.take_along_axis(pressure, index, axis=0)[0] for index in (low, high))
    z_low, z_high = (np.take_along_axis(height, index, axis=0)[0] for index in (low, high))
    fraction = np.log(p_low / target) / np.log(p_low / p_high)
    inside = z_low + fraction * (z_high - z_low)
    below = height[0] - np.log(target / pressure[0]) / atmosphere.inverse_scale_height(virtual[0])
    return np.asarray(np.where(target > pressure[0], below, inside))


def pressure_of_height(pressure: Array, height: Array, virtual: Array, target: Array) -> Array:
    """Return the pressure [Pa] at the height ``target`` [m] (lat, lon) in columns, ln p linear between levels.

    Below the lowest level: hypsometric with the virtual temperature of that level.
    """
    above = np.clip(np.sum(height < target, axis=0), 1, height.shape[0] - 1)[None]
    low, high = above - 1, above
    p_low, p_high = (np.take_along_axis(pressure, index, axis=0)[0] for index in (low, high))
    z_low, z_high = (np.take_along_axis(height, index, axis=0)[0] for index in (low, high))
    inside = p_low * (p_high / p_low) ** ((target - z_low) / (z_high - z_low))
    below = pressure[0] * np.exp((height[0] - target) * atmosphere.inverse_scale_height(virtual[0]))
    return np.asarray(np.where(target < height[0], below, inside))


def thickness_temperature(pressure: Array, geopotential: Array, water_vapour: Array) -> Array:
    """Return the temperature [K] of levels from the geopotential between them: Tv = d(gz) / (R d ln(1/p)).

    It is the mean over the two neighbours of a level; at the ends that of the single neighbour.
    """
    virtual = np.diff(geopotential, axis=0) / (GAS_CONSTANT_DRY_AIR * np.log(pressure[:-1] / pressure[1:]))
    nodes = np.concatenate([virtual[:1], 0.5 * (virtual[1:] + virtual[:-1]), virtual[-1:]])
    return np.asarray(nodes * atmosphere.molar_mass(water_vapour) / MOLAR_MASS_DRY_AIR)
