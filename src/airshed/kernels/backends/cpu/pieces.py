"""Partition of a step into rectangles of rows and blocks (pieces), for the queue of the threads."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from airshed.kernels.step.data import REACH

LEAST_ROWS = 2
"""Rows of the smallest piece; a piece computes a row of faces again, unless it begins where the last one ended."""

Pieces = npt.NDArray[np.int64]
"""(piece, 4): first and last row, first and last block; as ``struct Piece`` of ``step/step.hpp``."""


@dataclass(frozen=True)
class Open:
    """The sides with a neighbour; at the others is the edge of the area."""

    west: bool = False
    east: bool = False
    south: bool = False
    north: bool = False

    def __bool__(self) -> bool:
        return self.west or self.east or self.south or self.north


def guided(rows: int, threads: int) -> list[tuple[int, int]]:
    """Return pieces of rows by guided scheduling: large ones first, small ones at the end.

    A piece has remaining rows / (1.5 threads): few pieces, as each costs a row of faces, and little waiting at the end.
    """
    cuts = [0]
    while cuts[-1] < rows:
        left = rows - cuts[-1]
        cuts.append(cuts[-1] + min(left, max(LEAST_ROWS, round(left / (1.5 * threads)))))
    return list(pairwise(cuts))


def cut(rows: int, blocks: int, threads: int, open_to: Open) -> tuple[Pieces, Pieces]:
    """Return the pieces that need no neighbour, and the others: two rows or one block at each open side."""
    south, north = min(REACH * open_to.south, rows), max(rows - REACH * open_to.north, 0)
    west, east = min(int(open_to.west), blocks), max(blocks - open_to.east, 0)
    if south >= north or west >= east:
        return _pieces([]), _pieces([(first, last, 0, blocks) for first, last in guided(rows, threads)])
    # with neighbours twice as many, as the first thread drives the exchange between pieces
    several = guided(north - south, 2 * threads if open_to else threads)
    inner = [(south + first, south + last, west, east) for first, last in several]
    # the north first: where the inner pieces reach from west to east it begins where they ended
    outer = [(north, rows, 0, blocks), (0, south, 0, blocks), (south, north, 0, west), (south, north, east, blocks)]
    return _pieces(inner), _pieces([each for each in outer if each[0] < each[1] and each[2] < each[3]])


def _pieces(rectangles: list[tuple[int, int, int, int]]) -> Pieces:
    return np.array(rectangles, np.int64).reshape(-1, 4)
