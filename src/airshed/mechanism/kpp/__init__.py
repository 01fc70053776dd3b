"""Reader of reaction files in KPP syntax: text -> sections -> statements -> ReactionNetwork."""

from airshed.mechanism.kpp.reader import read_kpp

__all__ = ["read_kpp"]
