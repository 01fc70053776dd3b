"""Predicted time of a plan, and measured costs of a transport: messages at alpha + beta L, copies, shared cores.

Segall et al. (Environmental modeling on the C90-T3D heterogeneous system) use alpha + beta L at either end of a message
of L bytes; they neglect contention. Here the work of a rank in a hop is

    work_r = sum over its messages (alpha + beta L) + sum over non-contiguous parts (alpha_c + beta_c L)

and the time of a hop is

    t = synchronisation + max(max_r work_r, sum_r work_r / cores, sum over messages between two jobs (alpha + beta L))

The three bounds are the busiest rank, all cores at full load, and the single line between two jobs. The line carries
one message at a time.

A message of L bytes is timed by a round trip; half the time, minus the overhead of the timer, is alpha + beta L. Rezny
(Parallel implementation of ADVISE on the Intel Paragon, section 2) gives the reason for the correction: there a call of
the common timer took 497 us and a message 90 us. The first message is excluded, as it allocates pages. The minimum of
several times is used, as other programs are not in the model.
"""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from airshed.kernels.host import usable_cores
from airshed.parallel.redistribution.distribution import Distribution
from airshed.parallel.redistribution.plan import Hop, Message, Plan, make_plan, possible_plans
from airshed.parallel.redistribution.redistribution import Redistribution, Transport, converted_copy, is_contiguous


@dataclass(frozen=True)
class LinearCost:
    """Linear cost of moving L bytes: alpha [s] + beta [s B-1] L."""

    alpha: float
    beta: float

    def seconds(self, length: float, times: int = 1) -> float:
        """Return the cost of the given number of moves with so many bytes in total [s]."""
        return times * self.alpha + self.beta * length


FREE = LinearCost(0.0, 0.0)


@dataclass(frozen=True)
class Costs:
    """Measured costs of a transport, see `measure`.

    within           messages between ranks of one job, or of one MPI world
    between          messages between two jobs
    copy             copies between the layouts of both ends, for each box
    synchronisation  of all ranks, once in a hop [s]; for shared memory only
    cores            shared by the ranks
    first            ranks of the first of two jobs; all of them without a second job
    """

    within: LinearCost
    between: LinearCost
    copy: LinearCost
    synchronisation: float
    cores: int
    first: int


@dataclass(frozen=True)
class Prediction:
    """Predicted time of a plan [s]."""

    plan: Plan
    seconds: float


def predict(plan: Plan, costs: Costs) -> Prediction:
    """Return the predicted time of a plan."""
    return Prediction(plan, sum(_hop_seconds(hop, costs) for hop in plan.hops))


def predictions(source: Distribution, target: Distribution, costs: Costs) -> list[Prediction]:
    """Return the predictions of all strategies, fastest first; among equals the one with fewer hops."""
    found = [predict(plan, costs) for plan in possible_plans(source, target)]
    return sorted(found, key=lambda each: (each.seconds, len(each.plan.hops)))


def _hop_seconds(hop: Hop, costs: Costs) -> float:
    work: defaultdict[int, float] = defaultdict(float)
    on_the_line = 0.0
    one_sided = costs.synchronisation > 0.0
    for message in hop.messages:
        length = message.elements * hop.wire.itemsize
        apart = (message.sender < costs.first) != (message.receiver < costs.first)
        line = FREE if message.sender == message.receiver else costs.between if apart else costs.within
        on_the_line += line.seconds(length) if apart else 0.0
        if one_sided or message.sender == message.receiver:
            work[message.sender] += costs.copy.seconds(length, _boxes(hop, message))
            continue
        for rank, held in ((message.sender, hop.source), (message.receiver, hop.target)):
            work[rank] += line.seconds(length)
            if not is_contiguous(message, hop, held, rank):
                work[rank] += costs.copy.seconds(length, _boxes(hop, message))
    busiest = max(work.values(), default=0.0)
    return costs.synchronisation + max(busiest, sum(work.values()) / costs.cores, on_the_line)


def _boxes(hop: Hop, message: Message) -> int:
    return len(hop.source.boxes(message.sender, message.part))


LENGTHS: Final = (8, 1024, 16 * 1024, 128 * 1024, 1024 * 1024)
"""Message sizes [B] to which a line is fitted."""
REPEATS: Final = 15
_LONGEST: Final = 0.05
"""Time limit of repeated copies [s]."""


@dataclass(frozen=True)
class Choice:
    """Plan with the shortest predicted time, and all predictions, fastest first."""

    plan: Plan
    predictions: tuple[Prediction, ...]
    costs: Costs


