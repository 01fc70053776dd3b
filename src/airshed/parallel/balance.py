"""Load balancing: within one call, overloaded ranks send columns to underloaded ranks.

Columns are independent, so no result depends on the rank that computes a column. A rank sends the last columns of its
arrays, without a copy. The cost of a column is its cost in the previous call of the same kind. All ranks derive the
same plan from the same gathered numbers: ranks with more work than the mean send their surplus to ranks with less. The
largest surplus goes to the largest deficit first, so that there are fewer moves than ranks. Moving work w costs both
ends alpha + beta w. A plan is used only if it reduces the time of the busiest rank, including this cost.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.arrays import AnyArray, Array
from airshed.kernels.host import aligned_zeros
from airshed.parallel.communicator import MpiRanks, all_of
from airshed.parallel.redistribution.costs import FREE, LinearCost, ping_pong
from airshed.parallel.redistribution.redistribution import MpiMessages

if TYPE_CHECKING:
    from mpi4py import MPI


_LEAST_GAIN: Final = 0.01
"""Minimum fraction of the busiest rank's time that a plan must save; predictions are no more accurate."""


@dataclass(frozen=True)
class Move:
    """Transfer of work from one rank to another, in the unit of work."""

    giver: int
    taker: int
    work: float


def level(work: Sequence[float]) -> list[Move]:
    """Return the moves that give all ranks the mean work; the same numbers give the same moves."""
    surplus = np.asarray(work, np.float64) - np.mean(work)
    order = [int(rank) for rank in np.argsort(-surplus, kind="stable")]
    first, last, moves = 0, len(order) - 1, []
    while first < last:
        giver, taker = order[first], order[last]
        amount = float(min(surplus[giver], -surplus[taker]))
        if amount > 0.0:
            moves.append(Move(giver, taker, amount))
            surplus[giver] -= amount
            surplus[taker] += amount
        if surplus[giver] <= -surplus[taker]:
            first += 1
        else:
            last -= 1
    return moves


def profitable_moves(moves: Sequence[Move], work: Sequence[float], seconds: float, price: LinearCost) -> list[Move]:
    """Return the moves that save time, if together they reduce the time of the busiest rank; else none.

    seconds  [s] per unit of work
    price    cost of moving so many units, at either end
    """
    paying = [move for move in moves if seconds * move.work > price.seconds(move.work)]
    before = seconds * np.asarray(work, np.float64)
    after = before.copy()
    for move in paying:
        after[move.giver] += price.seconds(move.work) - seconds * move.work
        after[move.taker] += price.seconds(move.work) + seconds * move.work
    return paying if after.max() < (1.0 - _LEAST_GAIN) * before.max() else []


def cuts(work: Array, amounts: Sequence[float]) -> list[int]:
    """Return the cuts that divide pieces of about these amounts from the end of a list: n0 <= n1 <= ... <= its length.

    work  of each item. The first amount is between n0 and n1; items before n0 remain. Each cut is the nearest possible.
    """
    after = np.concatenate([np.cumsum(work[::-1])[::-1], [0.0]])  # from each item to the end
    wanted = np.cumsum(np.asarray(amounts, np.float64)[::-1])[::-1]
    nearest = [int(np.abs(after - amount).argmin()) for amount in wanted]
    return [*np.maximum.accumulate(nearest).tolist(), len(work)]


_WORK: Final = "work"
_RUNS: Final = 2
"""Maximum number of pieces of a move: up to the end of a row, and from the beginning of a row."""
_TAG: Final = 100
"""Tag of all messages of this module; halos use other tags."""


