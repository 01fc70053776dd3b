"""Compiled operations on plain arrays that need several passes in NumPy; independent of mechanisms and fields.

The results are bitwise identical to the same operations in NumPy: no contraction, no reordered sums.
"""

import ctypes
from functools import cache
from itertools import chain
from math import prod

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.grid.weights import Weights
from airshed.kernels.cpp import header
from airshed.kernels.host import address
from airshed.kernels.toolchain import host_functions


@cache
def _functions() -> ctypes.CDLL:
    return host_functions(header("arrays.hpp"), name="arrays")


def pack(field: Array, packed: npt.NDArray[np.floating], *, repeat: bool) -> None:
    """Write a field (..., row, column) into [row][block][...][lane], of single or double precision.

    repeat  whether lanes beyond the last column repeat its values; otherwise they are zero
    Raises KernelError when there is no compiler.
    """
    *_, rows, columns = field.shape
    blocks, width = packed.shape[1], packed.shape[-1]
    functions = _functions()
    write = functions.airshed_pack_double if packed.dtype == np.float64 else functions.airshed_pack_single
    if packed.size:
        outer = packed.size // (rows * blocks * width)
        write(address(field), outer, rows, columns, blocks, width, repeat, address(packed))


def column_integrals(heights: Array, values: Array, faces: Array) -> Array:
    """Return the integrals of fields that are linear between the nodes of columns, from the lowest node to each face.

    heights  (node, ...)  of each column, ascending; equal heights are allowed
    values   (field, node, ...)
    faces    (face,)  ascending, at or below the last node of each column
    returns  (field, face, ...)
    Raises KernelError when there is no compiler.
    """
    return _in_columns(_functions().airshed_column_integrals, heights, values, faces)


def column_values(heights: Array, values: Array, faces: Array) -> Array:
    """Return fields, linear between the nodes of columns, at faces; arguments as of :func:`column_integrals`."""
    return _in_columns(_functions().airshed_column_values, heights, values, faces)


def _in_columns(function: "ctypes._FuncPointer", heights: Array, values: Array, faces: Array) -> Array:
    heights, values, faces = (np.ascontiguousarray(each, dtype=np.float64) for each in (heights, values, faces))
    fields, nodes, *across = values.shape
    result = np.empty((fields, faces.size, *across))
    columns = heights.size // nodes
    function(address(heights), address(values), address(faces), fields, nodes, columns, faces.size, address(result))
    return result


def weighted(lat: Weights, field: Array, lon: Weights) -> Array:
    """Return a field (..., lat, lon) at the targets of weights: one-pass form of :func:`airshed.grid.weights.apply`.

    Raises KernelError when there is no compiler.
    """
    field = np.ascontiguousarray(field, dtype=np.float64)
    *outer, rows, columns = field.shape
    result = np.empty((*outer, lat.first.size, lon.first.size))
    bands = ((address(of.first), address(of.weight), *of.weight.shape) for of in (lat, lon))
    if result.size:
        _functions().airshed_weighted(address(field), prod(outer), rows, columns, *chain(*bands), address(result))
    return result
