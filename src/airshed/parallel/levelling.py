"""Plans of load balance: which rank sends how much work to which, and whether that saves time.

Ranks with more work than the mean send their surplus to those with less, the largest surplus to the largest deficit
first, in fewer moves than ranks. Moving work w costs both ends alpha + beta w. A plan is used if the busiest rank, with
that cost, ends earlier than without.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.parallel.redistribution.costs import Line

Array = npt.NDArray[np.float64]

_LEAST_GAIN: Final = 0.01
"""The least part of the busiest rank's time that a plan must save; predictions are no more accurate."""


@dataclass(frozen=True)
class Move:
    """Work of one rank that another rank does, in the unit of work."""

    giver: int
    taker: int
    work: float


def level(work: Sequence[float]) -> list[Move]:
    """Return the moves by which all ranks have the mean of the work, the same from the same numbers."""
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


def worthwhile(moves: Sequence[Move], work: Sequence[float], seconds: float, price: Line) -> list[Move]:
    """Return the moves that save time, if all of them together let the busiest rank end earlier; else none.

    seconds  [s] that a unit of work takes;  price  [s] of moving so many units, at either end
    """
    paying = [move for move in moves if seconds * move.work > price.seconds(move.work)]
    before = seconds * np.asarray(work, np.float64)
    after = before.copy()
    for move in paying:
        after[move.giver] += price.seconds(move.work) - seconds * move.work
        after[move.taker] += price.seconds(move.work) + seconds * move.work
    return paying if after.max() < (1.0 - _LEAST_GAIN) * before.max() else []


def cuts(work: Array, amounts: Sequence[float]) -> list[int]:
    """Return where to cut pieces of about these amounts from the end of a list: n0 <= n1 <= ... <= its length.

    work  of each item. Between n0 and n1 lies the first amount; what lies before n0 stays. Each cut is the nearest.
    """
    after = np.concatenate([np.cumsum(work[::-1])[::-1], [0.0]])  # from each item to the end
    wanted = np.cumsum(np.asarray(amounts, np.float64)[::-1])[::-1]
    nearest = [int(np.abs(after - amount).argmin()) for amount in wanted]
    return [*np.maximum.accumulate(nearest).tolist(), len(work)]
