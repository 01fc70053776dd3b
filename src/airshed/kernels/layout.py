"""Memory layout of kernels: [lat][block][...][W], with W neighbouring columns in a block.

Arrays in Python are (..., lat, lon). Lanes beyond the last longitude are padding: they repeat the last column, or are
zero where a source or a flux must not act on them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.kernels import arrays
from airshed.kernels.host import HOST, AnyArray, Memory, aligned_empty, aligned_zeros
from airshed.kernels.operators import Operator

_REAL: Final = {"double": "double", "single": "float"}
_DTYPE: Final[Mapping[str, type[np.floating]]] = {"double": np.float64, "single": np.float32}


@dataclass(frozen=True)
class Shape:
    """Compile-time options of any kernel: columns or cells per pack, and "double" or "single" precision."""

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
    """Compile-time options of a step: levels of a column, families of counted atoms, and directions of transport.

    Without `vertical` the levels are independent: nothing is implicit, and each level has its own sums.

    operators  operators in the directions of transport
    own_terms  budget terms of operators, including operators that act in other directions
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
    """Division of a horizontal grid of rows (lat) x columns (lon) into blocks of `width` columns.

    memory  of all arrays of steps
    """

    rows: int
    columns: int
    width: int
    dtype: type[np.floating]
    memory: Memory = field(default=HOST, compare=False, repr=False)

    @property
    def blocks(self) -> int:
        """The number of blocks in a row."""
        return -(-self.columns // self.width)

    @property
    def last_lanes(self) -> int:
        """The number of columns in use in the last block of a row."""
        return self.columns - (self.blocks - 1) * self.width

    def zeros(self, *middle: int) -> AnyArray:
        """Return zeros [lat][block][middle...][W]."""
        return self.array((self.rows, self.blocks, *middle, self.width), self.dtype)

    def array(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
        """Return zeros of any shape and type."""
        return aligned_zeros(shape, dtype, self.memory)

    def empty(self, *shape: int) -> AnyArray:
        """Return an array of any shape in the type of the state, uninitialised in memory of the host."""
        return aligned_empty(shape, self.dtype, self.memory)

    def pack(self, field: npt.ArrayLike, *, padding: Padding = "edge") -> AnyArray:
        """Return (..., lat, lon) as [lat][block][...][W].

        padding  of the lanes beyond the last column: "edge" (repeat the last column) or "constant" (zero).

        A field with one row or one column more than the grid, as at cell faces, has one row or one block more.
        """
        values = np.ascontiguousarray(field, dtype=np.float64)
        *middle, rows, columns = values.shape
        blocks = self.blocks + 1 if columns == self.columns + 1 else -(-columns // self.width)
        result = self.empty(rows, blocks, *middle, self.width)
        arrays.pack(values, result, repeat=padding == "edge")
        return result

    def unpack(self, packed: AnyArray) -> npt.NDArray[np.float64]:
        """Return a packed field as (..., lat, lon) in double, without padding: the inverse of :meth:`pack`."""
        columns, packed = self.columns + (packed.shape[1] > self.blocks), self.memory.fetch(packed)
        split = np.moveaxis(packed, (0, 1), (-3, -2))
        joined = split.reshape(*split.shape[:-2], -1)
        return np.ascontiguousarray(joined[..., :columns], dtype=np.float64)

    def unpack_single(self, packed: AnyArray, target: AnyArray) -> None:
        """Fill (..., lat, lon) from [lat][block][...][W] in single precision, four times as fast as :meth:`unpack`.

        Values are first rounded in packed order and in the byte order of the target; then W columns move as one item.
        """
        rounded = packed.astype(target.dtype, copy=False)
        item = np.dtype((np.void, rounded.itemsize * self.width))
        full = self.columns // self.width
        if full:
            inside = target[..., : full * self.width].view(item)
            inside[...] = np.moveaxis(rounded[:, :full].view(item)[..., 0], (0, 1), (-2, -1))
        if full < self.blocks:
            target[..., full * self.width :] = np.moveaxis(rounded[:, full], 0, -2)[..., : self.last_lanes]


def repack(source: AnyArray, target: AnyArray) -> None:
    """Copy a packed field [lat][block][...][W] into packs of another width, one of which is a multiple of the other.

    Lanes of wide packs beyond the last narrow pack repeat its last lane.
    """
    wide, narrow = (source, target) if source.shape[-1] > target.shape[-1] else (target, source)
    width = narrow.shape[-1]
    ratio = wide.shape[-1] // width
    for number in range(ratio):
        packs = narrow[:, number::ratio]
        lanes = wide[:, : packs.shape[1], ..., number * width : (number + 1) * width]
        if wide is source:
            packs[...] = lanes
        else:
            lanes[...] = packs
    if wide is target:
        used = narrow.shape[1] * width - (wide.shape[1] - 1) * wide.shape[-1]
        wide[:, -1, ..., used:] = wide[:, -1, ..., used - 1 : used]


@dataclass(frozen=True)
class PackedView:
    """View of a packed field [lat][block][level][W] as (level, lat, lon); the field must not change meanwhile."""

    layout: Layout
    packed: AnyArray

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels, rows and columns."""
        return self.packed.shape[2], self.layout.rows, self.layout.columns

    def copy_to(self, target: AnyArray, levels: slice | Sequence[int]) -> None:
        """Copy some levels to an array (level, lat, lon); memory of a device is read from the lowest to the highest."""
        memory = self.layout.memory
        if isinstance(levels, slice):
            found = memory.fetch(self.packed[:, :, levels])
        else:
            count = self.packed.shape[2]
            chosen = np.arange(count)[levels]
            first, end = chosen.min(initial=count), chosen.max(initial=-1) + 1
            found = memory.fetch(self.packed[:, :, first:end])[:, :, chosen - first]
        self.layout.unpack_single(found, target)
