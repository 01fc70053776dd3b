"""Figures of checks: a number, and its threshold."""

from dataclasses import dataclass
from math import isfinite, log2


@dataclass(frozen=True)
class Figure:
    """Number of a check; it passes if it is finite and at most (or at least) the limit.

    reference  the number in the literature, in theory, or in another implementation
    """

    test: str
    what: str
    value: float
    limit: float
    at_least: bool = False
    reference: str = ""

    @property
    def ok(self) -> bool:
        """True if the figure is within its limit."""
        return isfinite(self.value) and (self.value >= self.limit if self.at_least else self.value <= self.limit)

    @property
    def threshold(self) -> str:
        """Limit as text."""
        return f"{'>=' if self.at_least else '<='} {self.limit:g}"


def observed_order(coarse: float, fine: float) -> float:
    """Return the order p of an error proportional to h^p, from the errors at h and h/2."""
    return log2(coarse / fine)
