"""Vertical discretisation on layers of unequal thickness."""

import numpy as np
import numpy.typing as npt

from airshed.kernels.one_pass import one_pass

Array = npt.NDArray[np.float64]

_EQUAL = (
    1.0 / 3.0,
    1.0 / 6.0,
)  # kappa = 1/3 on equal cells; also where a neighbour is missing and only the limiter acts


def parabola_weights(thickness: Array) -> Array:
    """Return (alpha, beta) of each upper face for upward flow, then for downward flow: (level, 4).

    q_face = q_0 + alpha (q_+ - q_0) + beta (q_0 - q_-) is the value at the downstream face of the parabola through
    the means of the upstream cell (0), the one before (-) and the one behind the face (+), third order:

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
    """Return the air that turbulence exchanges through upper faces of cells [mol/s], (level, lat, lon), 0 at the top.

    E = rho_f K a / dz, second order, symmetric: what one layer loses the other gains.

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
