"""Percentile of dry matter among the same days of all years of a run, as a measure of drought."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.errors import DataError

if TYPE_CHECKING:
    import xarray as xr

DROUGHT: Final = "drought_percentile"
"""Name of the field."""
LEAST_YEARS: Final = 3
"""Minimum number of years for a percentile."""
_FIELD: Final = "standing_dry_matter"
Times = npt.NDArray[np.datetime64]


def with_drought(results: "xr.Dataset") -> "xr.Dataset":
    """Return results with the percentile of standing dry matter, if they have it for enough years."""
    times = results["time"].values
    if _FIELD not in results or np.unique(times.astype("datetime64[Y]")).size < LEAST_YEARS:
        return results
    try:
        found = percentile(results[_FIELD].values, times)
    except DataError:
        return results
    words = "Percentile of standing dry matter among the years of this run"
    field = results[_FIELD].copy(data=found.astype(np.float32))
    return results.assign({DROUGHT: field.assign_attrs(units="%", long_name=words)})


def percentile(values: AnyArray, times: Times) -> npt.NDArray[np.float64]:
    """Return the percentile [%] of each value (time, ...) among the values of the same day in all years of a run.

        p = 100 (b + e / 2) / n

    where b of the n years have less on this day, and e have the same, including the year itself: the median year has
    50. Values are interpolated in time. The result is NaN for a day in fewer than `LEAST_YEARS` years. Raises DataError
    if this is the case for all days.
    """
    result = np.full(values.shape, np.nan)
    for row, years in enumerate(_same_day(times)):
        if len(years) >= LEAST_YEARS:
            others = np.stack([(1.0 - share) * values[at] + share * values[at + 1] for at, share in years])
            less, equal = (others < values[row]).sum(axis=0), (others == values[row]).sum(axis=0)
            result[row] = 100.0 * (less + 0.5 * equal) / len(years)
    if np.all(np.isnan(result)):
        raise DataError(f"percentiles need a run of at least {LEAST_YEARS} years; increase the length of the case")
    return result


def _same_day(times: Times) -> Iterator[list[tuple[int, float]]]:
    """Yield for each time the indices and interpolation weights of the same day in all years of a run."""
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
