"""How fast the chemistry of independent cells is, on the same states as MICM; see docs/chemistry-performance.md."""

from benchmarks.chemistry.report import CELLS_BY_DEFAULT, run

__all__ = ["CELLS_BY_DEFAULT", "run"]
