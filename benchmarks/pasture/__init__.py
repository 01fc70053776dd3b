"""Measure the pasture model: a year of Queensland, and a century of Australia with cells of 5 km.

Each case runs in a separate process, see :mod:`.worker`; the century is extrapolated from some of its days.
"""

from benchmarks.pasture.report import CENTURY, DAYS, ROUNDS, run

__all__ = ["CENTURY", "DAYS", "ROUNDS", "run"]
