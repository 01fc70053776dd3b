"""Reaction files become a :class:`ReactionNetwork`: data only, which knows no kernels."""

from airshed.mechanism.balance import Imbalance, atom_counts, imbalances
from airshed.mechanism.load import inspect_mechanism, load_mechanism, shipped_mechanisms
from airshed.mechanism.network import ReactionNetwork, rates, tendency
from airshed.mechanism.reaction import Reaction, Species, Term

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