def choose(transport: Transport, source: Distribution, target: Distribution) -> Choice:
    """Measure the transport and return the strategy with the shortest predicted time; collective."""
    costs = measure(transport, source, target)
    found = predictions(source, target, costs)
    return Choice(found[0].plan, tuple(found), costs)


def measure(transport: Transport, source: Distribution, target: Distribution) -> Costs:
    """Return the costs of messages and copies between two distributions, the same on all ranks; collective."""
    first = getattr(transport, "sizes", (transport.size, 0))[0]
    apart = first < transport.size
    within = between = FREE
    if first > 1:
        within = ping_pong(transport, 0, 1)
    elif transport.size - first > 1:
        within = ping_pong(transport, first, first + 1)
    if apart:
        between = ping_pong(transport, 0, first)
    copy = LinearCost(*shared(transport, 0, lambda: _copy_line(source, target), 2))
    cores = int(shared(transport, 0, lambda: (usable_cores(),), 1)[0])
    synchronisation = within.alpha if transport.one_sided else 0.0
    return Costs(within, between, copy, synchronisation, cores, first)


def ping_pong(transport: Transport, one: int, other: int) -> LinearCost:
    """Return the cost of messages from one rank to another, the same on all ranks; collective."""
    times = [_round_trips(transport, one, other, length) for length in LENGTHS]
    timer = timer_overhead()
    seconds = shared(transport, one, lambda: [max(min(each) - timer, 1e-9) / 2.0 for each in times], len(LENGTHS))
    return fitted(LENGTHS, seconds)


def timer_overhead(calls: int = 2000) -> float:
    """Return the measured time between two consecutive calls of the timer [s]."""
    clock, spans = time.perf_counter, []
    for _ in range(calls):
        began = clock()
        spans.append(clock() - began)
    return statistics.median(spans)


def fitted(lengths: Sequence[int], seconds: Sequence[float]) -> LinearCost:
    """Return the fit alpha + beta L that minimises squared relative errors, with non-negative coefficients."""
    times = np.asarray(seconds)
    rows = np.stack([np.ones(len(times)), np.asarray(lengths, float)], axis=1) / times[:, None]
    alpha, beta = np.linalg.lstsq(rows, np.ones(len(times)), rcond=None)[0]
    return LinearCost(max(float(alpha), 0.0), max(float(beta), 0.0))


def _round_trips(transport: Transport, one: int, other: int, length: int) -> list[float]:
    here, there = (Distribution((length,), {rank: [slice(length)]}, np.uint8) for rank in (one, other))
    spans = []
    with (
        Redistribution(transport, make_plan(here, there)) as ping,
        Redistribution(transport, make_plan(there, here)) as pong,
    ):
        ball = np.zeros(length, np.uint8) if transport.rank == one else None
        for _ in range(REPEATS + 1):
            began = time.perf_counter()
            returned = pong(ping(ball))
            spans.append(time.perf_counter() - began)
            ball = ball if returned is None else returned
    return spans[1:]


def shared(transport: Transport, root: int, values: Callable[[], Sequence[float]], count: int) -> list[float]:
    """Return one rank's values on all ranks, distributed as one row per rank."""
    everybody = range(transport.size)
    whole = Distribution((transport.size, count), {root: [slice(None), slice(None)]})
    rows = Distribution.spread((transport.size, count), everybody, axes=(0,))
    given: Any = np.tile(np.asarray(values(), float), (transport.size, 1)) if transport.rank == root else None
    with Redistribution(transport, make_plan(whole, rows)) as mover:
        row = mover(given)
        assert row is not None
        return [float(value) for value in row[0]]


def _copy_line(source: Distribution, target: Distribution) -> tuple[float, float]:
    """Return the cost of a copy from the source's layout to the target's: small, and of the largest message."""
    hop = make_plan(source, target).hops[0]
    largest = max(hop.messages, key=lambda message: message.elements)
    ends = [
        side.in_global_order(np.zeros(side.local_shape(rank), side.numbers))[side.boxes(rank, largest.part)[0]]
        for side, rank in ((source, largest.sender), (target, largest.receiver))
    ]
    one = tuple(slice(1) for _ in source.shape)
    small = _copy_seconds(ends[1][one], ends[0][one])
    length = ends[0].size * hop.wire.itemsize
    return small, max(_copy_seconds(ends[1], ends[0]) - small, 0.0) / length


def _copy_seconds(target: Any, source: Any) -> float:
    spans: list[float] = []
    while len(spans) < 3 or (len(spans) <= REPEATS and sum(spans) < _LONGEST):
        began = time.perf_counter()
        converted_copy(target, source)
        spans.append(time.perf_counter() - began)
    return max(min(spans[1:]) - timer_overhead(200), 0.0)
