"""Measures the strategies of output by the experiment of the AQM benchmark.

Each step reads four three-dimensional and five two-dimensional fields and writes all 66 concentrations as 32-bit
floats; between them it computes.

source  Blom, Kessler & Verwer, an air quality benchmark and its I/O on a Cray T3E, section 5 and table 3
"""

from benchmarks.io.experiment import Experiment, Measured, Spent, grid_of
from benchmarks.io.hiding import Hiding, hiding
from benchmarks.io.report import report, run
from benchmarks.median import FEWEST, Median, median_of

__all__ = [
    "FEWEST",
    "Experiment",
    "Hiding",
    "Measured",
    "Median",
    "Spent",
    "grid_of",
    "hiding",
    "median_of",
    "report",
    "run",
]
