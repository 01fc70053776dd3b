"""An all-gather of packed fields: each rank computes them for one tile and receives those of the other tiles.

Any number of ranks is possible: they form as few sets as allow a decomposition with one tile for each rank of a set.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from airshed.kernels.host import AnyArray, aligned_empty
from airshed.parallel.communicator import Alone, Communicator, MpiRanks
from airshed.parallel.decomposition import Decomposition, Tile, even_cuts, fits
from airshed.parallel.waiting import all_of

if TYPE_CHECKING:
    from mpi4py import MPI

Wanted = slice | list[int]
"""Which levels or species of a field are wanted, along its axis after [lat][block]."""


class Allgather:
    """The set of ranks that together compute fields of the whole area; all ranks of a group make one at the same time.

    rows, columns, width  of the grid and of a pack
    ranks                 of this set
    """

    def __init__(self, group: Communicator, rows: int, columns: int, width: int) -> None:
        cuts = allgather_cuts(group.size, rows, columns, width)
        self._group = self.ranks = group
        if len(cuts) > 2:
            self.ranks = _part(group, bisect_right(cuts, group.rank))
        decomposition = Decomposition.of(rows, columns, width, self.ranks.size)
        self._tiles, self._own = decomposition.tiles(), decomposition.tile(self.ranks.rank)
        self._rows, self._blocks = decomposition.row_cuts[-1], decomposition.block_cuts[-1]

    def whole(self, fields: Sequence[tuple[AnyArray, Wanted]]) -> list[AnyArray]:
        """Return fields of the whole area from those of tiles, by one collective message.

        fields  packed ones [lat][block][n]... of one type, of this rank's tile, with the faces around it or without;
                and which n are wanted here, which may differ from rank to rank
        """
        if not fields:  # all that is wanted is known: the same on all ranks
            return []
        if self.ranks.handle is None:
            return [self._of_all([part], part, wanted) for part, wanted in fields]
        own = np.concatenate([_first(part, self._shape(self._own, part)) for part, _ in fields])
        sizes = np.array([[prod(self._shape(tile, part)) for part, _ in fields] for tile in self._tiles])
        received = np.empty(int(sizes.sum()), own.dtype)
        all_of([self.ranks.handle.Iallgatherv(own, [received, sizes.sum(axis=1)])])
        pieces = np.split(received, np.cumsum(sizes)[:-1])  # of each rank that of each field
        return [self._of_all(pieces[number :: len(fields)], *field) for number, field in enumerate(fields)]

    def _of_all(self, pieces: Sequence[AnyArray], part: AnyArray, wanted: Wanted) -> AnyArray:
        """A field, assembled from the parts of all ranks; `part` is that of this one."""
        rows, blocks = self._more(part)
        rest = part[:1, :1, wanted].shape[2:]
        result = aligned_empty((self._rows + rows, self._blocks + blocks, *rest), part.dtype)
        for tile, piece in zip(self._tiles, pieces, strict=True):
            shape = self._shape(tile, part)
            south, west = tile.rows[0], tile.blocks[0]
            result[south : south + shape[0], west : west + shape[1]] = piece.reshape(shape)[:, :, wanted]
        return result

    def _shape(self, tile: Tile, part: AnyArray) -> tuple[int, ...]:
        """The shape of what a tile sends of a field: faces beyond it are the next tile's, if there is one."""
        rows, blocks = self._more(part)
        (south, north), (west, east) = tile.rows, tile.blocks
        rows, blocks = rows * (north == self._rows), blocks * (east == self._blocks)
        return north - south + rows, east - west + blocks, *part.shape[2:]

    def _more(self, part: AnyArray) -> tuple[int, int]:
        """How many rows and blocks a field has more than its cells have: 1 along the axis of faces."""
        (south, north), (west, east) = self._own.rows, self._own.blocks
        return part.shape[0] - (north - south), part.shape[1] - (east - west)

    def close(self) -> None:
        """Free the communicator of the set; all its ranks do."""
        if self.ranks is not self._group and self.ranks.handle:
            self.ranks.handle.Free()


def allgather_cuts(ranks: int, rows: int, columns: int, width: int) -> tuple[int, ...]:
    """Return 0 = c0 < c1 < ... = ranks: as few sets as possible, of even size, each of which can divide the area."""
    for sets in range(1, ranks):
        cuts = even_cuts(ranks, sets)
        if all(fits(rows, columns, width, after - before) for before, after in pairwise(cuts)):
            return cuts
    return tuple(range(ranks + 1))


def _first(part: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """The first rows and blocks of a field, flat."""
    return part[: shape[0], : shape[1]].ravel()


def _part(group: Communicator, number: int) -> Communicator:
    assert group.handle is not None
    part = cast("MPI.Intracomm", group.handle.Split(number, group.rank))
    if part.size > 1:
        return MpiRanks(part)
    part.Free()
    return Alone()
