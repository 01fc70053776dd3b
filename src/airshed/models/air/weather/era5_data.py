"""ERA5 files of a rank: the data around its window at each instant, and properties of the whole data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.scattered import axis_rotation
from airshed.grid.window import Window
from airshed.io.era5 import full_level_pressure, open_era5
from airshed.io.era5_fields import time_reader
from airshed.io.timeline import Fields, Instants, together
from airshed.models.air.weather import atmosphere
from airshed.models.air.weather.atmosphere import STANDARD_PRESSURE
from airshed.models.air.weather.columns import above_ground
from airshed.models.air.weather.era5_times import (
    ACCUMULATED,
    STEADY,
    Begins,
    ForcingTimes,
    Intervals,
    accumulations,
    hourly_amounts,
    sum_provenance,
)
from airshed.models.air.weather.fields import WeatherField, era5_provenance, of_use
from airshed.models.air.weather.placement import Area
from airshed.models.air.weather.points import Points, covering
from airshed.parallel.communicator import Communicator, SingleRank


@dataclass(frozen=True)
class AirMass:
    """Large-scale sea-level temperature [K] from the humidity near the ground: daily means, linear from noon to noon.

    It depends on the data alone, so that the weather of an hour is the same in runs of any length.

    noons   UTC, rising
    planes  (day, lat, lon) [K]
    """

    noons: NDArray[np.datetime64]
    planes: Array

    def at(self, when: np.datetime64) -> Array:
        """Return the temperature at a time (lat, lon) [K]; before the first and after the last noon it is constant."""
        after = int(np.searchsorted(self.noons, when))
        if after in (0, self.noons.size):
            return np.asarray(self.planes[min(after, self.noons.size - 1)])
        before, day = self.noons[after - 1], self.noons[after] - self.noons[after - 1]
        part = float((when - before) / day)
        return np.asarray((1.0 - part) * self.planes[after - 1] + part * self.planes[after])


def air_mass_of(dataset: xr.Dataset, sources: Sequence[int]) -> AirMass:
    """Return the air mass of the days of a case.

    dataset  ERA5 from ``read_era5``, around the whole grid; the result is 0 without humidity or pressure
    sources  indices of the instants of the case in the data
    """
    times = dataset["time"].values.astype("datetime64[s]")
    days, held = np.unique(times.astype("datetime64[D]").astype(np.int64), return_inverse=True)
    # A day of a few hours, such as midnight at the end of the data, has no daily mean.
    counts = np.bincount(held)
    whole = np.flatnonzero(2 * counts >= counts.max())
    noons = np.array([np.datetime64(int(day), "D") + np.timedelta64(12, "h") for day in days[whole]], "datetime64[s]")
    first, last = times[min(sources)], times[max(sources)]
    begin = max(int(np.searchsorted(noons, first, "right")) - 1, 0)
    end = min(int(np.searchsorted(noons, last)) + 1, noons.size)
    used = slice(min(begin, noons.size - 1), max(end, begin + 1))
    planes = [_humidity_plane(dataset, np.flatnonzero(held == day).tolist()) for day in whole[used]]
    return AirMass(noons[used], np.stack(planes))


def _humidity_plane(dataset: xr.Dataset, places: Sequence[int]) -> Array:
    """Return the sea-level temperature [K] from the humidity near the ground: the plane of a mean over instants."""

    def at(name: str, place: int) -> xr.DataArray:
        return dataset[name].isel(time=place) if "time" in dataset[name].dims else dataset[name]

    lat, lon = (np.asarray(dataset[name].values, np.float64) for name in ("latitude", "longitude"))
    estimates = np.zeros((lat.size, lon.size))
    if "q" not in dataset or not {"sp", "lnsp"} & set(dataset):
        return estimates
    for place in places:
        # Pressure at the ground and humidity of the lowest level above it.
        if "sp" in dataset:
            pressure = np.asarray(at("sp", place).values, np.float64)
        else:
            pressure = np.exp(np.asarray(at("lnsp", place).values, np.float64))
        on_model_levels, humidity = dataset.attrs["level_kind"] == "model", at("q", place)
        # single precision, as for columns: archives have no more digits
        single = (humidity.isel(level=[0]) if on_model_levels else humidity).values.astype(np.float32)
        values = single.astype(np.float64)
        if not on_model_levels:
            levels = np.asarray(dataset["level"].values, np.float64)[:, None, None]
            values = above_ground(np.broadcast_to(levels, values.shape), pressure, values)
        near_ground = atmosphere.mole_fraction(np.maximum(values[0], 1e-7))
        estimates += atmosphere.temperature_of_humidity(near_ground, pressure) / len(places)
    return atmosphere.fit_plane(estimates, lat, lon)


_LOWEST: Final = 800e2
"""Minimum pressure [Pa] of the lowest level, about 2 km above sea level."""

_LEAST, _MOST, _BYTES = 2, 6, 5 * 2**18
"""Number of instants in a batch: limited by a size in bytes, and by a range."""


@dataclass(frozen=True)
class Era5Head:
    """Properties of ERA5 data around a grid, known before an instant is read.

    period    instants of the case, and their indices in the data
    lat, lon  [degrees]  of the points around the whole grid: axes, or (y, x) on a projection
    levels    numbers of model levels, or pressures [Pa], from the ground up
    names     names of the fields of an instant
    land      [1]  land fraction of the whole grid in the data; None without
    air_mass  at the points around the whole grid; None if the data has temperature
    extra     fields that processes request and the data has, each with its name in the data
    sums      accumulated fields that are not sums of one hour: their intervals, or the times at which sums restart
    rotation  angle from east to the winds' x axis [rad] at the points (y, x); None for winds to the east and north
    """

    period: ForcingTimes
    lat: Array
    lon: Array
    levels: NDArray[Any]
    on_model_levels: bool
    names: frozenset[str]
    land: Array | None
    air_mass: AirMass | None
    provenance: dict[str, str]
    extra: tuple[tuple[WeatherField, str], ...] = ()
    sums: Mapping[str, Begins | Intervals] = field(default_factory=dict)
    rotation: Array | None = None

    @property
    def needs_heat(self) -> bool:
        """True if the depth of the boundary layer depends on the heat input since the morning."""
        return not self.names & {"blh", "t", "z", "gh"}


@dataclass(frozen=True)
class Era5Data:
    """ERA5 around a window of the grid.

    instants  fields (level, lat, lon) or (lat, lon) at the points around the window for each instant; accumulated
              fields are (hour, lat, lon) with one or two hours
    """

    head: Era5Head
    instants: Instants

    @classmethod
    def of(
        cls, dataset: xr.Dataset, grid: Grid, start: np.datetime64, length: float | None, window: Window | None,
        extra: Sequence[WeatherField] = (),
    ) -> "Era5Data":  # fmt: skip
        """Return the data for a window, or for the whole grid, with lazy reading.

        raises  DataError if the data does not cover the grid or the time, or lacks fields for heights
        """
        reading = ReadingPlan([window], SingleRank(), "parallel")
        return _opened(lambda: dataset, grid, start, length, reading, extra)


@dataclass(frozen=True)
class ReadingPlan:
    """Distribution of the reading of files over ranks.

    windows   windows of all ranks, by rank; None is the whole grid
    strategy  "parallel": each rank opens the files and reads its part; "root": the first rank reads all data and sends
              each rank its part
    """

    windows: Sequence[Window | None]
    ranks: Communicator
    strategy: Literal["parallel", "root"]


def open_part(
    files: Sequence[Path], grid: Grid, start: np.datetime64, length: float | None, reading: ReadingPlan,
    extra: Sequence[WeatherField] = (),
) -> Era5Data:  # fmt: skip
    """Return the opened data of files for the window of this rank, read instant by instant; collective.

    extra   fields that processes request
    raises  DataError as ``open_era5`` and ``Era5Data.of``, on all ranks
    """
    return _opened(lambda: open_era5(files), grid, start, length, reading, extra)


def _opened(
    open_data: Callable[[], xr.Dataset], grid: Grid, start: np.datetime64, length: float | None, reading: ReadingPlan,
    extra: Sequence[WeatherField],
) -> Era5Data:  # fmt: skip
    # Properties of the data, on the ranks that read.
    ranks, around, head = reading.ranks, None, None
    sends = reading.strategy == "root" and ranks.size > 1
    with together(ranks):
        if not sends or ranks.rank == 0:
            dataset = open_data()
            try:
                around, head = _around(dataset, grid, start, length, extra)
            except BaseException:
                dataset.close()
                raise
    if sends:
        head = ranks.scatter(None if head is None else [head] * ranks.size)
    assert head is not None
    count = len(head.period.times)
    if around is None:
        return Era5Data(head, Instants(count, None, ranks, sends=True))

    # The points around the windows for which this rank reads.
    windows = reading.windows if sends else [reading.windows[ranks.rank]]
    places = [Points(head.lat, head.lon, Area.of(grid, window)).places for window in windows]
    read: Callable[[int], Any]
    if sends:
        read = partial(_parts, _FieldReader(around, head), places)
    else:
        read = _BatchReader(_FieldReader(around.isel(places[0]), head), count)
    return Era5Data(head, Instants(count, read, ranks, sends=sends, finish=dataset.close))


def _around(
    dataset: xr.Dataset, grid: Grid, start: np.datetime64, length: float | None, extra: Sequence[WeatherField]
) -> tuple[xr.Dataset, Era5Head]:
    """Return the data around the whole grid, unread, and its properties; without temperature humidity is read."""
    # Optional fields that are not requested are not read.
    wanted = {name for each in extra for name in each.era5}
    others = [name for each in of_use("optional") for name in each.era5 if name in dataset and name not in wanted]
    others += ["r"] if {"q", "r"} <= set(dataset) else []
    data = dataset.drop_vars(others).assign_attrs(unused=[*dataset.attrs.get("unused", ()), *others])

    # Period, levels and area.
    steady = bool(data.attrs.get("steady"))
    period = STEADY if steady else ForcingTimes.of(data["time"].values, start, length)
    on_model_levels = _on_model_levels(data)
    around = covering(data, grid)
    lat, lon = (np.asarray(around[name].values, dtype=np.float64) for name in ("latitude", "longitude"))
    sums, land = accumulations(around, period.source[0]), None
    rotation = axis_rotation(lat, lon) if around["u"].attrs.get("along_grid") else None
    if lat.ndim == 2 and not {"t", "z", "gh"} & set(around):
        raise DataError(
            f"{around['u'].attrs['file']} is on a projection and has no temperature; add t, z or gh on its levels"
        )
    if "lsm" in around:
        mask = around["lsm"].isel(time=0) if "time" in around["lsm"].dims else around["lsm"]
        cells = Points(lat, lon, Area.of(grid, None)).cells(np.asarray(mask.values, dtype=np.float64))
        land = np.clip(cells, 0.0, 1.0)
    found = ((each, name) for each in extra if each.place in ("cells", "surface") for name in each.era5)
    return around, Era5Head(
        period, lat, lon, np.asarray(around["level"].values), on_model_levels,
        frozenset(map(str, around.data_vars)) - {"lsm"}, land,
        None if {"t", "z", "gh"} & set(around) else air_mass_of(around, period.source),
        era5_provenance(around, period.held, extra, lambda name: sum_provenance(sums, name)),
        tuple((each, name) for each, name in found if name in around), sums, rotation,
    )  # fmt: skip


class _BatchReader:
    """Reader of batches of instants, which returns each instant once.

    Access to a variable takes longer than reading the values of an instant. A batch has more instants for smaller
    windows: the following ones, or the previous ones if instants are requested in reverse order.
    """

    def __init__(self, read: Callable[[Sequence[int]], list[Fields]], count: int) -> None:
        self._read, self._count, self._at_once = read, count, _LEAST
        self._ready: dict[int, Fields] = {}
        self._last = -1
        self._lock = Lock()  # the computing thread also reads instants that are not prefetched

    def __call__(self, index: int) -> Fields:
        """Return the fields of an instant; raises DataError only if this instant cannot be read."""
        with self._lock:
            backwards, self._last = index == self._last - 1, index
            if index not in self._ready:
                several = range(index, min(index + self._at_once, self._count))
                if backwards:
                    several = range(max(index + 1 - self._at_once, 0), index + 1)
                try:
                    self._ready = dict(zip(several, self._read(several), strict=True))
                except DataError:  # possibly of a later instant, reported when that is needed
                    self._ready = {index: self._read([index])[0]}
                size = sum(values.nbytes for values in self._ready[index].values())
                self._at_once = max(_LEAST, min(_MOST, _BYTES // max(size, 1)))
            return self._ready.pop(index)


class _FieldReader:
    """Reader of the fields of some instants.

    Archives pack values into 16 bits; single precision is sufficient and halves the memory of xarray's unpacked values.
    """

    def __init__(self, dataset: xr.Dataset, head: Era5Head) -> None:
        self._period, self._sums, self._all_times = head.period, head.sums, dataset["time"].values
        self._fields = {str(name): dataset.variables[name] for name in dataset.data_vars if name != "lsm"}
        self._at_times = {
            name: time_reader(field)
            for name, field in self._fields.items()
            if {"time", f"{name}_time"} & set(field.dims)
        }

    def __call__(self, indices: Sequence[int]) -> list[Fields]:
        """Return the values of each instant, contiguous."""
        values = [self._values(name, indices) for name in self._fields]
        return [dict(zip(self._fields, each, strict=True)) for each in zip(*values, strict=True)]

    def _values(self, name: str, indices: Sequence[int]) -> list[NDArray[np.floating]]:
        """Return copies of the values of a variable at each instant, since views would hold the batch in memory."""
        field, accumulated = self._fields[name], name in ACCUMULATED
        if name not in self._at_times:
            values = np.array(field.values, np.float64, order="C")
            return [values[None] if accumulated else values] * len(indices)
        begins = self._sums.get(name)
        if isinstance(begins, Intervals):
            whens = (self._all_times[self._period.source[index]] for index in indices)
            return [begins.hourly_amounts(self._at_times[name], when) for when in whens]
        if begins is not None:
            places, read = (self._period.source[index] for index in indices), self._at_times[name]
            return [hourly_amounts(read, place, self._all_times, begins) for place in places]
        hours, end = 2 if accumulated and self._period.is_hourly else 1, field.sizes["time"]
        spans = [range(first, min(first + hours, end)) for first in (self._period.source[index] for index in indices)]
        times = sorted({place for span in spans for place in span})
        values = self._at_times[name](times)
        firsts = [times.index(span[0]) for span in spans]
        if accumulated:
            parts = [values[first : first + len(span)] for first, span in zip(firsts, spans, strict=True)]
        else:
            parts = [values[first] for first in firsts]
        return [np.array(part, np.float32 if field.ndim == 4 else np.float64, order="C") for part in parts]


def _parts(read: _FieldReader, places: Sequence[dict[str, slice]], index: int) -> list[Fields]:
    """Return the values of an instant for each of several windows."""
    whole = read([index])[0]
    cuts = [tuple(where.values()) for where in places]
    return [
        {name: np.ascontiguousarray(values[..., rows, columns]) for name, values in whole.items()}
        for rows, columns in cuts
    ]


def _on_model_levels(dataset: xr.Dataset) -> bool:
    """Return True for model levels; raises DataError if heights or the lowest levels are missing."""
    on_model_levels, wind = bool(dataset.attrs["level_kind"] == "model"), dataset["u"].attrs["file"]
    if on_model_levels and not {"sp", "lnsp"} & set(dataset):
        raise DataError(f"{wind} has model levels, which need the surface pressure: add a file with sp or lnsp")
    if not {"sp", "lnsp", "z", "gh"} & set(dataset):
        raise DataError(
            "the meteorology's pressure levels need the height of the ground: add sp (surface pressure), z or gh"
        )
    levels = np.asarray(dataset["level"].values)
    if levels.size < 2:
        raise DataError(f"{wind} has one level, not a profile of the wind; download more levels")
    pressure = full_level_pressure(levels, np.full(1, STANDARD_PRESSURE)).ravel() if on_model_levels else levels
    if pressure.max() < _LOWEST:
        raise DataError(
            f"the lowest level of {wind} is at {pressure.max() / 100.0:.0f} hPa over the sea, without data for the air "
            f"below; download levels to the ground, at least to {_LOWEST / 100.0:.0f} hPa"
        )
    return on_model_levels
