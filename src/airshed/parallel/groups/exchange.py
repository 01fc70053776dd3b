"""Communication of two groups: values between chemistry and transport ranks, and all-gathers within a group.

Any number of ranks can gather: they form as few sets as possible, with one tile of a decomposition for each rank of a
set.
"""

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.kernels.host import HOST, AnyArray, Memory, aligned_empty
from airshed.kernels.layout import Layout
from airshed.kernels.step.arguments import State
from airshed.parallel.communicator import Communicator, all_of, free, split
from airshed.parallel.decomposition import Decomposition, Tile, even_cuts, fits
from airshed.parallel.groups.groups import Groups
from airshed.parallel.groups.packs import PackedRedistribution
from airshed.parallel.redistribution import Plan, make_plan, measure
from airshed.parallel.redistribution.costs import Prediction, predict, predictions
from airshed.parallel.redistribution.distribution import Distribution
from airshed.parallel.redistribution.redistribution import messages_of


@dataclass
class ExchangeTimes:
    """Times of all redistributions so far [s], and the number of transfers to the transport ranks.

    out, back  from the arrival of the last rank to the end, without waiting
    moving     transport in between, of the slowest rank
    """

    count: int = 0
    out: float = 0.0
    back: float = 0.0
    moving: float = 0.0


class Exchange:
    """All communication of this rank between the two groups; collective construction.

    A value consists of mixing ratios, air, and the numbers of its budget, which are the same on all ranks of a group.

    decomposition  of the columns into the tiles of chemistry ranks
    layout     of the packed state of the whole area on transport ranks, whose packs can have another width
    split_levels      whether transport ranks hold single levels
    strategy   of the redistribution: "auto" selects the shortest predicted time
    line       cost of a message between two ranks
    predicted  [s] of redistributions to the transport ranks and back
    wall       [s] in this object so far, including waits for the other group
    moving     [s] of transport on this rank since the last redistribution
    raises     CaseError if there are too few ranks for a strategy
    """

    def __init__(
        self, groups: Groups, decomposition: Decomposition, layout: Layout, species: int, levels: int,
        strategy: str = "auto", *, split_levels: bool = False,
    ) -> None:  # fmt: skip
        self.groups, self.times, self.wall, self.moving = groups, ExchangeTimes(), 0.0, 0.0
        self._messages = messages_of(groups.world)
        tiling = decomposition.in_packs(min(decomposition.width, layout.width))
        area = replace(layout, width=tiling.width)
        rows, blocks, dtype = area.rows, area.blocks, area.dtype
        rest = species, levels, area.width
        columns = groups.columns(tiling, blocks, rest, dtype)
        planes = groups.planes(rows, blocks, rest, dtype, split_levels=split_levels)
        costs = measure(self._messages, columns, planes)
        there = _chosen(columns, planes, predictions(columns, planes, costs), strategy)
        back = there.plan.inverse()
        self.plan: Plan = there.plan
        wider = [columns] * (decomposition.width > area.width) + [planes] * (layout.width > area.width)
        copied = sum(costs.copy.seconds(_largest_part(held)) for held in wider)
        self.predicted = there.seconds + copied, predict(back, costs).seconds + copied
        self.line = costs.within
        self._there, self._back = (PackedRedistribution(self._messages, plan) for plan in (there.plan, back))
        tiles = groups.columns(tiling, blocks, rest[1:], dtype)
        plans = [make_plan(tiles, held) for held in groups.air(rows, blocks, rest, dtype, split_levels=split_levels)]
        self._air_there = [PackedRedistribution(self._messages, plan) for plan in plans]
        self._air_back = PackedRedistribution(self._messages, plans[0].inverse())

    def close(self) -> None:
        """Free the communicator of the messages; collective."""
        self._messages.close()

    def send_step(self, begin: float = np.nan, end: float = np.nan) -> None:
        """Start a step [s] on the transport ranks, or end their loop without arguments; the first rank sends this."""
        handle = self.groups.world.handle
        if handle is None or self.groups.same or self.groups.world.rank != 0:
            return
        for rank in self.groups.transport:
            handle.Send(np.array([begin, end]), rank)

    def receive_step(self) -> tuple[float, float] | None:
        """Return the begin and end [s] of the next step, None at the end; sleeps while waiting."""
        handle, order = self.groups.world.handle, np.empty(2)
        assert handle is not None
        all_of([handle.Irecv(order, 0)])
        begin, end = order.tolist()
        return None if np.isnan(begin) else (begin, end)

    def to_transport(self, columns: State | None, planes: State | None, numbers: Array) -> Array:
        """Redistribute a value from tiles to planes, None for parts not held here; return its numbers.

        numbers  of the budget, replaced by those of the first chemistry rank
        """
        began = time.perf_counter()
        self._there(None if columns is None else columns.q, None if planes is None else planes.q)
        for bring in self._air_there:
            bring(None if columns is None else columns.air, self._air_of(planes, bring.plan.target))
        numbers, times = self._share(numbers, self.groups.chemistry[0], self._there.seconds)
        self.times.count, self.times.out = self.times.count + 1, self.times.out + float(times.min())
        self.wall += time.perf_counter() - began
        return numbers

    def to_chemistry(self, planes: State | None, columns: State | None, numbers: Array) -> Array:
        """Redistribute a value from planes to tiles, None for parts not held here; return its numbers.

        The air is taken from the ranks with the first species, numbers from the first transport rank.
        """
        began = time.perf_counter()
        self._back(None if planes is None else planes.q, None if columns is None else columns.q)
        self._air_back(self._air_of(planes, self._air_back.plan.source), None if columns is None else columns.air)
        numbers, times = self._share(numbers, self.groups.transport[0], self._back.seconds, self.moving)
        self.times.back, self.moving = self.times.back + float(times[:, 0].min()), 0.0
        self.times.moving += float(times[:, 1].max())
        self.wall += time.perf_counter() - began
        return numbers

    def _share(self, numbers: Array, root: int, *times: float) -> tuple[Array, Array]:
        """Return the numbers of one rank, and the times (rank, time) of all ranks: the last rank to arrive did not
        wait.

        Integers of the same bits add exactly if all other ranks have zeros.
        """
        world = self.groups.world
        table = np.zeros((world.size, len(times)))
        table[world.rank] = times
        mine = numbers if world.rank == root else np.zeros_like(numbers)
        found = world.total(np.concatenate([mine, table.ravel()]).view(np.int64)).view(np.float64)
        return found[: numbers.size], found[numbers.size :].reshape(table.shape)

    def _air_of(self, planes: State | None, held: Distribution) -> AnyArray | None:
        """Return the air of a transport rank if it belongs to a distribution."""
        return planes.air if planes is not None and self.groups.world.rank in held.ranks else None


