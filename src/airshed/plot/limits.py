"""Colour and axis limits: round numbers that hold nearly all of the data, the same for all panels of a picture."""

from dataclasses import dataclass
from math import ceil, floor, log10

import numpy as np
from numpy.typing import ArrayLike

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_TICKS = 6
_LOWER, _UPPER = 2.0, 99.7
_NEAR_ZERO = 0.1
_SKEWED = 0.15


@dataclass(frozen=True)
class Scale:
    """Limits of a colour bar, its ticks, its shape, and whether values lie beyond its ends.

    `power` is 1 for a linear scale and 1/2 for a square-root one, which shows both the plumes and the clean air.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    power: float
    below: bool
    above: bool

    @property
    def extend(self) -> str:
        """Return Matplotlib's word for the ends that values lie beyond."""
        return {(False, False): "neither", (True, False): "min", (False, True): "max"}.get(
            (self.below, self.above), "both"
        )


def scale_of(values: ArrayLike) -> Scale:
    """Return the scale of some values; values that are not finite are ignored, and no values count as 0.

    The limits are the 2nd and 99.7th percentiles, rounded outwards; the lower one is 0 for data that come near it.
    """
    data = np.asarray(values, dtype=np.float64)
    data = data[np.isfinite(data)]
    if data.size == 0:
        data = np.zeros(1)
    least, few, middle, high, most = (float(v) for v in np.percentile(data, (0, _LOWER, 50, _UPPER, 100)))
    low = 0.0 if 0 <= few <= _NEAR_ZERO * high else few
    if high - low <= 1e-6 * max(abs(high), abs(low)):
        low, high = _around(high, most)
    step = round_step(high - low)
    bottom, top = floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step
    power = 0.5 if bottom == 0 and middle < _SKEWED * top else 1.0
    ticks = _sqrt_ticks(top) if power < 1 else _even_ticks(bottom, top, step)
    return Scale(bottom, ticks[-1], ticks, power, least < bottom, most > ticks[-1])


def scale_around_zero(values: ArrayLike) -> Scale:
    """Return a square-root scale, symmetric about zero: sensitivities differ by orders of magnitude."""
    data = np.abs(np.asarray(values, dtype=np.float64))
    data = data[np.isfinite(data)]
    most = float(data.max(initial=0.0))
    high = float(np.percentile(data, _UPPER)) if data.size else 0.0
    step = round_step(high if high > 0.0 else most if most > 0.0 else 1.0, 1)
    above = most > step
    return Scale(-step, step, (-step, -0.25 * step, 0.0, 0.25 * step, step), 0.5, above, above)


def axis_of(values: ArrayLike) -> tuple[float, ...]:
    """Return the ticks of an axis that holds all values and 0; its limits are the first and the last one."""
    data = np.asarray(values, dtype=np.float64)
    data = data[np.isfinite(data)]
    low, high = float(np.min(data, initial=0.0)), float(np.max(data, initial=0.0))
    if low == high:
        return 0.0, 1.0
    step = round_step(high - low)
    return _even_ticks(floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step, step)


def round_step(span: float, steps: int = _TICKS) -> float:
    """Return the smallest of 1, 2, 2.5, 5 x 10^n that divides a positive span into no more than `steps` steps."""
    raw = span / steps
    decade: float = 10.0 ** floor(log10(raw))
    return next(decade * digit for digit in _ROUND if decade * digit >= raw * (1 - 1e-9))


def _around(value: float, most: float) -> tuple[float, float]:
    """Return limits for data that are one value (nearly) everywhere, which gets a colour from the middle."""
    if most > 2 * value >= 0:
        return 0.0, most
    return (0.0, 2 * value) if value > 0 else (2 * value, 0.0) if value < 0 else (0.0, 1.0)


def _even_ticks(bottom: float, top: float, step: float) -> tuple[float, ...]:
    first, last = round(bottom / step), round(top / step)
    return tuple(n * step for n in range(first, last + 1))


def _sqrt_ticks(top: float) -> tuple[float, ...]:
    """Return 0, 1, 2, 5, 10, ... x 10^n up to `top`, without ticks too close on a square-root axis, and `top`."""
    decade = 10.0 ** floor(log10(top))
    marks = [decade * scale * digit for scale in (0.01, 0.1, 1.0) for digit in (1, 2, 5)]
    ticks = [0.0]
    for mark in (m for m in marks if m < top):
        if (mark / top) ** 0.5 - (ticks[-1] / top) ** 0.5 >= 0.11 and 1 - (mark / top) ** 0.5 >= 0.11:
            ticks.append(mark)
    return (*ticks, top)


def format_number(value: float, digits: int = 3) -> str:
    """Print a value with some significant digits at most, without an exponent where that is short."""
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        places = 0 if value == 0 else max(0, digits - 1 - floor(log10(abs(value))))
        text = f"{value:.{places}f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")
    return f"{value:.{digits - 1}e}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")
