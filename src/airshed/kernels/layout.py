"""Arrays in the order in which kernels walk through memory: [lat][block][...][W], W neighbouring columns to a block.

Python's arrays are (..., lat, lon). Lanes beyond the last longitude are padding: they repeat the last column, or hold
zero where a source or a flux must not act on them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.kernels import arrays
from airshed.kernels.host import AnyArray, aligned_empty, aligned_zeros
from airshed.kernels.operators import Operator

_REAL: Final = {"double": "double", "single": "float"}
_DTYPE: Final[Mapping[str, type[np.floating]]] = {"double": np.float64, "single": np.float32}


@dataclass(frozen=True)
class Shape:
    """What any kernel is compiled for: columns or cells in a pack, and "double" or "single" precision."""

    width: int
    precision: str

    @property
    def real(self) -> str:
        """The C++ type of the state."""
        return _REAL[self.precision]

    @property
    def dtype(self) -> type[np.floating]:
        """NumPy type of the state."""
        return _DTYPE[self.precision]


@dataclass(frozen=True)
class MechanismShape(Shape):
    """What the code is compiled for: levels of a column, elements whose atoms are counted, and where transport goes.

    Without `vertical` levels are apart: there is nothing implicit, and each has its own sums.

    operators  that act where transport goes
    own_terms  terms of budgets that operators add to, also those that act elsewhere
    """

    levels: int
    families: tuple[str, ...] = ()
    horizontal: bool = True
    vertical: bool = True
    operators: tuple[Operator, ...] = ()
    own_terms: tuple[str, ...] = ()


Padding = Literal["edge", "constant"]


@dataclass(frozen=True)
class Layout:
    """Division of a horizontal grid of rows (lat) x columns (lon) into blocks of `width` columns."""

    rows: int
    columns: int
    width: int
    dtype: type[np.floating]

    @property
    def blocks(self) -> int:
        """Blocks in a row."""
        return -(-self.columns // self.width)

    @property
    def last_lanes(self) -> int:
        """Columns in use in the last block of a row."""
        return self.columns - (self.blocks - 1) * self.width

    def zeros(self, *middle: int) -> AnyArray:
        """Return zeros [lat][block][middle...][W]."""
        return aligned_zeros((self.rows, self.blocks, *middle, self.width), self.dtype)

    def empty(self, *shape: int) -> AnyArray:
        """Return an array of any shape in the type of the state, to be written."""
        return aligned_empty(shape, self.dtype)

    def pack(self, field: npt.ArrayLike, *, padding: Padding = "edge") -> AnyArray:
        """Return (..., lat, lon) as [lat][block][...][W].

        padding  of the lanes beyond the last column: "edge" (the last column again) or "constant" (zero)
        One row or one column more than the grid has, as for the faces of cells, gives one row or one block more.
        """
        values = np.ascontiguousarray(field, dtype=np.float64)
        *middle, rows, columns = values.shape
        blocks = self.blocks + 1 if columns == self.columns + 1 else -(-columns // self.width)
        result = self.empty(rows, blocks, *middle, self.width)
        arrays.pack(values, result, repeat=padding == "edge")
        return result

    def unpack(self, packed: AnyArray) -> npt.NDArray[np.float64]:
        """Return what :meth:`pack` gives, also of faces, as (..., lat, lon) in double, padding left out."""
        columns = self.columns + (packed.shape[1] > self.blocks)
        split = np.moveaxis(packed, (0, 1), (-3, -2))
        joined = split.reshape(*split.shape[:-2], -1)
        return np.ascontiguousarray(joined[..., :columns], dtype=np.float64)

    def unpack_single(self, packed: AnyArray, target: AnyArray) -> None:
        """Fill (..., lat, lon) with [lat][block][...][W] in single precision, in a quarter of :meth:`unpack`'s time.

        Rounded first, as they lie in memory and to the target's byte order, W columns move as one item.
        """
        rounded = packed.astype(target.dtype, copy=False)
        item = np.dtype((np.void, rounded.itemsize * self.width))
        full = self.columns // self.width
        if full:
            inside = target[..., : full * self.width].view(item)
            inside[...] = np.moveaxis(rounded[:, :full].view(item)[..., 0], (0, 1), (-2, -1))
        if full < self.blocks:
            target[..., full * self.width :] = np.moveaxis(rounded[:, full], 0, -2)[..., : self.last_lanes]


@dataclass(frozen=True)
class PackedView:
    """A packed field [lat][block][level][W] to be read as (level, lat, lon) while it stays as it is."""

    layout: Layout
    packed: AnyArray

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels, rows and columns."""
        return self.packed.shape[2], self.layout.rows, self.layout.columns

    def copy_to(self, target: AnyArray, levels: slice | Sequence[int]) -> None:
        """Fill an array (level, lat, lon) of some levels."""
        self.layout.unpack_single(self.packed[:, :, levels], target)
