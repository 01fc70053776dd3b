"""The order in which the block Gauss-Seidel iteration visits species: shortest-lived first, independent ones together.

A short-lived species follows the others within the step, so a species solved after it should use its new value: one
sweep in this order is as accurate as two in the order of the file. Neighbouring species that do not depend on one
another form a group: their levels are processed together, which hides the latency of each recurrence.
"""

from dataclasses import dataclass

import numpy as np

from airshed.mechanism.expressions import Value
from airshed.mechanism.network import ReactionNetwork, Term, rates

NOON = {
    "TEMP": 288.0, "PRESS": 101325.0, "M": 2.5e19, "O2": 5.2e18, "N2": 1.95e19, "H2O": 2.5e17,
    "SUN": 0.8, "sec_zenith": 1.25, "daylight": 1.0,
}  # fmt: skip
"""The air for which lifetimes are compared: the ground at noon in a temperate summer."""

_LIGHT, _FIXED = 1e-4, 2.5e13
"""Values of open inputs for lifetimes: rate of a slow photolysis [1/s], 1 ppm of a fixed species [cm-3]."""

_BACKGROUND = 2.5e9  # molecules cm-3, 0.1 ppb: a species without an initial value, unless it reacts within a minute
_RELAXATION_STEPS, _RELAXATION_STEP = 30, 60.0


@dataclass(frozen=True)
class Schedule:
    """Groups of species in the order of a sweep, and the lifetimes [s] that determine it."""

    groups: tuple[tuple[int, ...], ...]
    lifetimes: tuple[float, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """Species in the order of a sweep."""
        return tuple(species for group in self.groups for species in group)


def schedule(network: ReactionNetwork, largest_group: int) -> Schedule:
    """Return the order of a sweep: ascending lifetime, groups of independent species of at most `largest_group`."""
    lifetimes = reference_lifetimes(network)
    order = sorted(range(len(network.species)), key=lambda species: (lifetimes[species], species))
    return Schedule(_groups(network, order, largest_group), tuple(lifetimes))


def reference_lifetimes(network: ReactionNetwork) -> list[float]:
    """Return 1/L [s] of each species at noon, after radicals have adjusted to the initial values of the mechanism."""
    with np.errstate(all="ignore"):  # a run reports rates that are not finite in its own air
        k = [float(value) for value in rates(network, noon(network))]
    production, loss = network.production_terms, network.loss_terms
    everywhere = [_BACKGROUND] * len(network.species)
    # that much of a radical would use up its reactants, and change the lifetimes of other species
    lasting = [_sum(terms, k, everywhere) * _RELAXATION_STEP < 1.0 for terms in loss]
    y = [network.initial.get(name, _BACKGROUND * lasts) for name, lasts in zip(network.names, lasting, strict=True)]
    for _ in range(_RELAXATION_STEPS):
        old = list(y)
        for species in range(len(y)):
            gain = _RELAXATION_STEP * _sum(production[species], k, y)
            y[species] = (old[species] + gain) / (1.0 + _RELAXATION_STEP * _sum(loss[species], k, y))
    inverse = [_sum(terms, k, y) for terms in loss]
    return [1.0 / value if value > 0.0 else np.inf for value in inverse]


def _sum(terms: tuple[Term, ...], k: list[float], y: list[float]) -> float:
    total = 0.0
    for term in terms:
        value = term.coefficient * k[term.reaction]
        for factor in term.factors:
            value *= y[factor]
        total += value
    return total


def noon(network: ReactionNetwork) -> dict[str, Value]:
    """Return :data:`NOON` with values for the open parameters of the mechanism."""
    usual = {each.name: _FIXED if each.unit == "molecules cm-3" else _LIGHT for each in network.parameters}
    return {**usual, **NOON}


def dependencies(network: ReactionNetwork, species: int) -> frozenset[int]:
    """Return the species whose mixing ratios appear in P or L of `species`."""
    terms = network.production_terms[species] + network.loss_terms[species]
    return frozenset(factor for term in terms for factor in term.factors)


def _groups(network: ReactionNetwork, order: list[int], largest: int) -> tuple[tuple[int, ...], ...]:
    """Fill each group from the front of the queue; a later species joins if it depends on none before it."""
    needs = {species: dependencies(network, species) - {species} for species in order}
    waiting, groups = list(order), []
    while waiting:
        group: list[int] = []
        passed: set[int] = set()
        for species in list(waiting):
            if len(group) < largest and not needs[species] & (set(group) | passed):
                group.append(species)
                waiting.remove(species)
            else:
                passed.add(species)
        groups.append(tuple(group))
    return tuple(groups)
