"""Vapour pressure and its deficit: which of the two a column of a station holds.

    es(T)   = 6.1078 exp(17.269 T / (237.3 + T))                [hPa], T in degC
    deficit = max(0, 0.75 es(maxt) + 0.25 es(mint) - pressure)

Source: Tetens (1930) in the form of Murray (1967); the weights of the day are those of GRASP.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.models.pasture.weather.station import Array, Station

_LEAST_DAYS: Final = 60
_WET: Final = 1.0
"""Rain [mm] of a day that counts as wet."""


def saturation(temperature: Array) -> Array:
    """Return the vapour pressure over water [hPa] at a temperature [degC]."""
    return np.asarray(6.1078 * np.exp(17.269 * temperature / (237.3 + temperature)))


def day_saturation(maximum: Array, minimum: Array) -> Array:
    """Return the mean saturation vapour pressure of a day [hPa] from its temperatures [degC]."""
    return np.asarray(0.75 * saturation(maximum) + 0.25 * saturation(minimum))


def pressure_from_deficit(deficit: Array, maximum: Array, minimum: Array) -> Array:
    """Return the vapour pressure [hPa] of which a deficit [hPa] is one, in the temperatures of the day [degC]."""
    return np.maximum(day_saturation(maximum, minimum) - deficit, 0.0)


@dataclass(frozen=True)
class HumidityEvidence:
    """What tells a vapour pressure from a deficit.

    with_pressure, with_deficit  correlation with es(mint), and with 0.75 (es(maxt) - es(mint))
    wet, dry                     means of wet and of dry days [hPa], each month of the year with the same weight
    """

    with_pressure: float
    with_deficit: float
    wet: float
    dry: float

    @property
    def verdict(self) -> str:
        """The field that it is; "" where the two signs do not agree."""
        if self.with_pressure > self.with_deficit and self.wet > self.dry:
            return "vapour_pressure"
        if self.with_deficit > self.with_pressure and self.wet < self.dry:
            return "vapour_pressure_deficit"
        return ""

    def __str__(self) -> str:
        return (
            f"its correlation with es(mint) is {self.with_pressure:.2f}, that with es(maxt) - es(mint) "
            f"{self.with_deficit:.2f}; its mean on wet days is {self.wet:.1f} hPa, on dry days {self.dry:.1f} hPa"
        )


def humidity_evidence(station: Station, name: str) -> HumidityEvidence | None:
    """Return what a column of humidity looks like; None where too few days tell.

    Air near the ground cools in the night to about its dew point, so that a pressure follows es(mint). Rain makes the
    air moist: within a month a pressure is larger on wet days than on dry ones, and a deficit is smaller.
    """
    if not {"max_temperature", "min_temperature", "rain"} <= set(station):
        return None
    maximum, minimum, rain, values = (
        station[each] for each in ("max_temperature", "min_temperature", "rain", name)
    )  # fmt: skip
    known = np.isfinite(maximum) & np.isfinite(minimum) & np.isfinite(rain) & np.isfinite(values)
    known &= (np.abs(maximum) < 90.0) & (np.abs(minimum) < 90.0)
    if known.sum() < _LEAST_DAYS:
        return None
    maximum, minimum, rain, values = maximum[known], minimum[known], rain[known], values[known]
    means = _by_month(station.dates[known].astype("datetime64[M]").astype(int) % 12, rain > _WET, values)
    if means is None or not values.std():
        return None
    night = saturation(minimum)
    correlations = (np.corrcoef(values, each)[0, 1] for each in (night, saturation(maximum) - night))
    return HumidityEvidence(*(float(each) for each in (*correlations, *means)))


def _by_month(month: npt.NDArray[np.int64], wet: npt.NDArray[np.bool_], values: Array) -> tuple[float, float] | None:
    """The means of wet and dry days over the months of the year that have both."""
    both = [values[month == n] for n in range(12)], [wet[month == n] for n in range(12)]
    pairs = [
        (each[rains].mean(), each[~rains].mean())
        for each, rains in zip(*both, strict=True)
        if rains.any() and not rains.all()
    ]
    if not pairs:
        return None
    wets, dries = zip(*pairs, strict=True)
    return float(np.mean(wets)), float(np.mean(dries))
