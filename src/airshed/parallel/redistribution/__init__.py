"""Moves an array between two distributions on the same or on different groups of ranks; see docs/redistribution.md."""

from airshed.core.errors import LinkError, RedistributionError
from airshed.parallel.redistribution.distribution import Distribution
from airshed.parallel.redistribution.measure import Choice, choose, measure
from airshed.parallel.redistribution.plan import STRATEGIES, Hop, Message, Plan, Strategy, make_plan, possible_plans
from airshed.parallel.redistribution.redistribution import Redistribution, Transport
from airshed.parallel.redistribution.simulator import simulate

__all__ = [
    "STRATEGIES",
    "Choice",
    "Distribution",
    "Hop",
    "LinkError",
    "Message",
    "Plan",
    "Redistribution",
    "RedistributionError",
    "Strategy",
    "Transport",
    "choose",
    "make_plan",
    "measure",
    "possible_plans",
    "simulate",
]  # fmt: skip
