"""How the model scales over ranks, and what that predicts; see docs/scaling.md."""

from airshed.bench.scaling.predictions import Prediction
from airshed.bench.scaling.study import CASE, HOURS, RANKS, ROUNDS, Scaling, run
from airshed.bench.scaling.tables import report

__all__ = ["CASE", "HOURS", "RANKS", "ROUNDS", "Prediction", "Scaling", "report", "run"]