def _largest_part(held: Distribution) -> int:
    """Return the bytes of the largest part of a distribution."""
    return max(prod(held.local_shape(rank)) for rank in held.ranks) * held.numbers.itemsize


def _chosen(source: Distribution, target: Distribution, found: list[Prediction], strategy: str) -> Prediction:
    """Return the fastest of all predictions, or that of one strategy."""
    fitting = [each for each in found if strategy in ("auto", each.plan.strategy)]
    if not fitting:
        raise CaseError(
            f'parallel.groups.strategy = "{strategy}" needs two ranks in both groups; '
            f"there are {len(source.ranks)} and {len(target.ranks)}"
        )
    return fitting[0]


LevelSelection = slice | list[int]
"""Selected levels or species of a field, along its axis after [lat][block]."""


class Allgather:
    """Set of ranks that together compute fields of the whole area; construction is collective within a group.

    rows, columns, width  of the grid and of a pack
    ranks                 of this set
    """

    def __init__(self, group: Communicator, rows: int, columns: int, width: int) -> None:
        cuts = allgather_cuts(group.size, rows, columns, width)
        self._group = self.ranks = group
        if len(cuts) > 2:
            self.ranks = split(group, bisect_right(cuts, group.rank))
        decomposition = Decomposition.of(rows, columns, width, self.ranks.size)
        self._tiles, self._own = decomposition.tiles(), decomposition.tile(self.ranks.rank)
        self._rows, self._blocks = decomposition.row_cuts[-1], decomposition.block_cuts[-1]

    def whole(
        self, fields: Sequence[tuple[AnyArray, LevelSelection]], memory: Memory = HOST
    ) -> list[AnyArray]:  # fmt: skip
        """Return fields of the whole area assembled from those of tiles, by one collective message.

        fields  packed [lat][block][n]... of one type, of this rank's tile, with or without the surrounding faces,
                and the selected n, which may differ between ranks
        memory  of the returned fields
        """
        if not fields:  # all selected data are known: the same on all ranks
            return []
        if self.ranks.handle is None:
            return [self._of_all([part], part, wanted, memory) for part, wanted in fields]
        shapes = [self._shape(self._own, part) for part, _ in fields]
        own = np.concatenate(
            [part[: shape[0], : shape[1]].ravel() for (part, _), shape in zip(fields, shapes, strict=True)]
        )
        sizes = np.array([[prod(self._shape(tile, part)) for part, _ in fields] for tile in self._tiles])
        received = np.empty(int(sizes.sum()), own.dtype)
        all_of([self.ranks.handle.Iallgatherv(own, [received, sizes.sum(axis=1)])])
        pieces = np.split(received, np.cumsum(sizes)[:-1])  # for each rank, the pieces of each field
        return [self._of_all(pieces[number :: len(fields)], *field, memory) for number, field in enumerate(fields)]

    def _of_all(
        self, pieces: Sequence[AnyArray], part: AnyArray, wanted: LevelSelection, memory: Memory
    ) -> AnyArray:  # fmt: skip
        """Return a field assembled from the parts of all ranks; `part` is that of this rank."""
        rows, blocks = self._more(part)
        rest = part[:1, :1, wanted].shape[2:]
        shape = self._rows + rows, self._blocks + blocks, *rest
        result = aligned_empty(shape, part.dtype, memory)
        for tile, piece in zip(self._tiles, pieces, strict=True):
            size = self._shape(tile, part)
            south, west = tile.rows[0], tile.blocks[0]
            result[south : south + size[0], west : west + size[1]] = piece.reshape(size)[:, :, wanted]
        return result

    def _shape(self, tile: Tile, part: AnyArray) -> tuple[int, ...]:
        """Return the shape of a field as sent for a tile: shared faces are sent by the next tile, if there is one."""
        rows, blocks = self._more(part)
        (south, north), (west, east) = tile.rows, tile.blocks
        rows, blocks = rows * (north == self._rows), blocks * (east == self._blocks)
        return north - south + rows, east - west + blocks, *part.shape[2:]

    def _more(self, part: AnyArray) -> tuple[int, int]:
        """Return the number of additional rows and blocks of a field: 1 along the axis of faces."""
        (south, north), (west, east) = self._own.rows, self._own.blocks
        return part.shape[0] - (north - south), part.shape[1] - (east - west)

    def close(self) -> None:
        """Free the communicator of the set; collective within it."""
        free(self.ranks, self._group)


def allgather_cuts(ranks: int, rows: int, columns: int, width: int) -> tuple[int, ...]:
    """Return 0 = c0 < c1 < ... = ranks: as few sets as possible, of even size, each able to divide the area."""
    for sets in range(1, ranks):
        cuts = even_cuts(ranks, sets)
        if all(fits(rows, columns, width, after - before) for before, after in pairwise(cuts)):
            return cuts
    return tuple(range(ranks + 1))
