"""Statistics of modelled against observed values, with the names and units of MONET.

Each formula takes two arrays of shape (n,) without missing values: ``o`` observed, ``m`` modelled, both in one unit.
:func:`scores` removes pairs with a missing value first.

References
----------
- Boylan and Russell 2006, Atmospheric Environment 40, 4946-4959, doi:10.1016/j.atmosenv.2005.09.087 (MB, NMB, FB, FE)
- Willmott 1981, Physical Geography 2, 184-194, doi:10.1080/02723646.1981.10642213 (IOA)
- Chang and Hanna 2004, Meteorology and Atmospheric Physics 87, 167-196, doi:10.1007/s00703-003-0070-7 (FAC2)
- Baker and Pan 2017, Atmosphere 8, 210, doi:10.3390/atmos8110210 (names of MONET)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from airshed.core.arrays import Array


def correlation(o: Array, m: Array) -> float:
    """Return R = mean((o - mean(o)) (m - mean(m))) / (STDO STDP) [1], Pearson's; NaN where a series is constant."""
    if o.size < 2 or not np.ptp(o) or not np.ptp(m):
        return np.nan
    do, dm = o - o.mean(), m - m.mean()
    return float(np.clip((do @ dm) / np.sqrt((do @ do) * (dm @ dm)), -1.0, 1.0))


def _bias(o: Array, m: Array) -> float:
    return float((m - o).mean())


def _error(o: Array, m: Array) -> float:
    return float(np.sqrt(((m - o) ** 2).mean()))


def _relative(part: Array, whole: Array) -> Array:
    """Return part / whole (n,), 0 where both are 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=(whole != 0.0) | (part != 0.0))


def _ratio(part: float, whole: float) -> float:
    """Return part / whole, NaN where the whole is 0."""
    return part / whole if whole else np.nan


METRICS: Final[Mapping[str, Callable[[Array, Array], float]]] = {
    "MO": lambda o, m: o.mean(),
    "MP": lambda o, m: m.mean(),
    "STDO": lambda o, m: o.std(),
    "STDP": lambda o, m: m.std(),
    "MB": _bias,
    "NMB": lambda o, m: _ratio(100.0 * (m - o).sum(), o.sum()),
    "FB": lambda o, m: 200.0 * _relative(m - o, m + o).mean(),
    "FE": lambda o, m: 200.0 * _relative(np.abs(m - o), np.abs(m + o)).mean(),
    "RMSE": _error,
    "R": correlation,
    "IOA": lambda o, m: 1.0 - _ratio(((m - o) ** 2).sum(), ((np.abs(m - o.mean()) + np.abs(o - o.mean())) ** 2).sum()),
    "FAC2": lambda o, m: ((0.5 * o <= m) & (m <= 2.0 * o)).mean(),
}
"""Name of a statistic -> its formula.

MO, MP, STDO, STDP  means and standard deviations (divided by n) of observed and modelled values, in their unit
MB    mean(m - o), in the unit of the values
NMB   100 sum(m - o) / sum(o) [%]; NaN where the observed values sum to 0
FB    100 mean(2 (m - o) / (m + o)) [%], from -200 to 200; a pair of two zeros counts as 0
FE    100 mean(2 |m - o| / |m + o|) [%], from 0 to 200; a pair of two zeros counts as 0
RMSE  sqrt(mean((m - o)^2)), in the unit of the values
R     see :func:`correlation`
IOA   1 - sum((m - o)^2) / sum((|m - mean(o)| + |o - mean(o)|)^2) [1], from 0 to 1, Willmott 1981; NaN where all values
      are the observed mean
