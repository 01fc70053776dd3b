"""Meteorology from a function of time that returns a Dataset."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from airshed.core.data import is_dataset
from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.weather.dataset import GriddedDataset
from airshed.models.air.weather.diagnose import Diagnosis, Instant
from airshed.models.air.weather.extra import WeatherField
from airshed.models.air.weather.provenance import dataset_provenance
from airshed.models.air.weather.series import CheckedSeries
from airshed.models.air.weather.window import Area

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Calls:
    """When a function of time is called, and what with.

    start  of the case, UTC
    every  [s]  time between calls
    first, last  [s since the start]  the calls' range; the function is not called outside it
    argument  seconds since the start, or with "datetime" an ``np.datetime64`` in UTC
    raises    DataError for a range that cannot be
    """

    start: np.datetime64
    every: float = 3600.0
    first: float = 0.0
    last: float = 10.0 * 86400.0
    argument: Literal["seconds", "datetime"] = "seconds"

    def __post_init__(self) -> None:
        if not (self.every > 0.0 and self.last >= self.first):
            span = f"from {self.first:g} s to {self.last:g} s every {self.every:g} s"
            raise DataError(f"a meteorology {span} cannot be; give every > 0")

    @property
    def times(self) -> tuple[float, ...]:
        """The times of all calls [s since the start]."""
        count = int(np.ceil((self.last - self.first) / self.every - 1e-9)) + 1
        return tuple(min(self.first + self.every * index, self.last) for index in range(count))

    def given(self, seconds: float) -> float | np.datetime64:
        """What the function is given for a time [s since the start]."""
        if self.argument == "seconds":
            return seconds
        start: np.datetime64 = self.start.astype("datetime64[ns]")
        return start + np.timedelta64(round(seconds * 1e9), "ns")


class CallableMeteorology(CheckedSeries):
    """Meteorology of a function time -> Dataset with CF names, called every so many seconds, linear in between.

    function  takes a time as ``calls`` says, and returns a Dataset as ``DatasetMeteorology`` takes it, without a
              dimension time
    land_fraction, window, extra  as DatasetMeteorology; the function returns the whole grid in any case
    raises  DataError as DatasetMeteorology, and when the function returns something else than a Dataset
    """

    def __init__(
        self,
        function: "Callable[..., xr.Dataset]",
        grid: Grid,
        calls: Calls,
        *,
        land_fraction: Array | None = None,
        window: Window | None = None,
        extra: Sequence[WeatherField] = (),
    ) -> None:
        times = calls.times
        self._function, self._calls, self._extra = function, calls, tuple(extra)
        self._area = Area.of(grid, window)
        diagnosis = Diagnosis(self._area.grid, self._area.land(land_fraction), calls.start, times, self._instant)
        initial = self._call(times[0])
        names = GriddedDataset(initial, self._area, extra).names
        provenance = dataset_provenance(names, map(str, initial.data_vars), extra)
        super().__init__(times, self._area, diagnosis.state, provenance)

    def _call(self, seconds: float) -> "xr.Dataset":
        """Return what the function gives for a time [s since the case's start]."""
        dataset = self._function(self._calls.given(seconds))
        if not is_dataset(dataset):
            raise DataError(f"the meteorology's function returned {type(dataset).__name__}; return an xarray.Dataset")
        return dataset

    def _instant(self, index: int) -> Instant:
        """Return the data of an instant on the model grid."""
        return GriddedDataset(self._call(self._times[index]), self._area, self._extra).instant(0)
