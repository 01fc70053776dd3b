"""How dry matter stands against the years of a run: its percentile among those of the same day."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.errors import DataError

if TYPE_CHECKING:
    import xarray as xr

DROUGHT: Final = "drought_percentile"
"""The name of the field."""

LEAST_YEARS: Final = 3
"""Least number of years with a day for a percentile."""

_OF: Final = "standing_dry_matter"
Times = npt.NDArray[np.datetime64]


def with_drought(results: "xr.Dataset") -> "xr.Dataset":
    """Return results with the percentile of their standing dry matter, where they have it for enough years."""
    times = results["time"].values
    if _OF not in results or np.unique(times.astype("datetime64[Y]")).size < LEAST_YEARS:
        return results
    try:
        found = percentile(results[_OF].values, times)
    except DataError:
        return results
    words = "Percentile of standing dry matter among the years of this run"
    field = results[_OF].copy(data=found.astype(np.float32))
    return results.assign({DROUGHT: field.assign_attrs(units="%", long_name=words)})


def percentile(values: AnyArray, times: Times) -> npt.NDArray[np.float64]:
    """Return the percentile [%] of each value (time, ...) among those of the same day in all years of a run.

        p = 100 (b + e / 2) / n

    b of the n years have less on the day, e have as much, the year itself among them: the median year has 50. Between
    the times of a run values are interpolated; a day that fewer than `LEAST_YEARS` years have gets NaN. Raises
    DataError where that are all.
    """
    result = np.full(values.shape, np.nan)
    for row, years in enumerate(_same_day(times)):
        if len(years) >= LEAST_YEARS:
            others = np.stack([(1.0 - share) * values[at] + share * values[at + 1] for at, share in years])
            less, equal = (others < values[row]).sum(axis=0), (others == values[row]).sum(axis=0)
            result[row] = 100.0 * (less + 0.5 * equal) / len(years)
    if np.all(np.isnan(result)):
        raise DataError(
            f"a percentile against the years of a run needs {LEAST_YEARS} of them; let the case take longer"
        )
    return result


def _same_day(times: Times) -> Iterator[list[tuple[int, float]]]:
    """Yield for each time where each year of a run has the same day: the time before, and how far it is to the next."""
    days = times.astype("datetime64[s]").astype(np.int64)
    first, last = (int(each) for each in times[[0, -1]].astype("datetime64[Y]").astype(int))
    for time in times.astype("datetime64[s]"):
        since = time - time.astype("datetime64[Y]")
        moments = [int((np.datetime64(year, "Y") + since).astype(np.int64)) for year in range(first, last + 1)]
        found = []
        for moment in moments:
            if days[0] <= moment <= days[-1]:
                at = min(int(np.searchsorted(days, moment, side="right")) - 1, days.size - 2)
                found.append((at, (moment - int(days[at])) / int(days[at + 1] - days[at])))
        yield found
