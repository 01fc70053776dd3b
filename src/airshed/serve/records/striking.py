"""The hour of a recording at which a page opens: the greatest contrast of a field in daylight."""

from typing import Final

import numpy as np

from airshed.serve.fields.published import Shape
from airshed.serve.records.recording import RecordedFields

_SAMPLES: Final = 200
"""Most records that are compared: of longer recordings every second one, every third one, and so on."""
_DAYLIGHT: Final = (9.0, 18.0)
"""First and last hour of daylight in all seasons, in local solar time."""
_DAY: Final = 86400.0
_ENDS: Final = (5.0, 95.0)
"""Percentiles whose distance is the contrast."""


def striking_time(recorded: RecordedFields, shape: Shape, name: str) -> float | None:
    """Return the time [s] at which a field has its greatest contrast, None for a recording without this field.

    The contrast is the distance between the 5th and the 95th percentile of the lowest layer. Hours without daylight in
    the middle of the map do not count, unless a day or more lies between records.
    """
    moments = list(recorded.moments)
    if not moments or name not in recorded.names:
        return None
    level = 0 if len(shape.variable(name).shape) > 2 else None
    lon = _middle(shape)
    indices = range(0, len(moments), -(-len(moments) // _SAMPLES))
    bright = [index for index in indices if recorded.every >= _DAY or _is_bright(moments[index].time, lon)]
    contrasts = {index: _contrast(recorded.read(name, index, level, None)) for index in bright or indices}
    return moments[max(contrasts, key=lambda index: contrasts[index])].seconds


def _contrast(values: np.ndarray) -> float:
    """Return the distance between two percentiles, 0 for a field without values."""
    there = values[np.isfinite(values)]
    return float(np.ptp(np.percentile(there, _ENDS))) if there.size else 0.0


def _is_bright(time: str, lon: float) -> bool:
    """Return whether a time in UTC is in daylight at a longitude [degrees]."""
    since = np.datetime64(time.removesuffix("Z"), "ms") - np.datetime64(time[:10], "ms")
    hour = float(since / np.timedelta64(1, "h") + lon / 15.0) % 24.0
    return _DAYLIGHT[0] <= hour <= _DAYLIGHT[1]


def _middle(shape: Shape) -> float:
    """Return the longitude of the middle of the map [degrees]; 0 for a projected map without one."""
    found = [each for each in shape.places if each.name == "lon"]
    if found:
        return float(np.asarray(found[0].values)[tuple(size // 2 for size in np.shape(found[0].values))])
    lines = [each.values for each in shape.grid.coordinates if each.name == "lon"]
    return float(np.mean(lines[0])) if lines else 0.0
