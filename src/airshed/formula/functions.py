"""The functions that a formula may call, each with its form in NumPy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

import numpy as np


@dataclass(frozen=True, slots=True)
class Arity:
    """Number of arguments of a function: minimum, and maximum (None for any)."""

    least: int = 1
    most: int | None = 1

    def takes(self, count: int) -> bool:
        """Return whether the function accepts this number of arguments."""
        return count >= self.least and (self.most is None or count <= self.most)

    @property
    def wanted(self) -> str:
        """The number of arguments, in words."""
        number = f"{self.least}" if self.most == self.least else f"{self.least} or more"
        return f"{number} argument{'s' * (number != '1')}"


@dataclass(frozen=True, slots=True)
class Function(Arity):
    """A function, and its form in NumPy."""

    numpy: Callable[..., Any] = field(kw_only=True)


FUNCTIONS: Final[Mapping[str, Function]] = {
    "abs": Function(numpy=np.abs),
    "exp": Function(numpy=np.exp),
    "log": Function(numpy=np.log),
    "log10": Function(numpy=np.log10),
    "sqrt": Function(numpy=np.sqrt),
    "sin": Function(numpy=np.sin),
    "cos": Function(numpy=np.cos),
    "tan": Function(numpy=np.tan),
    "min": Function(2, None, numpy=lambda *values: reduce(np.minimum, values)),
    "max": Function(2, None, numpy=lambda *values: reduce(np.maximum, values)),
    "where": Function(3, 3, numpy=lambda condition, yes, no: np.where(np.not_equal(condition, 0.0), yes, no)),
}
"""log is the natural logarithm; where(condition, a, b) is a where the condition holds, else b."""
