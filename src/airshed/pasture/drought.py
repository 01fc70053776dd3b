"""How dry matter stands against the years of a run: its percentile among those of the same day."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import DataError

if TYPE_CHECKING:
    import xarray as xr

DROUGHT: Final = "drought_percentile"
"""The name of the field."""

LEAST_YEARS: Final = 3
"""Years on a day without which a percentile says nothing."""

_OF: Final = "standing_dry_matter"


def with_drought(results: "xr.Dataset") -> "xr.Dataset":
    """Return results with the percentile of their standing dry matter, where they have it for enough years."""
    times = results["time"].values
    if _OF not in results or np.unique(times.astype("datetime64[Y]")).size < LEAST_YEARS:
        return results
    try:
        found = percentile(results[_OF].values, times)
    except DataError:
        return results
    words = "Standing dry matter against that of the same day in the years of this run, percentile"
    field = results[_OF].copy(data=found.astype(np.float32))
    return results.assign({DROUGHT: field.assign_attrs(units="%", long_name=words)})


def percentile(values: npt.NDArray[Any], times: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    """Return the percentile [%] of each value (time, ...) among the values of the same day in all years of a run.

        p = 100 (b + e / 2) / n

    b of the n years have less on the day, e have as much, the year itself among them: the median year has 50. Days that
    fewer than `LEAST_YEARS` years have get NaN. Raises DataError where that are all.
    """
    days = times.astype("datetime64[D]")
    key = np.char.partition(np.datetime_as_string(days), "-")[:, 2]
    result = np.full(values.shape, np.nan)
    for day in np.unique(key):
        [years] = np.nonzero(key == day)
        if years.size >= LEAST_YEARS:
            found = values[years]
            less = (found[None] < found[:, None]).sum(axis=1)
            equal = (found[None] == found[:, None]).sum(axis=1)
            result[years] = 100.0 * (less + 0.5 * equal) / years.size
    if np.all(np.isnan(result)):
        raise DataError(
            f"a percentile against the years of a run needs {LEAST_YEARS} of them; let the case take longer"
        )
    return result
