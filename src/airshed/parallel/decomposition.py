"""Domain decomposition: a rectangular tile of columns for each rank, in whole SIMD packs along longitude.

A tile is at least as wide as the halo of the transport scheme, see ``kernels.backends.cpu.work_sharing``.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Self

from airshed.core.errors import CaseError
from airshed.core.text import counted, there_are
from airshed.grid.window import Window
from airshed.kernels.step.arguments import REACH, Side

ALONG_LATITUDE: Final[tuple[Side, ...]] = ("south", "north")
OPPOSITE: Final[dict[Side, Side]] = {"west": "east", "east": "west", "south": "north", "north": "south"}


@dataclass(frozen=True)
class Tile:
    """Tile of a rank: rows and blocks (packs of columns) first <= n < last, numbered in the whole grid."""

    rank: int
    rows: tuple[int, int]
    blocks: tuple[int, int]
    window: Window


@dataclass(frozen=True)
class Decomposition:
    """Division of a grid of rows x columns into tiles; ranks are numbered from the south-west, eastward first.

    width       columns in a pack
    row_cuts    0 = r0 < r1 < ... = rows
    block_cuts  0 = b0 < b1 < ... = packs in a row
    """

    rows: int
    columns: int
    width: int
    row_cuts: tuple[int, ...]
    block_cuts: tuple[int, ...]

    @classmethod
    def of(cls, rows: int, columns: int, width: int, ranks: int, tiles: tuple[int, int] | None = None) -> Self:
        """Return the decomposition with the least work and communication of the busiest rank.

        tiles  number of ranks from south to north and from west to east, if prescribed
        raises  CaseError if the grid is too small for the ranks, or if the prescribed tiles do not match them
        """
        blocks = _blocks(columns, width)
        if tiles is not None and min(tiles) < 1:
            raise CaseError(f'parallel.tiles = {list(tiles)}: give 1 or more of both, or "auto"')
        if tiles is not None and tiles[0] * tiles[1] != ranks:
            wanted = counted(tiles[0] * tiles[1], "rank")
            raise CaseError(
                f"parallel.tiles = {list(tiles)} is for {wanted}, but {there_are(ranks)}; "
                f'start {wanted}, or take "auto"'
            )
        fitting = _fitting(rows, blocks, _cuts(ranks) if tiles is None else [tiles])
        if not fitting:
            asked = counted(ranks, "rank") if tiles is None else f"{tiles[0]} x {tiles[1]} ranks (parallel.tiles)"
            most = f"at most {max(rows // REACH, 1)} x {blocks}"
            raise CaseError(
                f"{asked} cannot share {counted(rows, 'row')} of {counted(blocks, 'pack')} of {width} columns; "
                f"take {counted(_most_ranks(rows, blocks, ranks), 'rank') if tiles is None else most}"
            )
        down, across = min(fitting, key=lambda cut: (_cost(rows, blocks, width, cut), cut[1]))
        across_cuts = (*even_cuts(blocks, across)[:-1], -(-columns // width))
        return cls(rows, columns, width, even_cuts(rows, down), across_cuts)

    def in_packs(self, width: int) -> Self:
        """Return the same tiles in packs of another width, of which the present one is a multiple."""
        blocks = -(-self.columns // width)
        cuts = tuple(min(cut * self.width // width, blocks) for cut in self.block_cuts)
        return replace(self, width=width, block_cuts=cuts)

    @property
    def ranks(self) -> int:
        """Number of tiles."""
        return self._down * self._across

    @property
    def _down(self) -> int:
        return len(self.row_cuts) - 1

    @property
    def _across(self) -> int:
        return len(self.block_cuts) - 1

    def tile(self, rank: int) -> Tile:
        """Return the tile of a rank."""
        row, column = divmod(rank, self._across)
        south, north = self.row_cuts[row : row + 2]
        west, east = self.block_cuts[column : column + 2]
        window = Window(south, north, west * self.width, min(east * self.width, self.columns))
        return Tile(rank, (south, north), (west, east), window)

    def tiles(self) -> list[Tile]:
        """Tiles of all ranks, by rank."""
        return [self.tile(rank) for rank in range(self.ranks)]

    def neighbour(self, rank: int, side: Side) -> int | None:
        """Return the rank on one side of a tile; None at the edge of the grid."""
        row, column = divmod(rank, self._across)
        row += (side == "north") - (side == "south")
        column += (side == "east") - (side == "west")
        inside = 0 <= row < self._down and 0 <= column < self._across
        return row * self._across + column if inside else None

    def owner(self, row: int, column: int) -> int:
        """Return the rank that holds a column of the grid."""
        down = bisect_right(self.row_cuts, row) - 1
        return down * self._across + bisect_right(self.block_cuts, column // self.width) - 1


def fits(rows: int, columns: int, width: int, ranks: int) -> bool:
    """Return whether a grid can be divided into the given number of tiles."""
    return bool(_fitting(rows, _blocks(columns, width), _cuts(ranks)))


def even_cuts(count: int, parts: int) -> tuple[int, ...]:
    """Return 0 = c0 < c1 < ... = count, in parts that differ by at most one, larger parts first."""
    size, more = divmod(count, parts)
    return tuple(number * size + min(number, more) for number in range(parts + 1))


def largest_part(cuts: Sequence[int]) -> int:
    """Return the size of the largest part between cuts."""
    return max(after - before for before, after in pairwise(cuts))


def _cuts(ranks: int) -> list[tuple[int, int]]:
    """Return all factorisations of a number of tiles into south-north times west-east."""
    return [(down, ranks // down) for down in range(1, ranks + 1) if ranks % down == 0]


def _fitting(rows: int, blocks: int, cuts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the factorisations in which each tile is large enough."""
    return [(down, across) for down, across in cuts if down <= max(rows // REACH, 1) and across <= blocks]


def _blocks(columns: int, width: int) -> int:
    """Return the packs in a row that tiles may divide: a last pack of one column stays with its neighbour, see
    REACH.
    """
    blocks = -(-columns // width)
    return blocks - 1 if blocks > 1 and columns - (blocks - 1) * width < REACH else blocks


def _cost(rows: int, blocks: int, width: int, cut: tuple[int, int]) -> float:
    """Return the cost of the largest tile: its cells, and a twentieth of that for each cell of its halo.

    A halo to the west or east costs twice as much, as its cells are not contiguous in memory.
    """
    down, across = cut
    tall, wide = largest_part(even_cuts(rows, down)), largest_part(even_cuts(blocks, across)) * width
    halo = 2 * REACH * (wide * (down > 1) + 2 * tall * (across > 1))
    return tall * wide + 0.05 * halo


def _most_ranks(rows: int, blocks: int, ranks: int) -> int:
    """Return the largest number of ranks below the requested number that can divide the grid."""
    possible = (down * across for down in range(1, rows // REACH + 1) for across in range(1, blocks + 1))
    return max((count for count in possible if count < ranks), default=1)
