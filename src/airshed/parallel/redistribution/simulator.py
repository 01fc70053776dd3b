"""Executes plans in memory, element by element, and checks that each element moves exactly once.

It shares no code with the executors: parts are index arrays here, and runs and boxes there.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import RedistributionError
from airshed.parallel.redistribution.distribution import Distribution, Part
from airshed.parallel.redistribution.plan import Hop, Message, Plan

Parts = dict[int, npt.NDArray[Any]]


def simulate(plan: Plan, parts: Mapping[int, npt.NDArray[Any]]) -> Parts:
    """Return the parts at the target, by rank, of the parts at the source.

    Raises RedistributionError where a message carries what its sender lacks, or an element arrives never or twice.
    """
    held = dict(parts)
    for number, hop in enumerate(plan.hops):
        held = _simulate_hop(hop, held, f"hop {number + 1} of {plan.name}")
    return held


def _simulate_hop(hop: Hop, held: Parts, where: str) -> Parts:
    arrived = {rank: hop.target.empty(rank) for rank in hop.target.ranks}
    times = {rank: np.zeros(part.shape, np.int64) for rank, part in arrived.items()}
    for message in hop.messages:
        taken = held[message.sender][_places(hop.source, message.sender, message, where)]
        to = _places(hop.target, message.receiver, message, where)
        # From the sender's order of axes to the receiver's, by way of the whole array's.
        turned = taken.transpose(np.argsort(hop.source.order)).transpose(hop.target.order)
        arrived[message.receiver][to] = turned.astype(hop.wire).astype(hop.target.numbers)
        times[message.receiver][to] += 1
    for rank, counted in times.items():
        if (counted != 1).any():
            index = tuple(map(int, np.argwhere(counted != 1)[0]))
            raise RedistributionError(
                f"{where}: element {index} of rank {rank} arrives {counted[index]} times; each must arrive once"
            )
    return arrived


def _places(distribution: Distribution, rank: int, message: Message, where: str) -> tuple[npt.NDArray[np.int64], ...]:
    held, wanted = _indices(distribution.part(rank)), _indices(message.part)
    for axis, (mine, theirs) in enumerate(zip(held, wanted, strict=True)):
        if not np.isin(theirs, mine).all():
            raise RedistributionError(
                f"{where}: the message of rank {message.sender} to {message.receiver} has indices along axis {axis} "
                f"that rank {rank} does not hold"
            )
    local = [np.searchsorted(mine, theirs) for mine, theirs in zip(held, wanted, strict=True)]
    return np.ix_(*(local[axis] for axis in distribution.order))


def _indices(part: Part) -> list[npt.NDArray[np.int64]]:
    return [np.array([index for run in runs for index in range(*run)], np.int64) for runs in part]
