"""What a check finds: a number, and the limit that it must keep."""

from dataclasses import dataclass
from math import isfinite, log2


@dataclass(frozen=True)
class Figure:
    """One number of a check; it holds when it is finite and at most (or at least) the limit.

    reference  what the number is in the literature, in theory, or in another implementation
    """

    test: str
    what: str
    value: float
    limit: float
    at_least: bool = False
    reference: str = ""

    @property
    def ok(self) -> bool:
        """Whether the figure keeps its limit."""
        return isfinite(self.value) and (self.value >= self.limit if self.at_least else self.value <= self.limit)

    @property
    def threshold(self) -> str:
        """The limit as text."""
        return f"{'>=' if self.at_least else '<='} {self.limit:g}"


def observed_order(coarse: float, fine: float) -> float:
    """Return p of an error that goes as h^p, from the errors at h and h/2."""
    return log2(coarse / fine)
