"""How fast an array moves between two groups of ranks, by each strategy and transport; see docs/redistribution.md."""

from benchmarks.redistribution.report import RANKS_BY_DEFAULT, run

__all__ = ["RANKS_BY_DEFAULT", "run"]
