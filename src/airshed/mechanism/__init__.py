"""Reaction files become a :class:`ReactionNetwork`: data only, which knows no kernels."""

from airshed.mechanism.network import Reaction, ReactionNetwork, Species, Term, rates, tendency

__all__ = ["Reaction", "ReactionNetwork", "Species", "Term", "rates", "tendency"]
