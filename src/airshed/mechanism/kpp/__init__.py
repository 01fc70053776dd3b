"""Reader and writer of reaction files in KPP syntax: text -> sections -> statements -> ReactionNetwork, and back."""

from airshed.mechanism.kpp.formula import read_rate
from airshed.mechanism.kpp.reader import read_kpp
from airshed.mechanism.kpp.sun import kpp_sun

__all__ = ["kpp_sun", "read_kpp", "read_rate"]
