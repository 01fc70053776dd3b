"""Benchmark of the chemistry of cells on the states of MICM; see docs/explanation/chemistry-performance.md."""

from benchmarks.chemistry.report import CELLS_BY_DEFAULT, run

__all__ = ["CELLS_BY_DEFAULT", "run"]
