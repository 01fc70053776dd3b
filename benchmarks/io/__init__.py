"""Measure the strategies of output by the experiment of the AQM benchmark.

Each step reads four three-dimensional and five two-dimensional fields, computes, and writes all 66 concentrations as
32-bit floats.

source  Blom, Kessler & Verwer, an air quality benchmark and its I/O on a Cray T3E, section 5 and table 3
"""

from benchmarks.io.experiment import Experiment, OutputMeasurements, RunTimes, grid_of
from benchmarks.io.overlap import Overlap, overlap
from benchmarks.io.report import report, run
from benchmarks.median import FEWEST, Median, median_of

__all__ = [
    "FEWEST",
    "Experiment",
    "Median",
    "OutputMeasurements",
    "Overlap",
    "RunTimes",
    "grid_of",
    "median_of",
    "overlap",
    "report",
    "run",
]
