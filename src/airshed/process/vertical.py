"""Vertical air flux and Courant numbers; weights on layers of unequal thickness; turbulent exchange."""

from itertools import pairwise

import numpy as np

from airshed.core.arrays import Array
from airshed.kernels.one_pass import one_pass


def upward_air_flux(eastward: Array, northward: Array, change: Array) -> Array:
    """Return the air flux through the upper face of each cell that closes the air budget of the cell.

    F_up(k) = F_up(k-1) - dA/dt(k) - [F_e(i+1/2) - F_e(i-1/2)] - [F_n(j+1/2) - F_n(j-1/2)],  F_up = 0 at the ground

    eastward   [mol/s] (level, lat, lon + 1)      northward  [mol/s] (level, lat + 1, lon)
    change     [mol/s] (level, lat, lon)  dA/dt of the air content, to be matched by the fluxes
    returns    [mol/s] (level, lat, lon), the last one through the top of the model
    """
    upward = _loss(*_sides(eastward, northward), change)
    for below, here in pairwise(upward):  # faster than NumPy's cumsum, which runs along columns
        here += below
    return upward


def outflow_rate(eastward: Array, northward: Array, upward: Array, air: Array) -> Array:
    """Return the sum of the fluxes that leave each cell over its air content [1/s], (level, lat, lon).

    Times the step this is the sum of the Courant numbers over the directions, which must not exceed 1 for positivity.
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


_EQUAL = (
    1.0 / 3.0,
    1.0 / 6.0,
)  # kappa = 1/3 on equal cells; also without a second upstream neighbour, where only the limiter acts


def parabola_weights(thickness: Array) -> Array:
    """Return (alpha, beta) of each upper face for upward flow, then for downward flow: (level, 4).

        q_face = q_0 + alpha (q_+ - q_0) + beta (q_0 - q_-)

    is the value at the downstream face of a parabola, third order. The parabola has the means of the upstream cell (0),
    the cell before it (-) and the cell behind the face (+):

        alpha = h_0 (h_- + h_0) / ((h_0 + h_+)(h_- + h_0 + h_+)),   beta = h_0 h_+ / ((h_- + h_0)(h_- + h_0 + h_+))

    and 1/3, 1/6 for equal thickness h. Source: Colella & Woodward 1984, J. Comput. Phys. 54, 174-201, section 1.
    """
    levels = thickness.size
    weights = np.tile(np.array(_EQUAL * 2), (levels, 1))
    for k in range(levels - 1):
        if k > 0:
            weights[k, :2] = _parabola(thickness[k - 1], thickness[k], thickness[k + 1])
        if k + 2 < levels:
            weights[k, 2:] = _parabola(thickness[k + 2], thickness[k + 1], thickness[k])
    return weights


def _parabola(before: float, here: float, behind: float) -> tuple[float, float]:
    whole = before + here + behind
    return here * (before + here) / ((here + behind) * whole), here * behind / ((before + here) * whole)


def turbulent_exchange(density: Array, diffusivity: Array, area: Array, thickness: Array) -> Array:
    """Return the turbulent exchange of air through upper faces of cells [mol/s], (level, lat, lon), 0 at the top.

    E = rho_f K a / dz, second order and symmetric: each layer gains the loss of the other.

    density      [mol m-3] (level, lat, lon)      diffusivity  [m2/s] (level + 1, lat, lon) at layer faces
    area         [m2] of a cell, broadcastable to (lat, lon)         thickness  [m] (level,)
    """
    between = 0.5 * (thickness[1:] + thickness[:-1])
    share = (thickness[:-1] / (thickness[1:] + thickness[:-1]))[:, None, None]
    exchange = np.empty_like(density)
    exchange[-1] = 0.0
    _exchange(density[:-1], density[1:], share, diffusivity[1:-1], area, between[:, None, None], out=exchange[:-1])
    return exchange


@one_pass
def _exchange(below: Array, above: Array, share: Array, diffusivity: Array, area: Array, between: Array) -> Array:
    return (below * (1.0 - share) + above * share) * diffusivity * area / between
