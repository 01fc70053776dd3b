"""Sparsity of the Jacobian of a mechanism: its pattern, the order of elimination, and the fill-in.

The matrix I/(gamma h) - J is factored without pivoting: for the small h of a stiff solver its diagonal dominates, and a
fixed order allows straight-line code. The order is that of Markowitz, restricted to the diagonal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush

import numpy as np

from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.structure import jacobian_pattern

Pattern = tuple[frozenset[int], ...]
"""The non-zero columns of each row."""


@dataclass(frozen=True)
class Elimination:
    """Sparse matrix in the order of its elimination, with fill-in, stored row by row.

    order    order[p] is the species at position p
    columns  non-zero positions of the row of each position, ascending, including the diagonal
    """

    order: tuple[int, ...]
    columns: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """The number of stored entries."""
        return sum(len(row) for row in self.columns)

    @cached_property
    def place(self) -> dict[int, int]:
        """Species -> its position in the order."""
        return {species: place for place, species in enumerate(self.order)}

    @cached_property
    def entry(self) -> dict[tuple[int, int], int]:
        """(row position, column position) -> index of the stored entry."""
        pairs = [(row, column) for row, columns in enumerate(self.columns) for column in columns]
        return {pair: index for index, pair in enumerate(pairs)}

    @property
    def operations(self) -> int:
        """The number of multiply-add operations of the factorisation."""
        after = [sum(1 for column in row if column > place) for place, row in enumerate(self.columns)]
        return sum(after[column] for place, row in enumerate(self.columns) for column in row if column < place)


def pattern_of(network: ReactionNetwork) -> Pattern:
    """Return the species j on which dy_i/dt depends for each species i, including i."""
    depends = jacobian_pattern(network)
    return tuple(frozenset(np.flatnonzero(row).tolist()) | {species} for species, row in enumerate(depends))


def eliminate(pattern: Pattern) -> Elimination:
    """Return the order of smallest Markowitz count (r - 1)(c - 1) at each pivot, ties by number, and its fill-in."""
    order, rows = _markowitz(pattern)
    place = {species: number for number, species in enumerate(order)}
    return Elimination(
        tuple(order), tuple(tuple(sorted(place[column] for column in rows[species])) for species in order)
    )


def _markowitz(pattern: Sequence[frozenset[int]]) -> tuple[list[int], list[set[int]]]:
    """Return the order, and for each species the columns of its row with fill-in.

    A heap returns the smallest count; outdated entries are skipped.
    """
    filled = [set(row) for row in pattern]
    rows = [row - {species} for species, row in enumerate(filled)]  # of the remaining matrix, without its diagonal
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
    """Eliminate a pivot from the remaining matrix: add the product of its column and its row."""
    for column in rows[pivot]:
        columns[column].remove(pivot)
    for row in columns[pivot]:
        rows[row].remove(pivot)
        new = rows[pivot] - rows[row] - {row}
        rows[row] |= new
        filled[row] |= new
        for column in new:
            columns[column].add(row)
