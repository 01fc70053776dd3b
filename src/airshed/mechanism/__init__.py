"""Readers and writers of reaction files, with a :class:`ReactionNetwork` as the common data structure."""

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
