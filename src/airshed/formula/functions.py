"""The functions that a formula may call, each with its form in NumPy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its form in NumPy, and its least and greatest number of arguments, None for any."""

    numpy: Callable[..., Any]
    least: int = 1
    most: int | None = 1

    def wanted(self, count: int, *, named: str) -> str:
        """Return what is wrong with a number of arguments, empty where it is right."""
        if count >= self.least and (self.most is None or count <= self.most):
            return ""
        number = f"{self.least}" if self.most == self.least else f"{self.least} or more"
        return f"{named} takes {number} argument{'' if number == '1' else 's'}"


FUNCTIONS: Final[Mapping[str, Function]] = {
    "abs": Function(np.abs),
    "exp": Function(np.exp),
    "log": Function(np.log),
    "log10": Function(np.log10),
    "sqrt": Function(np.sqrt),
    "sin": Function(np.sin),
    "cos": Function(np.cos),
    "tan": Function(np.tan),
    "min": Function(lambda *values: reduce(np.minimum, values), 2, None),
    "max": Function(lambda *values: reduce(np.maximum, values), 2, None),
    "where": Function(lambda condition, yes, no: np.where(np.not_equal(condition, 0.0), yes, no), 3, 3),
}
"""log is the natural logarithm; where(condition, a, b) is a where the condition holds, else b."""
