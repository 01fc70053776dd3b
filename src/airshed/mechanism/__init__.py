"""Reaction files become a :class:`ReactionNetwork`: data only, which knows no kernels."""

from airshed.mechanism.load import inspect_mechanism, load_mechanism, shipped_mechanisms
from airshed.mechanism.network import Reaction, ReactionNetwork, Species, Term, rates, tendency
from airshed.mechanism.structure import Imbalance, atom_counts, imbalances

__all__ = [
    "Imbalance",
    "Reaction",
    "ReactionNetwork",
    "Species",
    "Term",
    "atom_counts",
    "imbalances",
    "inspect_mechanism",
    "load_mechanism",
    "rates",
    "shipped_mechanisms",
    "tendency",
]
