"""The median of measurements and its confidence interval, for any distribution."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median
from typing import Final

_CONFIDENCE: Final = 0.95
FEWEST: Final = 6
"""Measurements that an interval needs: with fewer, the median is outside of all of them in over 5 % of experiments."""


@dataclass(frozen=True)
class Median:
    """The median of a sample and the ends of its confidence interval; None where the sample is too small for one."""

    median: float
    low: float | None
    high: float | None


def median_of(sample: Sequence[float]) -> Median:
    """Return the median and its confidence interval of at least 95 %, between two values of the sample.

    The number of values below the true median is binomial, for every distribution of the values.
    """
    ordered, count = sorted(sample), len(sample)
    cut, beyond = 0, 0.5**count  # the probability of a median below the smallest value
    if 2.0 * beyond > 1.0 - _CONFIDENCE:
        return Median(median(ordered), None, None)
    while 2.0 * (beyond + comb(count, cut + 1) * 0.5**count) <= 1.0 - _CONFIDENCE:
        cut += 1
        beyond += comb(count, cut) * 0.5**count
    return Median(median(ordered), ordered[cut], ordered[count - 1 - cut])
