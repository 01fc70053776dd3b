"""Sets of indices along one axis, as ascending runs first <= index < last that do not overlap."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from airshed.core.errors import RedistributionError

Run = tuple[int, int]
Runs = tuple[Run, ...]
Selection = slice | Sequence[int] | range
"""What a caller may give for an axis: a slice, or ascending indices."""


def runs_of(selection: Selection, length: int) -> Runs:
    """Return the runs of a slice or of ascending indices into an axis of some length.

    Raises RedistributionError where indices do not ascend or lie outside.
    """
    if isinstance(selection, slice):
        first, last, step = selection.indices(length)
        if step == 1:
            return ((first, last),) if first < last else ()
        selection = range(first, last, step)
    indices = np.asarray(selection, np.int64)
    if indices.ndim != 1 or (np.diff(indices) <= 0).any():
        raise RedistributionError(f"indices along an axis must ascend, as in [0, 1, 5]; got {list(selection)}")
    if len(indices) and not (indices[0] >= 0 and indices[-1] < length):
        raise RedistributionError(f"indices {indices[0]} to {indices[-1]} lie outside an axis of {length}")
    breaks = np.flatnonzero(np.diff(indices) > 1) + 1
    return tuple((int(run[0]), int(run[-1]) + 1) for run in np.split(indices, breaks) if len(run))


def checked(runs: Runs, length: int) -> Runs:
    """Return runs that are known to be in order.

    Raises RedistributionError where they are not.
    """
    edges = [0, *(edge for run in runs for edge in run), length]
    empty = any(first >= last for first, last in runs)
    if empty or any(after < before for before, after in pairwise(edges)):
        raise RedistributionError(f"runs of indices must ascend within an axis of {length}; got {runs}")
    return runs


def count(runs: Runs) -> int:
    """Return the number of indices."""
    return sum(last - first for first, last in runs)


def intersection(one: Runs, other: Runs) -> Runs:
    """Return the indices in both; each run of the result lies in one run of either."""
    if len(one) == 1 == len(other):  # what boxes have, quickly
        first, last = max(one[0][0], other[0][0]), min(one[0][1], other[0][1])
        return ((first, last),) if first < last else ()
    result, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        first, last = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if first < last:
            result.append((first, last))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return tuple(result)


def positions(inner: Runs, held: Runs) -> list[slice]:
    """Return where runs lie in an axis of an array that has the held indices alone, one after the other.

    Raises RedistributionError where a run is not held in one piece.
    """
    result, start, number = [], 0, 0
    for first, last in inner:
        while number < len(held) and held[number][1] <= first:
            start += held[number][1] - held[number][0]
            number += 1
        if number == len(held) or not held[number][0] <= first < last <= held[number][1]:
            raise RedistributionError(f"indices {first} to {last - 1} are not in the part that should hold them")
        offset = start + first - held[number][0]
        result.append(slice(offset, offset + last - first))
    return result
