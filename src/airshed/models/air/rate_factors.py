"""Factors on the rates of chosen reactions, which may change from run to run without a compilation.

    k_r  ->  k_r (1 + d_r),    d_r = factor - 1 an open parameter of the mechanism

What is open is the change rather than the factor: the schedule of a step's species guesses that what is open is small,
and so stays the one of the mechanism without factors.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Final

from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.formula.tree import Binary, Number
from airshed.mechanism.expressions import Environment, Parameter, Value
from airshed.mechanism.network import ReactionNetwork

_OPEN: Final = "change of "


class RateFactors:
    """Factors on the rate constants of reactions, by their labels; 1 at first.

    values  what they are from the next instant of the forcing that is made (``Forcing.renew``)
    """

    def __init__(self, labels: Iterable[str]) -> None:
        self.values = dict.fromkeys(labels, 1.0)

    def of(self, network: ReactionNetwork) -> ReactionNetwork:
        """Return a mechanism with these factors; raises CaseError for a reaction that it does not have."""
        known = [each.label for each in network.reactions]
        for label in self.values:
            if label not in known:
                raise CaseError(f"mechanism {network.name}: {label!r} is no reaction; {suggestion(label, known)}")
        reactions = tuple(
            replace(each, rate=Binary("*", each.rate, Binary("+", Number(1.0), Parameter(_OPEN + each.label))))
            if each.label in self.values else each
            for each in network.reactions
        )  # fmt: skip
        return replace(
            network,
            reactions=reactions,
            callables={**network.callables, **{_OPEN + n: partial(self._above_one, n) for n in self.values}},
        )

    def _above_one(self, label: str, environment: Environment) -> Value:
        return self.values[label] - 1.0
