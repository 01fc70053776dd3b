"""Scaling over ranks: measured, and fitted by a model of the cost of a step (docs/explanation/scaling.md)."""

from benchmarks.scaling.study import CASE, HOURS, RANKS, ROUNDS, ScalingStudy, run
from benchmarks.scaling.tables import report

__all__ = ["CASE", "HOURS", "RANKS", "ROUNDS", "ScalingStudy", "report", "run"]
