"""Which instants of a data set a case uses."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import DataError

_SECOND = np.timedelta64(1, "s")


@dataclass(frozen=True)
class ForcingTimes:
    """The instants of a forcing and the data's index of each.

    times   [s since the case's start], rising, the first at or before the start
    source  index into the data of each instant
    held    whether the last instant repeats the data's last one
    """

    times: tuple[float, ...]
    source: tuple[int, ...]
    held: bool
    is_hourly: bool

    @classmethod
    def of(cls, data_times: NDArray[np.datetime64], start: np.datetime64, length: float | None) -> "ForcingTimes":
        """Return the instants between which the period from ``start`` over ``length`` [s] lies; None: all later ones.

        Where the data ends within one interval before the period does, its last instant is held for that interval.
        raises  DataError where the data does not cover the period, or has a gap in it
        """
        seconds = (data_times.astype("datetime64[ns]") - start.astype("datetime64[ns]")) / _SECOND
        steps = np.diff(seconds)
        interval = float(np.median(steps)) if steps.size else 3600.0
        end = float(max(seconds[-1], 0.0) + interval) if length is None else float(length)
        if seconds[0] > 0.0 or seconds[-1] + interval < max(end, 0.0):
            raise DataError(
                f"the data covers {_text(data_times[0])} to {_text(data_times[-1])} UTC, the case asks for "
                f"{_text(start)} to {_text(start + np.timedelta64(round(end), 's'))}; change [time] or add data"
            )
        first = int(np.searchsorted(seconds, 0.0, side="right")) - 1
        last = min(int(np.searchsorted(seconds, end)), seconds.size - 1)
        wide = np.flatnonzero(steps[first:last] > 1.5 * interval)
        if wide.size:
            gap = first + int(wide[0])
            raise DataError(
                f"the data has nothing between {_text(data_times[gap])} and {_text(data_times[gap + 1])} UTC, "
                f"though its interval is {interval / 3600.0:g} h; add the missing times"
            )
        times = [float(value) for value in seconds[first : last + 1]]
        source = list(range(first, last + 1))
        held = times[-1] < end
        if held:
            times.append(times[-1] + interval)
            source.append(last)
        return cls(tuple(times), tuple(source), held, interval == 3600.0)


def _text(when: np.datetime64) -> str:
    """Return a time to the minute."""
    return str(when.astype("datetime64[m]"))