FAC2  share of pairs with o / 2 <= m <= 2 o [1], from 0 to 1
"""

PERCENT: Final = ("NMB", "FB", "FE")
"""Statistics in per cent."""


def paired(o: Array, m: Array) -> tuple[Array, Array]:
    """Return the pairs in which both values are finite, (n,) both."""
    there = np.isfinite(o) & np.isfinite(m)
    return o[there], m[there]


def scores(o: Array, m: Array) -> dict[str, float]:
    """Return N, the number of pairs, and all :data:`METRICS`; NaN for all but N where there is no pair."""
    o, m = paired(o, m)
    return {
        "N": float(o.size),
        **{name: float(formula(o, m)) if o.size else np.nan for name, formula in METRICS.items()},
    }


# FAIRMODE's modelling quality indicator (MQI): model error relative to the measurement uncertainty.


STRINGENCY: Final = 2.0
"""beta: an error may be this many times the uncertainty of the measurements."""


@dataclass(frozen=True)
class Uncertainty:
    """Expanded uncertainty (95 %) of the measurements of a pollutant.

    relative     U_r(RV) [1] at the reference value
    reference    RV [ug/m3]
    alpha        [1] share of the uncertainty that does not depend on the concentration
    """

    relative: float
    reference: float
    alpha: float

    def of(self, o: Array) -> Array:
        """Return U(o) = U_r(RV) sqrt((1 - alpha^2) o^2 + alpha^2 RV^2) [ug/m3] of each value (n,) [ug/m3]."""
        share = self.alpha**2
        return np.asarray(self.relative * np.sqrt((1.0 - share) * o**2 + share * self.reference**2))


UNCERTAINTIES: Final[Mapping[str, Uncertainty]] = {
    "NO2": Uncertainty(0.24, 200.0, 0.20),
    "O3": Uncertainty(0.18, 120.0, 0.79),
    "PM10": Uncertainty(0.28, 50.0, 0.25),
    "PM2.5": Uncertainty(0.36, 25.0, 0.50),
}
"""Parameters by pollutant: hourly NO2, daily maximum of 8-hour means of O3, daily means of PM."""


@dataclass(frozen=True)
class Target:
    """A point of the target diagram; its distance from the origin is the MQI [1].

    x  signed centred error / (beta RMSU): negative where correlation errors dominate, positive where the error of the
       standard deviation does
    y  bias / (beta RMSU)
    """

    x: float
    y: float
    mqi: float


def target(species: str, o: Array, m: Array) -> Target | None:
    """Return the MQI of the series of one station (n,) [ug/m3], None for a species without parameters or pairs.

    MQI = RMSE / (beta RMSU),  RMSU = sqrt(mean(U(o)^2)),  CRMSE^2 = RMSE^2 - MB^2
    """
    known = UNCERTAINTIES.get(species)
    if known is None or not o.size:
        return None
    scale = STRINGENCY * float(np.sqrt((known.of(o) ** 2).mean()))
    error, bias = _error(o, m), _bias(o, m)
    centred = float(np.sqrt(max(error**2 - bias**2, 0.0)))
    return Target(_sign(o, m) * centred / scale, bias / scale, error / scale)


def _sign(o: Array, m: Array) -> float:
    """Return 1 where |STDP - STDO| is at least STDO sqrt(2 (1 - R)), else -1."""
    r = correlation(o, m)
    if np.isnan(r):
        return 1.0
    return 1.0 if abs(m.std() - o.std()) >= o.std() * np.sqrt(2.0 * (1.0 - r)) else -1.0


def ninetieth(indicators: Array) -> float:
    """Return the 90th percentile of the MQI of stations (s,) [1]; 1 or less meets FAIRMODE's objective.

    The indicators are sorted; with k = int(0.9 s) the result lies between the k-th and the next one, at the share
    0.9 s - k.
    """
    ordered = np.sort(indicators[np.isfinite(indicators)])
    if not ordered.size:
        return np.nan
    place = 0.9 * ordered.size
    k = int(place)
    low, high = ordered[max(k - 1, 0)], ordered[min(k, ordered.size - 1)]
    return float(low + (high - low) * (place - k))
