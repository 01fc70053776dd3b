"""FAIRMODE's modelling quality indicator (MQI): model error relative to the measurement uncertainty.

References
----------
Janssen and Thunis 2022, FAIRMODE Guidance Document on Modelling Quality Objectives and Benchmarking, Version 3.3,
EUR 31068 EN, doi:10.2760/41988, sections 4 and 5 and annex 1 (table of parameters)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.evaluate.statistics import correlation, mean_bias, root_mean_square_error

Array = npt.NDArray[np.float64]

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
    error, bias = root_mean_square_error(o, m), mean_bias(o, m)
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
