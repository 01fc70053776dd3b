"""Domain of a model and subdomain of a grid: the ranks, the part of this rank, and global sums."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from airshed.core import exact_sum
from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.exact_sum import Sums
from airshed.core.text import counted
from airshed.grid.axes import Axes
from airshed.grid.box import Box
from airshed.grid.window import Window
from airshed.kernels.boundary import FaceCells
from airshed.parallel.communicator import Communicator, SingleRank
from airshed.parallel.decomposition import Decomposition, Tile, even_cuts


def total(values: Array, ranks: Communicator, sums: Sums = exact_sum) -> Array:
    """Return exact sums over the first axis and all ranks: (summand, ...) -> (...)."""
    flat = np.ascontiguousarray(values, np.float64).reshape(len(values), -1)
    return totals(flat, ranks, sums).reshape(values.shape[1:])


def totals(values: Array, ranks: Communicator, sums: Sums = exact_sum) -> Array:
    """Return exact sums over an axis and all ranks: (..., summand, column) -> (..., column)."""
    greatest = ranks.largest(sums.magnitudes(values))
    return sums.value(ranks.total(sums.parts(values, greatest)), greatest)


class RankPartition:
    """Base of objects with one part on each rank."""

    ranks: Communicator

    @property
    def alone(self) -> bool:
        """True with a single rank."""
        return self.ranks.size == 1

    @property
    def is_root(self) -> bool:
        """True on rank 0, which writes messages for all ranks."""
        return self.ranks.rank == 0

    def greatest(self, value: float) -> float:
        """Return the maximum over all ranks."""
        return float(self.ranks.largest(np.array([value]))[0])


@dataclass(frozen=True)
class Subdomain(RankPartition):
    """Ranks of a run and the tile of this rank; global results are the same on all ranks."""

    ranks: Communicator
    decomposition: Decomposition

    @classmethod
    def of(
        cls, rows: int, columns: int, width: int, ranks: Communicator | None = None,
        tiles: tuple[int, int] | None = None,
    ) -> Self:  # fmt: skip
        """Return this rank's subdomain of a grid; raise CaseError for a grid that cannot be divided or summed
        exactly.
        """
        if rows * columns > exact_sum.MOST:
            raise CaseError(f"{rows} x {columns} columns are more than the {exact_sum.MOST} that sums are exact for")
        ranks = ranks or SingleRank()
        return cls(ranks, Decomposition.of(rows, columns, width, ranks.size, tiles))

    @cached_property
    def tile(self) -> Tile:
        """Tile of this rank."""
        return self.decomposition.tile(self.ranks.rank)

    @property
    def window(self) -> Window:
        """Columns of this rank."""
        return self.tile.window

    def total(self, values: Array, sums: Sums = exact_sum) -> Array:
        """Return the sums over the first axis and all ranks, bitwise identical for any number of ranks."""
        return total(values, self.ranks, sums)

    def totals(self, values: Array, sums: Sums = exact_sum) -> Array:
        """Return the sums over the second axis and all ranks, (step, summand, column) -> (step, column)."""
        return totals(values, self.ranks, sums)

    def total_over_columns(self, field: Array) -> Array:
        """Return the sums over (..., lat, lon) of the whole grid: (...)."""
        rows, columns = field.shape[-2:]
        return self.total(np.moveaxis(field.reshape(*field.shape[:-2], rows * columns), -1, 0))

    def mean_over_columns(self, field: Array) -> Array:
        """Return the means over (..., lat, lon) of the whole grid: (...)."""
        return self.total_over_columns(field) / (self.decomposition.rows * self.decomposition.columns)

    def whole(self, field: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the field (..., lat, lon) of the whole grid on every rank."""
        if self.alone:
            return field
        decomposition = self.decomposition
        result = np.empty((*field.shape[:-2], decomposition.rows, decomposition.columns), field.dtype)
        for tile, part in zip(decomposition.tiles(), self.ranks.gather_all(field), strict=True):
            tile.window.of(result)[...] = part
        return result

    def whole_faces(self, field: Array) -> Array:
        """Return the values along the lateral faces (..., face cell) of the whole grid on every rank.

        field  around this rank's columns; sides with a neighbour are ignored
        """
        if self.alone:
            return field
        decomposition = self.decomposition
        around = FaceCells(decomposition.rows, decomposition.columns)
        result = np.zeros((*field.shape[:-1], around.count))
        for tile, part in zip(decomposition.tiles(), self.ranks.gather_all(field), strict=True):
            window = tile.window
            for side, values in FaceCells(*window.shape).split(part).items():
                if decomposition.neighbour(tile.rank, side) is None:
                    along = window.rows if side in ("west", "east") else window.columns
                    result[..., around.places[side]][..., along] = values
        return result


