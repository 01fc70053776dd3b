"""Vertical air flux from continuity, and how long a step may be."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from airshed.kernels.one_pass import one_pass

Array = npt.NDArray[np.float64]


def upward_air_flux(eastward: Array, northward: Array, change: Array) -> Array:
    """Return the air flux through the upper face of each cell that closes its air budget.

    F_up(k) = F_up(k-1) - dA/dt(k) - [F_e(i+1/2) - F_e(i-1/2)] - [F_n(j+1/2) - F_n(j-1/2)],  F_up = 0 at the ground

    eastward   [mol/s] (level, lat, lon + 1)      northward  [mol/s] (level, lat + 1, lon)
    change     [mol/s] (level, lat, lon)  dA/dt of the air content that the fluxes must reproduce
    returns    [mol/s] (level, lat, lon), the last one through the model's top
    """
    upward = _loss(*_sides(eastward, northward), change)
    for below, here in pairwise(upward):  # NumPy's cumsum goes along columns, where this goes through memory
        here += below
    return upward


def outflow_rate(eastward: Array, northward: Array, upward: Array, air: Array) -> Array:
    """Return the sum of the fluxes that leave each cell over its air content [1/s], (level, lat, lon).

    Times the step this is the sum of the Courant numbers over the directions, the measure for positivity.
    """
    below = np.zeros_like(upward)
    below[1:] = upward[:-1]
    return _outflow_rate(*_sides(eastward, northward), below, upward, air)


def _sides(eastward: Array, northward: Array) -> tuple[Array, Array, Array, Array]:
    """Return the fluxes through the west, east, south and north faces of each cell."""
    return eastward[:, :, :-1], eastward[:, :, 1:], northward[:, :-1], northward[:, 1:]


@one_pass
def _loss(west: Array, east: Array, south: Array, north: Array, change: Array) -> Array:
    return -((east - west) + (north - south) + change)


@one_pass
def _outflow_rate(
    west: Array, east: Array, south: Array, north: Array, below: Array, above: Array, air: Array
) -> Array:  # fmt: skip
    out: Array = (np.maximum(east, 0.0) - np.minimum(west, 0.0)) + (np.maximum(north, 0.0) - np.minimum(south, 0.0))
    return (out + np.maximum(above, 0.0) - np.minimum(below, 0.0)) / air
