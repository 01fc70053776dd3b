"""Measure the cost of checkpoints in a gradient and of output in a run, on several numbers of ranks.

The experiment is that of a study of a 4D-Var code whose checkpoints are written at every step: by each strategy, on
increasing numbers of processes, with their share of the total time.

source  Resler, Eben & Jurus, Fine resolution modeling with CMAQ-adjoint (poster): strategies of I/O for checkpoints
"""

from benchmarks.adjoint_io.experiment import Experiment
from benchmarks.adjoint_io.report import report, run

__all__ = ["Experiment", "report", "run"]
