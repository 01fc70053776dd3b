"""Statistics of an ensemble against observed values: spread, rank histogram and CRPS.

Each function takes ``o``, observed values of shape (n,), and ``m``, those of k members of shape (k, n), both in one
unit and without missing values: :func:`complete` removes these first.

References
----------
Fortin et al. 2014, Journal of Hydrometeorology 15, 1708-1713, doi:10.1175/JHM-D-14-0008.1 (spread and error)
Hamill 2001, Monthly Weather Review 129, 550-560, doi:10.1175/1520-0493(2001)129<0550:IORHFV>2.0.CO;2 (rank histogram)
Gneiting and Raftery 2007, JASA 102, 359-378, doi:10.1198/016214506000001437 (CRPS)
Ferro 2014, QJRMS 140, 1917-1923, doi:10.1002/qj.2270 (fair CRPS)
"""

from typing import Literal

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import DataError

Estimator = Literal["fair", "standard"]


def complete(o: Array, m: Array) -> tuple[Array, Array]:
    """Return complete pairs (n,), (k, n): without members that have no values, then without missing values."""
    m = m[np.isfinite(m).any(axis=1)]
    there = np.isfinite(o) & np.isfinite(m).all(axis=0)
    return o[there], m[:, there]


def ensemble_mean_error(o: Array, m: Array) -> float:
    """Return the root mean square error of the ensemble mean, sqrt(mean((mean_k(m) - o)^2)), in their unit."""
    return float(np.sqrt(((m.mean(axis=0) - o) ** 2).mean()))


def spread(m: Array) -> float:
    """Return the spread sqrt(mean(s^2)), in the unit of the values, with the variance s^2 of the members (k - 1).

    Members that are statistically equivalent to the observations have a spread of sqrt(k / (k + 1)) times the error of
    their mean.
    """
    _need_two(m)
    return float(np.sqrt(m.var(axis=0, ddof=1).mean()))


def spread_error_ratio(o: Array, m: Array) -> float:
    """Return sqrt((k + 1) / k) spread / error of the mean [1]: 1 if reliable, less if underdispersive.

    NaN where the mean has no error.
    """
    error = ensemble_mean_error(o, m)
    return float(np.sqrt((len(m) + 1) / len(m)) * spread(m) / error) if error else np.nan


def rank_histogram(o: Array, m: Array) -> Array:
    """Return how many observed values have 0, 1, ..., k members below them, (k + 1,); flat for a reliable ensemble.

    A value that equals some members is divided equally among its possible ranks.
    """
    below, equal = (m < o).sum(axis=0), (m == o).sum(axis=0)
    ranks = np.arange(len(m) + 1)[:, None]
    possible = (below <= ranks) & (ranks <= below + equal)
    return np.asarray((possible / (equal + 1)).sum(axis=1), np.float64)


def crps(o: Array, m: Array, estimator: Estimator = "fair") -> Array:
    """Return the continuous ranked probability score of each value (n,), in the unit of the values; 0 is perfect.

    mean_i |m_i - o| - sum_ij |m_i - m_j| / (2 d). For the standard estimator d is k^2, and the score is that of the
    distribution of the members. For the fair estimator d is k (k - 1). Its expected value is the score of the
    distribution from which the members are drawn, for any number of members. The fair score can be negative. With one
    member the standard score is the absolute error.
    """
    count = len(m)
    if estimator == "fair":
        _need_two(m)
    weights = 2.0 * np.arange(count) - count + 1.0  # sum_ij |m_i - m_j| = 2 sum_i weights_i m_(i), m_(i) sorted
    distances = weights @ np.sort(m, axis=0)
    return np.asarray(np.abs(m - o).mean(axis=0) - distances / (count * (count - (estimator == "fair"))), np.float64)


def scores(o: Array, m: Array) -> dict[str, float]:
    """Return the statistics of an ensemble over all whole pairs; NaN for all but the numbers where there is no pair.

    N, members  numbers of pairs and of members
    RMSE        error of the mean of the members
    spread      see :func:`spread`
    ratio       see :func:`spread_error_ratio`
    CRPS        mean of the fair score
    MAE         mean absolute error of the members
    """
    o, m = complete(o, m)
    numbers = {"N": float(o.size), "members": float(len(m))}
    if not o.size or len(m) < 2:
        return numbers | dict.fromkeys(("RMSE", "spread", "ratio", "CRPS", "MAE"), np.nan)
    return numbers | {
        "RMSE": ensemble_mean_error(o, m),
        "spread": spread(m),
        "ratio": spread_error_ratio(o, m),
        "CRPS": float(crps(o, m).mean()),
        "MAE": float(np.abs(m - o).mean()),
    }


def _need_two(m: Array) -> None:
    if len(m) < 2:
        raise DataError(f"an ensemble needs two members or more, not {len(m)}")
