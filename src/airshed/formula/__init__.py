"""Formulas: one tree, traced from Python or read from text; evaluated, printed, differentiated, written as C++.

Its functions work on arrays and on traced values: they are those of NumPy.
"""

from numpy import abs, cos, exp, log, log10, maximum, minimum, sin, sqrt, tan, where

from airshed.formula.evaluate import evaluate, evaluate_all
from airshed.formula.trace import TracedFunction, trace

__all__ = [
    "TracedFunction", "abs", "cos", "evaluate", "evaluate_all", "exp", "log", "log10", "maximum", "minimum", "sin",
    "sqrt", "tan", "trace", "where",
]  # fmt: skip