@dataclass(frozen=True)
class Columns:
    """Columns of packs, row by row, with input and result arrays (column, ...); one array may be both.

    blocks      columns in a row
    width       lanes of a pack
    last_lanes  lanes in use in the last column of a row

    One result is `work` (column,): the cost of each column, in the same unit on all ranks.
    """

    given: Mapping[str, AnyArray]
    made: Mapping[str, AnyArray]
    blocks: int
    width: int
    last_lanes: int

    def __len__(self) -> int:
        return len(self.made[_WORK])

    @property
    def column_bytes(self) -> int:
        """Size of the messages for a column, in both directions [B]."""
        return sum(array[:1].nbytes for array in (*self.given.values(), *self.made.values()))

    def part(self, first: int, last: int) -> "Columns":
        """Return columns first <= n < last as a view; they begin with a row, or are within one."""
        begin = first % self.blocks
        blocks = last - first if begin else self.blocks
        given, made = ({n: a[first:last] for n, a in arrays.items()} for arrays in (self.given, self.made))
        return Columns(
            given, made, blocks, self.width, self.last_lanes if begin + blocks == self.blocks else self.width
        )

    def runs(self, first: int, last: int) -> "list[Columns]":
        """Return columns first <= n < last in pieces that begin with a row, or are within one."""
        row = min(last, -(-first // self.blocks) * self.blocks)
        return [self.part(begin, end) for begin, end in ((first, row), (row, last)) if begin < end]

    def like(self, count: int, blocks: int, last_lanes: int) -> "Columns":
        """Return zero arrays for the given number of columns of the same kind."""
        arrays: dict[str, AnyArray] = {
            name: aligned_zeros((count, *array.shape[1:]), array.dtype)
            for name, array in {**self.given, **self.made}.items()
        }
        given, made = ({name: arrays[name] for name in names} for names in (self.given, self.made))
        return Columns(given, made, blocks, self.width, last_lanes)


@dataclass
class BalanceRecord:
    """Totals of load balancing.

    work    mean over ranks, summed over all calls with known work
    before  work of the busiest rank in each of these calls before balancing
    after   work of the busiest rank in each of these calls after balancing
    own     work that this rank did, for any rank
    moved   columns of this rank computed by other ranks
    bytes   sent and received for them
    """

    work: float = 0.0
    before: float = 0.0
    after: float = 0.0
    own: float = 0.0
    moved: int = 0
    bytes: int = 0

    def imbalance(self) -> tuple[float, float]:
        """Imbalance before and after balancing: the busiest rank over the mean, minus one."""
        return (self.before / self.work - 1.0, self.after / self.work - 1.0) if self.work > 0.0 else (0.0, 0.0)


class LoadBalancer:
    """Load balancer for calls of several kinds, such as the halves of a step; all ranks make the same calls.

    line    [s] cost of a message by its size; None to move work at any cost
    wait    [s] in messages, including waits for other ranks
    record  totals
    """

    def __init__(self, ranks: MpiRanks, line: LinearCost | None) -> None:
        self._ranks, self._line = ranks, line
        # of the previous call of each kind: work of the columns, and work done here
        self._work: dict[int, tuple[Array, float]] = {}
        self._seconds = 0.0  # per unit of work on this rank
        self.record, self.wait = BalanceRecord(), 0.0

    def advance(self, columns: Columns, kind: int, do: Callable[[Columns], object]) -> None:
        """Compute all columns with `do`, on this rank or others; costs are from the previous call of this kind."""
        began = time.perf_counter()
        moves = self._plan(columns, kind)
        gives = [move for move in moves if move.giver == self._ranks.rank]
        takes = [move.giver for move in moves if move.taker == self._ranks.rank]
        edges = cuts(self._work[kind][0], [move.work for move in gives]) if gives else [len(columns)]
        given = {m.taker: columns.runs(*edges[n : n + 2]) for n, m in enumerate(gives)}
        taken = self._send_out(columns, given, takes)
        away = time.perf_counter() - began
        returning = []
        for giver, runs in taken.items():
            for run in runs:
                do(run)
                returning += self._send(run.made, giver)
        home = columns.part(0, edges[0])
        if len(home):
            do(home)
        done = sum(float(part.made[_WORK].sum()) for part in (home, *(run for runs in taken.values() for run in runs)))
        middle = time.perf_counter()
        self._seconds = (middle - began - away) / max(done, 1.0)
        arriving = [each for taker, runs in given.items() for run in runs for each in self._receive(run.made, taker)]
        all_of([*returning, *arriving])
        self.wait += away + time.perf_counter() - middle
        self._work[kind] = np.array(columns.made[_WORK], np.float64), done
        moved = len(columns) - edges[0]
        self.record.own += done
        self.record.moved += moved
        self.record.bytes += moved * columns.column_bytes

    def _plan(self, columns: Columns, kind: int) -> list[Move]:
        """Return all moves of a call, the same on all ranks; record the previous call of its kind."""
        work, done = self._work.get(kind, (np.zeros(1), 0.0))
        mine = np.array([work.sum(), done, len(columns), self._seconds])
        table = np.empty((self._ranks.size, len(mine)))
        self._ranks.handle.Allgather(mine, table)
        total, done_by, count, seconds = table.T
        if not total.any():
            return []
        self.record.work += float(total.mean())
        self.record.before += float(total.max())
        self.record.after += float(done_by.max())
        columns_of_work = count.sum() / total.sum()
        moves = [move for move in level(total.tolist()) if move.work * columns_of_work > 0.5]
        price = FREE
        if self._line is not None:  # of moving a unit of work there and back
            messages = 1 + _RUNS * (len(columns.given) + len(columns.made))
            per_unit = self._line.beta * columns.column_bytes * float(columns_of_work)
            price = LinearCost(messages * self._line.alpha, per_unit)
        return profitable_moves(moves, total.tolist(), float(seconds.mean()), price)

    def _send_out(
        self, columns: Columns, given: Mapping[int, list[Columns]], takes: list[int]
    ) -> dict[int, list[Columns]]:
        """Send columns to other ranks; return the received columns by their rank."""
        leaving, arriving, taken = [], [], {}
        for taker, runs in given.items():
            shapes = np.zeros((_RUNS, 3), np.int64)
            shapes[: len(runs)] = np.reshape([(len(run), run.blocks, run.last_lanes) for run in runs], (-1, 3))
            leaving += self._send({"shapes": shapes}, taker)
            leaving += [each for run in runs for each in self._send(run.given, taker)]
        for giver in takes:
            shapes = np.empty((_RUNS, 3), np.int64)
            all_of(self._receive({"shapes": shapes}, giver))
            taken[giver] = [columns.like(*shape) for shape in shapes.tolist() if shape[0]]
            arriving += [each for run in taken[giver] for each in self._receive(run.given, giver)]
        all_of([*leaving, *arriving])
        return taken

    def _send(self, arrays: Mapping[str, AnyArray], taker: int) -> "list[MPI.Request]":
        return [self._ranks.handle.Isend(_bytes(array), taker, _TAG) for array in arrays.values()]

    def _receive(self, arrays: Mapping[str, AnyArray], giver: int) -> "list[MPI.Request]":
        return [self._ranks.handle.Irecv(_bytes(array), giver, _TAG) for array in arrays.values()]

    def summary(self) -> str:
        """Return a summary of balancing; collective."""
        before, after = self.record.imbalance()
        moved, sent = self._ranks.total(np.array([self.record.moved, self.record.bytes]))
        return (
            f"work on cells: imbalance {100.0 * before:.1f} %, evened out to {100.0 * after:.1f} % by moving {moved} "
            f"columns of packs ({1e-6 * sent:.3g} MB)"
        )


def message_costs(ranks: MpiRanks) -> LinearCost:
    """Return the measured cost of messages between two of the ranks; collective."""
    transport = MpiMessages(ranks.handle)
    try:
        return ping_pong(transport, 0, 1)
    finally:
        transport.close()


def _bytes(array: AnyArray) -> Any:
    return array.reshape(-1).view(np.uint8)
