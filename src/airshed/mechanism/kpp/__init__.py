"""Reader and writer of reaction files in KPP syntax: text -> sections -> statements -> ReactionNetwork, and back."""

from airshed.mechanism.kpp.meaning import read_rate
from airshed.mechanism.kpp.rate_functions import kpp_sun
from airshed.mechanism.kpp.reader import read_kpp
from airshed.mechanism.kpp.writer import kpp_text, write_kpp

__all__ = ["kpp_sun", "kpp_text", "read_kpp", "read_rate", "write_kpp"]
