"""Formulas: one tree, traced from Python or read from text; evaluated, printed, differentiated, written as C++.

The functions offered here work on arrays and on what is traced alike: they are NumPy's.
"""

from numpy import abs, cos, exp, log, log10, maximum, minimum, sin, sqrt, tan, where

from airshed.formula.evaluate import evaluate, evaluate_all
from airshed.formula.trace import Traced, trace

__all__ = [
    "Traced", "abs", "cos", "evaluate", "evaluate_all", "exp", "log", "log10", "maximum", "minimum", "sin", "sqrt",
    "tan", "trace", "where",
]  # fmt: skip
