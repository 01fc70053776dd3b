"""Distributions of an array: the part, memory layout and number format of each rank, as data.

A part is a set of indices along each axis: disjoint runs (first, last) of indices first <= n < last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from math import prod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from airshed.core.errors import RedistributionError
from airshed.parallel.decomposition import even_cuts, largest_part

Run = tuple[int, int]
Runs = tuple[Run, ...]
Selection = slice | Sequence[int] | range
"""Selection along an axis: a slice, or ascending indices."""


def runs_of(selection: Selection, length: int) -> Runs:
    """Return the runs of a slice or of ascending indices along an axis.

    Raises RedistributionError for indices that do not ascend or are out of range.
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
    """Return the given runs after a check of their order.

    Raises RedistributionError if they are not ascending.
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
    """Return the common indices; each run of the result is within one run of either argument."""
    if len(one) == 1 == len(other):  # the usual case of boxes, without a loop
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
    """Return the positions of runs along an axis of an array that has only the held indices.

    Raises RedistributionError if a run is not contiguous there.
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


Part = tuple[Runs, ...]
"""Indices that a rank holds along each axis of the whole array; it holds all combinations."""


@dataclass(frozen=True)
class Distribution:
    """Array divided into parts, one for each rank of a group.

    shape  of the whole array, (n_0, ..., n_d)
    parts  rank -> its selection along each axis: a slice, or ascending indices; stored as runs of indices
    dtype  of the parts, byte order included (">f8" is big-endian)
    order  axes of the whole array in the memory order of the parts; (1, 2, 0) has the first axis last

    A rank's array has its indices contiguously, so that the shape is ``local_shape(rank)``. Ranks are those of the
    world of both groups; those of a second job are numbered after the first's.

    Raises RedistributionError if an element is held by no rank or by two.
    """

    shape: tuple[int, ...]
    parts: Mapping[int, Sequence[Selection] | Part]
    dtype: npt.DTypeLike = np.float64
    order: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        axes = tuple(range(len(self.shape)))
        object.__setattr__(self, "dtype", np.dtype(self.dtype))
        object.__setattr__(self, "shape", tuple(int(length) for length in self.shape))
        object.__setattr__(self, "order", tuple(self.order) or axes)
        if tuple(sorted(self.order)) != axes:
            raise RedistributionError(f"order must name each of the axes {axes} once; got {self.order}")
        parts = {int(rank): self._part(rank, self.parts[rank]) for rank in sorted(self.parts)}
        object.__setattr__(self, "parts", parts)
        _check_each_once(self.shape, parts)

    @classmethod
    def spread(
        cls,
        shape: Sequence[int],
        ranks: Sequence[int],
        axes: Sequence[int],
        dtype: npt.DTypeLike = np.float64,
        order: Sequence[int] = (),
    ) -> Self:
        """Return boxes over some axes, as even as possible; the other axes stay whole.

        ``spread((species, level, lat, lon), ranks, axes=(0, 1))`` has whole planes, ``axes=(2, 3)`` whole columns.
        """
        counts = _best_counts([shape[axis] for axis in axes], len(ranks))
        cuts = {axis: even_cuts(shape[axis], parts) for axis, parts in zip(axes, counts, strict=True)}
        sides: list[list[Selection]] = [
            [slice(*pair) for pair in zip(cuts[axis][:-1], cuts[axis][1:], strict=True)] if axis in cuts
            else [slice(length)]
            for axis, length in enumerate(shape)
        ]  # fmt: skip
        parts: dict[int, Sequence[Selection]] = dict(zip(ranks, product(*sides), strict=True))
        return cls(tuple(shape), parts, dtype, tuple(order))

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks of the group, ascending; some may hold nothing."""
        return tuple(self.parts)

    @property
    def numbers(self) -> np.dtype[Any]:
        """Format of the numbers."""
        return np.dtype(self.dtype)

    @property
    def nbytes(self) -> int:
        """Size of the whole array [B]."""
        return prod(self.shape) * self.numbers.itemsize

    def part(self, rank: int) -> Part:
        """Return the runs of indices that a rank holds along each axis of the whole array."""
        return self.parts[rank]  # type: ignore[return-value]  # runs since __post_init__

    def local_shape(self, rank: int) -> tuple[int, ...]:
        """Return the shape of a rank's array, axes in memory order."""
        lengths = [count(runs) for runs in self.part(rank)]
        return tuple(lengths[axis] for axis in self.order)

    def empty(self, rank: int) -> npt.NDArray[Any]:
        """Return an array for a rank's part."""
        return np.empty(self.local_shape(rank), self.numbers)

    def take(self, whole: npt.NDArray[Any], rank: int) -> npt.NDArray[Any]:
        """Return a rank's part of a whole array, in the rank's layout and format."""
        indices = [np.concatenate([np.arange(0), *(np.arange(*run) for run in runs)]) for runs in self.part(rank)]
        return np.ascontiguousarray(whole[np.ix_(*indices)].transpose(self.order).astype(self.numbers))

    def boxes(self, rank: int, part: Part) -> list[tuple[slice, ...]]:
        """Return the slices of the boxes of a part in a rank's array, by axis of the whole array.

        Raises RedistributionError if the rank does not hold them.
        """
        sides = [positions(runs, held) for runs, held in zip(part, self.part(rank), strict=True)]
        return list(product(*sides))

    def in_global_order(self, local: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a view of a rank's array with its axes in the order of the whole array."""
        return local.transpose(np.argsort(self.order))

    def check(self, rank: int, local: npt.NDArray[Any] | None) -> None:
        """Raise RedistributionError unless this is an array for a rank's part, or None for a rank without a part."""
        if rank not in self.parts:
            if local is not None:
                raise RedistributionError(f"rank {rank} holds no part of this distribution: it gives None")
            return
        wanted = self.local_shape(rank)
        if local is None or local.shape != wanted or local.dtype != self.numbers:
            got = "None" if local is None else f"{local.shape} {local.dtype}"
            raise RedistributionError(f"rank {rank} holds an array {wanted} {self.numbers}; got {got}")

    def numbered(self, offset: int) -> Self:
        """Return the same distribution with ranks shifted by an offset, as for a second job."""
        return replace(self, parts={rank + offset: part for rank, part in self.parts.items()})

    def _part(self, rank: int, part: Sequence[Any]) -> Part:
        if len(part) != len(self.shape):
            raise RedistributionError(f"rank {rank} has a part of {len(part)} axes of an array of {len(self.shape)}")
        # A part of another distribution already has runs.
        return tuple(
            checked(selection, length)
            if isinstance(selection, tuple) and all(isinstance(run, tuple) for run in selection)
            else runs_of(selection, length)
            for selection, length in zip(part, self.shape, strict=True)
        )


def _check_each_once(shape: tuple[int, ...], parts: Mapping[int, Part]) -> None:
    """Count the holders of each element on the grid of all cuts, whose cells have constant holders."""
    cuts = [
        np.unique([0, length, *(edge for part in parts.values() for run in part[axis] for edge in run)])
        for axis, length in enumerate(shape)
    ]
    holders = np.zeros([len(each) - 1 for each in cuts], np.int64)
    for part in parts.values():
        for box in product(*part):
            edges = zip(cuts, box, strict=True)
            holders[tuple(slice(*np.searchsorted(axis, run)) for axis, run in edges)] += 1
    wrong = np.argwhere(holders != 1)
    if len(wrong):
        where = tuple(int(axis[number]) for axis, number in zip(cuts, wrong[0], strict=True))
        raise RedistributionError(
            f"element {where} of an array {shape} is held by {holders[tuple(wrong[0])]} ranks; each must be held once"
        )


def _best_counts(lengths: Sequence[int], ranks: int) -> tuple[int, ...]:
    """Return the number of parts along each axis that minimises the largest part, first axes first."""
    divisors = [number for number in range(1, ranks + 1) if ranks % number == 0]
    possible = [counts for counts in product(divisors, repeat=len(lengths)) if prod(counts) == ranks]

    def largest(counts: tuple[int, ...]) -> int:
        return prod(largest_part(even_cuts(length, parts)) for length, parts in zip(lengths, counts, strict=True))

    return min(possible, key=lambda counts: (largest(counts), tuple(-parts for parts in counts)))
