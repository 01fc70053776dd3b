"""Redistribution plans as data: the indices that each rank sends to each other rank.

A plan is a sequence of hops, each from one distribution to the next by one message for each pair of ranks:

    direct           source -> target, each pair's intersection
    funnel           source -> all at one rank of the source -> all at one rank of the target -> target
    parallel funnel  the same through k ranks of each, each of which carries a slab of the array

Segall et al. (Environmental modeling on the C90-T3D heterogeneous system) describe the three. :func:`simulate` executes
a plan in memory, element by element, and checks that each element moves exactly once. It shares no code with the
executors: it uses index arrays, the executors use runs and boxes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.errors import RedistributionError
from airshed.parallel.redistribution.distribution import Distribution, Part, count, intersection

Strategy = Literal["direct", "funnel", "parallel funnel"]
STRATEGIES: Final[tuple[Strategy, ...]] = ("direct", "funnel", "parallel funnel")


@dataclass(frozen=True)
class Message:
    """Message between two ranks, or copy on one rank: runs of indices along each axis of the whole array."""

    sender: int
    receiver: int
    part: Part

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(count(runs) for runs in self.part)


@dataclass(frozen=True)
class Hop:
    """Move from one distribution to another by simultaneous messages."""

    source: Distribution
    target: Distribution
    messages: tuple[Message, ...]

    @property
    def wire(self) -> np.dtype[Any]:
        """Format of numbers in messages: the shorter one of both ends, or the target's if equal."""
        source, target = self.source.numbers, self.target.numbers
        return target if target.itemsize <= source.itemsize else source

    def sends(self, rank: int) -> list[Message]:
        """Return the messages that a rank sends."""
        return [each for each in self.messages if each.sender == rank != each.receiver]

    def receives(self, rank: int) -> list[Message]:
        """Return the messages that a rank receives."""
        return [each for each in self.messages if each.receiver == rank != each.sender]

    def copies(self, rank: int) -> list[Message]:
        """Return the copies within a rank."""
        return [each for each in self.messages if each.sender == rank == each.receiver]

    @property
    def ranks(self) -> tuple[int, ...]:
        """All ranks that hold a part before or after."""
        return tuple(sorted({*self.source.ranks, *self.target.ranks}))


@dataclass(frozen=True)
class Plan:
    """Hops from the first distribution to the last."""

    strategy: Strategy
    lanes: int
    hops: tuple[Hop, ...]

    @property
    def source(self) -> Distribution:
        """Source distribution."""
        return self.hops[0].source

    @property
    def target(self) -> Distribution:
        """Target distribution."""
        return self.hops[-1].target

    @property
    def name(self) -> str:
        """Name of the strategy, with its number of ranks."""
        return f"{self.strategy} x{self.lanes}" if self.strategy == "parallel funnel" else self.strategy

    @property
    def ranks(self) -> tuple[int, ...]:
        """All ranks that take part."""
        return tuple(sorted({rank for hop in self.hops for rank in hop.ranks}))

    def inverse(self) -> "Plan":
        """Return the plan of the reverse transfer."""
        hops = [
            Hop(hop.target, hop.source, tuple(Message(m.receiver, m.sender, m.part) for m in hop.messages))
            for hop in reversed(self.hops)
        ]
        return Plan(self.strategy, self.lanes, tuple(hops))


def make_plan(source: Distribution, target: Distribution, strategy: Strategy = "direct", lanes: int = 2) -> Plan:
    """Return the plan of a strategy; `lanes` is the number of ranks of each group in a parallel funnel.

    Raises RedistributionError if the two do not describe the same array, or numbers cannot be converted.
    """
    if source.shape != target.shape:
        raise RedistributionError(f"an array {source.shape} cannot be moved into one of {target.shape}")
    if not np.can_cast(source.numbers, target.numbers, "same_kind"):
        raise RedistributionError(f"numbers {source.numbers} cannot be converted into {target.numbers}")
    if strategy not in STRATEGIES:
        raise RedistributionError(f"no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    if strategy == "direct":
        return Plan(strategy, 0, (_hop(source, target),))
    lanes = 1 if strategy == "funnel" else lanes
    between = _funnels(source, target, lanes)
    stations = [source, *between, target]
    return Plan(strategy, lanes, tuple(_hop(*pair) for pair in pairwise(stations)))


def possible_plans(source: Distribution, target: Distribution, most_lanes: int = 4) -> Iterator[Plan]:
    """Yield the plan of every strategy, with parallel funnels of two to `most_lanes` ranks if both groups have them."""
    yield make_plan(source, target, "direct")
    yield make_plan(source, target, "funnel")
    for lanes in range(2, min(most_lanes, len(source.ranks), len(target.ranks), max(source.shape)) + 1):
        yield make_plan(source, target, "parallel funnel", lanes)


def _hop(source: Distribution, target: Distribution) -> Hop:
    messages = []
    for sender, receiver in product(source.ranks, target.ranks):
        part = _overlap(source.part(sender), target.part(receiver))
        if part is not None:
            messages.append(Message(sender, receiver, part))
    return Hop(source, target, tuple(messages))


def _overlap(one: Part, other: Part) -> Part | None:
    runs = []
    for mine, theirs in zip(one, other, strict=True):
        common = intersection(mine, theirs)
        if not common:
            return None
        runs.append(common)
    return tuple(runs)


def _funnels(source: Distribution, target: Distribution, lanes: int) -> list[Distribution]:
    """Return the distributions at the lanes of both groups: slabs along the axis with fewest messages.

    If both groups are the same ranks, one intermediate distribution suffices.
    """
    fewest = min(len(source.ranks), len(target.ranks))
    if not 1 <= lanes <= fewest:
        raise RedistributionError(f"a funnel of {lanes} lanes needs as many ranks on both sides; there are {fewest}")
    wire = Hop(source, target, ()).wire

    def slabs(ranks: tuple[int, ...], axis: int) -> Distribution:
        return Distribution.spread(source.shape, ranks[:lanes], (axis,), wire, source.order)

    def messages(axis: int) -> int:
        at_senders, at_receivers = slabs(source.ranks, axis), slabs(target.ranks, axis)
        return len(_hop(source, at_senders).messages) + len(_hop(at_receivers, target).messages)

    axes = [axis for axis, length in enumerate(source.shape) if length >= lanes]
    if not axes:
        raise RedistributionError("no axis is long enough for so many lanes; take fewer")
    axis = min(axes, key=messages)
    stops = [slabs(source.ranks, axis), slabs(target.ranks, axis)]
    return stops if stops[0].ranks != stops[1].ranks else stops[:1]


Parts = dict[int, npt.NDArray[Any]]


def simulate(plan: Plan, parts: Mapping[int, npt.NDArray[Any]]) -> Parts:
    """Return the parts at the target, by rank, from the parts at the source.

    Raises RedistributionError if a sender lacks elements of a message, or an element arrives never or twice.
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
