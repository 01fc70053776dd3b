"""Redistribution of an array within a group of ranks or between groups; see docs/explanation/redistribution.md."""

from airshed.core.errors import LinkError, RedistributionError
from airshed.parallel.redistribution.costs import Choice, choose, measure
from airshed.parallel.redistribution.distribution import Distribution
from airshed.parallel.redistribution.plan import (
    STRATEGIES,
    Hop,
    Message,
    Plan,
    Strategy,
    make_plan,
    possible_plans,
    simulate,
)
from airshed.parallel.redistribution.redistribution import Redistribution, Transport

__all__ = [
    "STRATEGIES", "Choice", "Distribution", "Hop", "LinkError", "Message", "Plan", "Redistribution",
    "RedistributionError", "Strategy", "Transport", "choose", "make_plan", "measure", "possible_plans", "simulate",
]  # fmt: skip
