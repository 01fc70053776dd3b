"""Reaction files become a :class:`ReactionNetwork`: data only, which knows no kernels."""

from airshed.mechanism.load import load_mechanism, shipped_mechanisms
from airshed.mechanism.network import Reaction, ReactionNetwork, Species, Term, rates, tendency

__all__ = [
    "Reaction",
    "ReactionNetwork",
    "Species",
    "Term",
    "load_mechanism",
    "rates",
    "shipped_mechanisms",
    "tendency",
]
