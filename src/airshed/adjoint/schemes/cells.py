"""Mixing ratios of the packed state as cells that the chemistry's adjoint and tangent take, and back again."""

import numpy as np

from airshed.kernels.memory import AnyArray, aligned_zeros


def cells_of(packed: AnyArray, species: int) -> AnyArray:
    """Return [lat][block][species][level][W] as (pack, species, W); further species, up to so many, are zero."""
    rows, blocks, known, levels, width = packed.shape
    cells = aligned_zeros((rows * blocks * levels, species, width), np.float64)
    cells.reshape(rows, blocks, levels, species, width)[:, :, :, :known] = np.moveaxis(packed, 2, 3)
    return cells


def put_cells(cells: AnyArray, packed: AnyArray) -> None:
    """Fill [lat][block][species][level][W] with cells, their further species left out."""
    rows, blocks, known, levels, width = packed.shape
    split = cells.reshape(rows, blocks, levels, cells.shape[1], width)[:, :, :, :known]
    packed[...] = np.moveaxis(split, 3, 2)
