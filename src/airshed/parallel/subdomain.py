"""A rank's subdomain: the communicator, how the grid is decomposed, and the tile that this rank holds."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from airshed.core import exact_sum
from airshed.core.errors import CaseError
from airshed.grid.window import Window
from airshed.kernels.backend import Sums
from airshed.kernels.boundary import FaceCells
from airshed.parallel.communicator import Alone, Communicator
from airshed.parallel.decomposition import Decomposition, Tile

Array = npt.NDArray[np.float64]


def total(values: Array, ranks: Communicator, sums: Sums = exact_sum) -> Array:
    """Exact shared reduction: return the sums over the first axis and all ranks: (summand, ...) -> (...)."""
    flat = np.ascontiguousarray(values, np.float64).reshape(len(values), -1)
    return totals(flat, ranks, sums).reshape(values.shape[1:])


def totals(values: Array, ranks: Communicator, sums: Sums = exact_sum) -> Array:
    """Return the sums over an axis and all ranks: (..., summand, column) -> (..., column)."""
    greatest = ranks.largest(sums.magnitudes(values))
    return sums.value(ranks.total(sums.parts(values, greatest)), greatest)


@dataclass(frozen=True)
class Subdomain:
    """The ranks of a run and the tile of this one; what it computes over the whole grid is the same on every rank."""

    ranks: Communicator
    decomposition: Decomposition

    @classmethod
    def of(
        cls, rows: int, columns: int, width: int, ranks: Communicator | None = None,
        tiles: tuple[int, int] | None = None,
    ) -> Self:  # fmt: skip
        """Return this rank's subdomain of a grid; raises CaseError for a grid that cannot be divided so, or summed."""
        if rows * columns > exact_sum.MOST:
            raise CaseError(f"{rows} x {columns} columns are more than the {exact_sum.MOST} that sums are exact for")
        ranks = ranks or Alone()
        return cls(ranks, Decomposition.of(rows, columns, width, ranks.size, tiles))

    @cached_property
    def tile(self) -> Tile:
        """The tile of this rank."""
        return self.decomposition.tile(self.ranks.rank)

    @property
    def window(self) -> Window:
        """The columns of this rank."""
        return self.tile.window

    @property
    def alone(self) -> bool:
        """Whether there is no other rank."""
        return self.ranks.size == 1

    @property
    def is_root(self) -> bool:
        """Whether this is rank 0, which writes messages for all."""
        return self.ranks.rank == 0

    def total(self, values: Array, sums: Sums = exact_sum) -> Array:
        """Return the sums over the first axis and all ranks, the same bits for any number of them."""
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

    def greatest(self, value: float) -> float:
        """Return the maximum over all ranks."""
        return float(self.ranks.largest(np.array([value]))[0])

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
        """Return what lies along the lateral faces (..., face cell) of the whole grid on every rank.

        field  around this rank's columns, where sides on which a neighbour goes on do not count
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
