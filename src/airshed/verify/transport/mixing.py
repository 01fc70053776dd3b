"""How well a scheme keeps tracers that depend on each other.

Source: Lauritzen, Skamarock, Prather & Taylor 2012, Geosci. Model Dev. 5, 887-901, section 3.5.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from airshed.verify.transport.flow import Array
from airshed.verify.transport.sphere import BACKGROUND, correlated

_LEAST, _MOST = BACKGROUND["BELLS"], 1.0
_RANGES: Final = _MOST - _LEAST, float(correlated(np.array(_LEAST)) - correlated(np.array(_MOST)))
_CURVATURE: Final = -0.8
_ROUND_OFF: Final = 1e-12


@dataclass(frozen=True)
class Mixing:
    """Mean distance from the curve that ties two tracers, in units of their ranges, by what brought them off it.

    real         into the hull of the curve, as mixing of air does
    unmixing     out of it, within the ranges of both tracers
    overshooting out of these ranges
    """

    real: float
    unmixing: float
    overshooting: float

    @classmethod
    def of(cls, bells: Array, tied: Array, area: Array) -> "Mixing":
        """Weigh the distances of all cells by their area."""
        weight = np.broadcast_to(area, bells.shape)
        shifted = distance_from_curve(bells, tied) * weight / weight.sum()
        low, high = correlated(np.array(_MOST)), correlated(np.array(_LEAST))
        inside = (bells >= _LEAST - _ROUND_OFF) & (bells <= _MOST + _ROUND_OFF)
        inside &= (tied >= low - _ROUND_OFF) & (tied <= high + _ROUND_OFF)
        chord = high + (bells - _LEAST) / _RANGES[0] * (low - high)
        hull = inside & (tied >= chord - _ROUND_OFF) & (tied <= correlated(bells) + _ROUND_OFF)
        return cls(*(float(shifted[cells].sum()) for cells in (hull, inside & ~hull, ~inside)))


def distance_from_curve(bells: Array, tied: Array) -> Array:
    """Return the shortest distance of pairs of tracers from the curve 0.9 - 0.8 q^2, each in units of its range.

    The foot of the perpendicular is the greatest root of a cubic q^3 + p q + r. Newton's method from above falls to it.
    """
    ratio = (_RANGES[1] / _RANGES[0]) ** 2
    p = (ratio - 2.0 * _CURVATURE * (tied - 0.9)) / (2.0 * _CURVATURE**2)
    r = -bells * ratio / (2.0 * _CURVATURE**2)
    foot = np.full_like(bells, 3.0)
    for _ in range(30):
        foot = foot - (foot**3 + p * foot + r) / np.maximum(3.0 * foot**2 + p, 1e-12)
    foot = np.clip(foot, _LEAST, _MOST)
    return np.hypot((bells - foot) / _RANGES[0], (tied - correlated(foot)) / _RANGES[1])
