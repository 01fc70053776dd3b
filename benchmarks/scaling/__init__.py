"""How the model scales over ranks, and what that predicts; see docs/scaling.md."""

from benchmarks.scaling.predictions import Prediction
from benchmarks.scaling.study import CASE, HOURS, RANKS, ROUNDS, Scaling, run
from benchmarks.scaling.tables import report

__all__ = ["CASE", "HOURS", "RANKS", "ROUNDS", "Prediction", "Scaling", "report", "run"]
