"""Benchmark of redistribution between two groups of ranks; see docs/explanation/redistribution.md."""

from benchmarks.redistribution.report import RANKS_BY_DEFAULT, run

__all__ = ["RANKS_BY_DEFAULT", "run"]
