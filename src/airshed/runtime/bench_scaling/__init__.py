"""How the model scales over ranks, and what that foretells; see docs/scaling.md."""

from airshed.runtime.bench_scaling.predictions import Prediction
from airshed.runtime.bench_scaling.study import CASE, HOURS, RANKS, ROUNDS, Scaling, run
from airshed.runtime.bench_scaling.tables import report

__all__ = ["CASE", "HOURS", "RANKS", "ROUNDS", "Prediction", "Scaling", "report", "run"]