class TileLayout(Protocol):
    """Model-specific order of the cells of a rank in the tiled arrays of a snapshot."""

    def pack(self, field: Array) -> npt.NDArray[Any]:
        """Return a field (..., divided dimensions) as a tiled array."""
        ...

    def unpack(self, packed: npt.NDArray[Any]) -> Array:
        """Return the field of a tiled array."""
        ...


@dataclass(frozen=True)
class Domain(RankPartition):
    """Coordinates of the whole domain, the ranks that divide it, and the part of this rank.

    box         cells of this rank along the divided dimensions, as in its fields
    held        cells along the first axes of the tiled arrays of a snapshot, whose order may be specific to the model
    attributes  statements about the input for the results, such as licences of data
    tiling      that order, in double precision; None if the divided dimensions are only moved to the front
    """

    axes: Axes
    ranks: Communicator
    box: Box
    held: Box
    attributes: Mapping[str, str] = field(default_factory=dict)
    tiling: TileLayout | None = None

    @classmethod
    def even(cls, axes: Axes, ranks: Communicator | None = None) -> Self:
        """Return a domain without neighbours: the first divided dimension is cut into even parts.

        Raises CaseError for more ranks than cells, and for several ranks if the domain cannot be divided.
        """
        ranks = ranks or SingleRank()
        if not axes.divided and ranks.size > 1:
            raise CaseError(f"the model has no dimension that {ranks.size} ranks could divide; run it on 1 rank")
        if not axes.divided:
            return cls(axes, ranks, axes.whole, axes.whole)
        (_, size), *others = axes.whole.ends
        if size < ranks.size:
            there = counted(size, "cell")
            raise CaseError(f"{ranks.size} ranks cannot share {there} along {axes.divided[0]}; use at most {size}")
        first, last = even_cuts(size, ranks.size)[ranks.rank : ranks.rank + 2]
        box = Box(((first, last), *others))
        return cls(axes, ranks, box, box)

    @cached_property
    def cells(self) -> int:
        """Number of cells of the whole domain."""
        return prod(self.axes.sizes.values())

    def tiled(self, field: Array) -> npt.NDArray[Any]:
        """Return a field of this rank as a tiled array of a snapshot, with :attr:`held` first."""
        if self.tiling is not None:
            return self.tiling.pack(field)
        count = len(self.held.ends)
        return np.moveaxis(field, range(-count, 0), range(count))

    def field_of(self, tiled: npt.NDArray[Any]) -> Array:
        """Return the field of a tiled array of this rank."""
        if self.tiling is not None:
            return self.tiling.unpack(tiled)
        count = len(self.held.ends)
        return np.moveaxis(tiled, range(count), range(-count, 0))

    def total(self, values: Array) -> Array:
        """Return the sums over the first axis and all ranks, bitwise identical for any number of ranks."""
        return total(values, self.ranks)

    def whole(self, field: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the whole field, assembled from all ranks, on every rank."""
        if self.alone:
            return field
        result = np.empty((*self.box.undivided(field.shape), *self.axes.whole.shape), field.dtype)
        for box, part in self.ranks.gather_all((self.box, field)):
            box.of(result)[...] = part
        return result
