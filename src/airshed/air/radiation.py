"""Sunlight at the ground under cloud, as plants and surfaces see it."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def global_radiation(cos_zenith: Array, cloud_cover: Array) -> Array:
    """Return the solar radiation that reaches the ground.

    G = max(0, 910 cos z - 30) (1 - 0.75 n^3.4)

    reads    cos_zenith [1], cloud_cover [1], of one shape
    returns  same shape [W m-2]
    source   Kasten & Czeplak 1980, Solar Energy 24, 177-189 (Hamburg, ten years)
    """
    clear = np.maximum(910.0 * np.asarray(cos_zenith) - 30.0, 0.0)
    return np.asarray(clear * (1.0 - 0.75 * np.clip(cloud_cover, 0.0, 1.0) ** 3.4))


def photon_flux(cos_zenith: Array, cloud_cover: Array) -> Array:
    """Return the photosynthetically active photons (400 to 700 nm) that reach the ground.

    Q = 4.57 umol/J * 0.45 G

    reads    cos_zenith [1], cloud_cover [1], of one shape
    returns  same shape [umol m-2 s-1]
    source   McCree 1972, Agric. Meteorol. 10, 443-453: photons per energy; Papaioannou et al. 1993, Theor. Appl.
             Climatol. 48, 23-27, and others: the share of 0.45
    """
    return 4.57 * 0.45 * global_radiation(cos_zenith, cloud_cover)
