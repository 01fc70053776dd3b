"""Predicted time of a plan: messages at alpha + beta L, copies, and ranks that share cores.

Segall et al. (Environmental modeling on the C90-T3D heterogeneous system) take alpha + beta L for each message of L
bytes, at either end, and name contention as what it leaves out. Here a rank's work in a hop is

    work_r = sum over its messages (alpha + beta L) + sum over what is not contiguous (alpha_c + beta_c L)

and a hop takes

    t = synchronisation + max(max_r work_r, sum_r work_r / cores, sum over messages between two jobs (alpha + beta L))

that is: the busiest rank, or all cores at work all the time, or the one line between two jobs, which carries a
message at a time.
"""

from collections import defaultdict
from dataclasses import dataclass

from airshed.parallel.redistribution.distribution import Distribution
from airshed.parallel.redistribution.messages import lies_in_one_piece
from airshed.parallel.redistribution.plan import Hop, Message, Plan, possible_plans


@dataclass(frozen=True)
class Line:
    """The cost of moving L bytes: alpha [s] + beta [s B-1] L."""

    alpha: float
    beta: float

    def seconds(self, length: float, times: int = 1) -> float:
        """Return the cost of so many moves of so many bytes together [s]."""
        return times * self.alpha + self.beta * length


FREE = Line(0.0, 0.0)


@dataclass(frozen=True)
class Costs:
    """Measured costs of a transport, see `measure`.

    within           messages between ranks of one job, or of one MPI world
    between          messages between two jobs
    copy             copies between the layouts of both ends, for each box
    synchronisation  of all ranks, once in a hop [s]; shared memory alone has it
    cores            that the ranks share
    first            ranks of the first of two jobs; all of them without a second
    """

    within: Line
    between: Line
    copy: Line
    synchronisation: float
    cores: int
    first: int


@dataclass(frozen=True)
class Prediction:
    """The predicted time of a plan [s]."""

    plan: Plan
    seconds: float


def predict(plan: Plan, costs: Costs) -> Prediction:
    """Return the predicted time of a plan."""
    return Prediction(plan, sum(_hop_seconds(hop, costs) for hop in plan.hops))


def predictions(source: Distribution, target: Distribution, costs: Costs) -> list[Prediction]:
    """Return the predictions of all strategies, the fastest first; of equals the one with fewer hops."""
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
            if not lies_in_one_piece(message, hop, held, rank):
                work[rank] += costs.copy.seconds(length, _boxes(hop, message))
    busiest = max(work.values(), default=0.0)
    return costs.synchronisation + max(busiest, sum(work.values()) / costs.cores, on_the_line)


def _boxes(hop: Hop, message: Message) -> int:
    return len(hop.source.boxes(message.sender, message.part))
