"""Measurement of round trips of arrays, from species x level planes to lat x lon columns and back."""

import statistics
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from airshed.core.errors import AirshedError
from airshed.parallel.redistribution import Distribution, Redistribution, Transport, choose, possible_plans
from airshed.parallel.redistribution.costs import Costs, predict, shared
from airshed.parallel.redistribution.plan import Plan

ARRAYS: Final = {"paper": (35, 5, 56, 60), "ten times": (66, 18, 70, 71)}
"""Species, levels, latitudes, longitudes: 4.7 MB, the north-eastern United States of 1994, and 47 MB."""
SPAN: Final = 0.5
"""Seconds for which each move is repeated, at least five times."""
_FEWEST: Final = 5


@dataclass(frozen=True)
class Move:
    """A measured round trip: seconds predicted, least, median; picked: the plan with the best prediction."""

    array: str
    bytes: int
    transport: str
    groups: str
    strategy: str
    predicted: float
    least: float
    median: float
    rounds: int
    picked: bool


def distributions(shape: tuple[int, ...], sources: range, targets: range) -> tuple[Distribution, Distribution]:
    """Return whole planes on some ranks, and whole columns, contiguous in memory, on others."""
    planes = Distribution.spread(shape, sources, axes=(0, 1))
    return planes, Distribution.spread(shape, targets, axes=(2, 3), order=(2, 3, 0, 1))


def measured(
    transport: Transport, groups: str, sources: range, targets: range, request: Mapping[str, Any]
) -> tuple[list[Move], dict[str, Any]]:
    """Return the round trips of all arrays and strategies, and the costs; collective, rank 0 has the times.

    The request has the arrays by name, and the span of time for which each move is repeated [s].

    Raises AirshedError where an array returns changed.
    """
    moves: list[Move] = []
    for name, shape in request["arrays"].items():
        planes, columns = distributions(tuple(shape), sources, targets)
        choice = choose(transport, planes, columns)
        for plan in possible_plans(planes, columns, most_lanes=2):
            spans = _round_trips(transport, plan, request["span"])
            moves.append(
                Move(
                    name, planes.nbytes, transport.name, groups, plan.name, _predicted(plan, choice.costs),
                    min(spans), statistics.median(spans), len(spans), plan.name == choice.plan.name,
                )
            )  # fmt: skip
    return moves, asdict(choice.costs)


def _predicted(plan: Plan, costs: Costs) -> float:
    return predict(plan, costs).seconds + predict(plan.inverse(), costs).seconds


def _round_trips(transport: Transport, plan: Plan, span: float) -> list[float]:
    source, rank = plan.source, transport.rank
    given = np.full(source.local_shape(rank), 1.0 + rank) if rank in source.ranks else None
    spans: list[float] = []
    with Redistribution(transport, plan) as there, Redistribution(transport, plan.inverse()) as back:
        returned = back(there(given))  # the first one allocates pages
        if given is not None and not np.array_equal(given, returned):  # type: ignore[arg-type]
            raise AirshedError(f"rank {rank} received a different array than it sent, by {transport.name}, {plan.name}")
        for _ in range(_rounds(transport, there, back, given, span)):
            began = time.perf_counter()
            back(there(given))
            spans.append(time.perf_counter() - began)
    return spans


def _rounds(transport: Transport, there: Redistribution, back: Redistribution, given: Any, span: float) -> int:
    """Return the number of round trips in the span, equal on all ranks: rank 0 measures the second one."""
    began = time.perf_counter()
    back(there(given))
    once = time.perf_counter() - began
    return int(shared(transport, 0, lambda: (max(_FEWEST, min(100, int(span / once))),), 1)[0])
