"""Where the Jacobian of a mechanism is not zero, in which order to eliminate, and what elimination fills in.

The matrix I/(gamma h) - J is factored without pivoting: for the small h of a stiff solver its diagonal dominates, and a
fixed order makes the factorisation straight-line code. The order is Markowitz's, restricted to the diagonal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush

import numpy as np

from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.structure import jacobian_pattern

Pattern = tuple[frozenset[int], ...]
"""For each row the columns that are not zero."""


@dataclass(frozen=True)
class Elimination:
    """A sparse matrix in the order of its elimination, fill included, stored row after row.

    order    order[p] is the species that stands at place p
    columns  for each place the places of its row that are not zero, ascending; the diagonal is always there
    """

    order: tuple[int, ...]
    columns: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """The number of stored entries."""
        return sum(len(row) for row in self.columns)

    @cached_property
    def place(self) -> dict[int, int]:
        """Species -> its place in the order."""
        return {species: place for place, species in enumerate(self.order)}

    @cached_property
    def entry(self) -> dict[tuple[int, int], int]:
        """(row place, column place) -> index of the stored entry."""
        pairs = [(row, column) for row, columns in enumerate(self.columns) for column in columns]
        return {pair: index for index, pair in enumerate(pairs)}

    @property
    def operations(self) -> int:
        """Multiplications with addition that factoring takes."""
        after = [sum(1 for column in row if column > place) for place, row in enumerate(self.columns)]
        return sum(after[column] for place, row in enumerate(self.columns) for column in row if column < place)


def pattern_of(network: ReactionNetwork) -> Pattern:
    """Return for each species i the species j on whose concentration dy_i/dt depends, i itself among them."""
    depends = jacobian_pattern(network)
    return tuple(frozenset(np.flatnonzero(row).tolist()) | {species} for species, row in enumerate(depends))


def eliminate(pattern: Pattern) -> Elimination:
    """Return the order with the least Markowitz count (r - 1)(c - 1) at each pivot, ties by number, and its fill."""
    order, rows = _markowitz(pattern)
    place = {species: number for number, species in enumerate(order)}
    return Elimination(
        tuple(order), tuple(tuple(sorted(place[column] for column in rows[species])) for species in order)
    )


def _markowitz(pattern: Sequence[frozenset[int]]) -> tuple[list[int], list[set[int]]]:
    """Return the order, and for each species the columns of its row with fill.

    A heap gives the least count; an entry whose count has changed since is passed over.
    """
    filled = [set(row) for row in pattern]
    rows = [row - {species} for species, row in enumerate(filled)]  # of the matrix that is left, without its diagonal
    columns: list[set[int]] = [set() for _ in rows]
    for row, entries in enumerate(rows):
        for column in entries:
            columns[column].add(row)
    order: list[int] = []
    counts = [len(rows[species]) * len(columns[species]) for species in range(len(rows))]
    heap = [(count, species) for species, count in enumerate(counts)]
    heapify(heap)
    while heap:
        count, pivot = heappop(heap)
        if count != counts[pivot]:
            continue
        counts[pivot] = -1
        order.append(pivot)
        _fill_in(pivot, rows, columns, filled)
        for species in rows[pivot] | columns[pivot]:
            counts[species] = len(rows[species]) * len(columns[species])
            heappush(heap, (counts[species], species))
    return order, filled


def _fill_in(pivot: int, rows: list[set[int]], columns: list[set[int]], filled: list[set[int]]) -> None:
    """Take a pivot out of the matrix that is left, and add the product of its column and its row to it."""
    for column in rows[pivot]:
        columns[column].remove(pivot)
    for row in columns[pivot]:
        rows[row].remove(pivot)
        new = rows[pivot] - rows[row] - {row}
        rows[row] |= new
        filled[row] |= new
        for column in new:
            columns[column].add(row)
