"""Meteorology from a function of time that returns a Dataset."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from airshed.air.meteorology.dataset import GriddedDataset
from airshed.air.meteorology.diagnose import Diagnosis, Instant
from airshed.air.meteorology.extra import WeatherField
from airshed.air.meteorology.provenance import dataset_provenance
from airshed.air.meteorology.series import CheckedSeries
from airshed.air.meteorology.window import Area
from airshed.core.datasets import is_dataset
from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.window import Window

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]


class CallableMeteorology(CheckedSeries):
    """Meteorology of a function time -> Dataset with CF names, called every so many seconds, linear in between.

    function  takes seconds since the case's start, or with ``argument="datetime"`` an ``np.datetime64`` in UTC, and
              returns a Dataset as ``DatasetMeteorology`` takes it, without a dimension time
    every     [s]  time between calls
    first, last  [s since the start]  the calls' range; the function is not called outside it
    land_fraction, window, extra  as DatasetMeteorology; the function returns the whole grid in any case
    raises  DataError as DatasetMeteorology, and when the function returns something else than a Dataset
    """

    def __init__(
        self,
        function: "Callable[..., xr.Dataset]",
        grid: Grid,
        start: np.datetime64,
        every: float = 3600.0,
        *,
        first: float = 0.0,
        last: float = 10.0 * 86400.0,
        argument: Literal["seconds", "datetime"] = "seconds",
        land_fraction: Array | None = None,
        window: Window | None = None,
        extra: Sequence[WeatherField] = (),
    ) -> None:
        if not (every > 0.0 and last >= first):
            raise DataError(f"a meteorology from {first:g} s to {last:g} s every {every:g} s cannot be; give every > 0")
        count = int(np.ceil((last - first) / every - 1e-9)) + 1
        times = tuple(min(first + every * index, last) for index in range(count))
        self._function = function
        self._start = start.astype("datetime64[ns]")
        self._argument, self._extra = argument, tuple(extra)
        self._area = Area.of(grid, window)
        diagnosis = Diagnosis(self._area.grid, self._area.land(land_fraction), start, times, self._instant)
        initial = self._call(times[0])
        names = GriddedDataset(initial, self._area, extra).names
        provenance = dataset_provenance(names, map(str, initial.data_vars), extra)
        super().__init__(times, self._area, diagnosis.state, provenance)

    def _call(self, seconds: float) -> "xr.Dataset":
        """Return what the function gives for a time [s since the case's start]."""
        when = self._start + np.timedelta64(round(seconds * 1e9), "ns")
        dataset = self._function(seconds if self._argument == "seconds" else when)
        if not is_dataset(dataset):
            raise DataError(f"the meteorology's function returned {type(dataset).__name__}; return an xarray.Dataset")
        return dataset

    def _instant(self, index: int) -> Instant:
        """Return the data of an instant on the model grid."""
        return GriddedDataset(self._call(self._times[index]), self._area, self._extra).instant(0)
