"""Measures what checkpoints and output cost a gradient and a run, on several numbers of ranks.

The experiment of a study of a 4D-Var code whose checkpoints are written at every step: by each strategy, on ever more
processes, with what they take of the whole.

source  Resler, Eben & Jurus, Fine resolution modeling with CMAQ-adjoint (poster): strategies of I/O for checkpoints
"""

from benchmarks.adjoint_io.experiment import Experiment
from benchmarks.adjoint_io.report import report, run

__all__ = ["Experiment", "report", "run"]
