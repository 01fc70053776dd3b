"""Vertical air flux from continuity, and how long a step may be."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def upward_air_flux(eastward: Array, northward: Array, change: Array) -> Array:
    """Return the air flux through the upper face of each cell that closes its air budget.

    F_up(k) = F_up(k-1) - dA/dt(k) - [F_e(i+1/2) - F_e(i-1/2)] - [F_n(j+1/2) - F_n(j-1/2)],  F_up = 0 at the ground

    eastward   [mol/s] (level, lat, lon + 1)      northward  [mol/s] (level, lat + 1, lon)
    change     [mol/s] (level, lat, lon)  dA/dt of the air content that the fluxes must reproduce
    returns    [mol/s] (level, lat, lon), the last one through the model's top
    """
    divergence = np.diff(eastward, axis=2) + np.diff(northward, axis=1)
    return np.asarray(-np.cumsum(divergence + change, axis=0))


def outflow_rate(eastward: Array, northward: Array, upward: Array, air: Array) -> Array:
    """Return the sum of the fluxes that leave each cell over its air content [1/s], (level, lat, lon).

    Times the step this is the sum of the Courant numbers over the directions, the measure for positivity.
    """
    out = np.maximum(eastward[:, :, 1:], 0.0) - np.minimum(eastward[:, :, :-1], 0.0)
    out += np.maximum(northward[:, 1:], 0.0) - np.minimum(northward[:, :-1], 0.0)
    out += np.maximum(upward, 0.0)
    out[1:] -= np.minimum(upward[:-1], 0.0)
    return np.asarray(out / air)
