"""Measures the pasture model: a year of Queensland, and a century of Australia on cells of 5 km.

Each runs by itself in a process of its own, see :mod:`.worker`; a century of which some days were run is extrapolated.
"""

from benchmarks.pasture.report import CENTURY, DAYS, ROUNDS, run

__all__ = ["CENTURY", "DAYS", "ROUNDS", "run"]
