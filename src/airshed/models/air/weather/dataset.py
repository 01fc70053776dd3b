"""Meteorology from an xarray.Dataset with CF names, or from a function of time that returns one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.data import is_dataset, numbers, without_round_off
from airshed.core.errors import DataError
from airshed.core.text import duration
from airshed.grid import Grid
from airshed.grid.coordinates import around_meridian, periodic_nodes, unique_longitudes
from airshed.grid.weights import Weights
from airshed.grid.window import Window
from airshed.models.air.weather import atmosphere
from airshed.models.air.weather.atmosphere import total_cover
from airshed.models.air.weather.column_levels import on_model_levels_and_points
from airshed.models.air.weather.diagnose import Diagnosis, Instant
from airshed.models.air.weather.fields import Range, WeatherField, dataset_provenance, of_use
from airshed.models.air.weather.placement import (
    Area,
    PlacedField,
    check_values,
    in_unit_of_the_model,
    interpolation_matrix,
    onto,
    standard_dims,
)
from airshed.models.air.weather.state import CheckedSeries

if TYPE_CHECKING:
    import xarray as xr


SAME_PLACE = 1e-4
"""Tolerance of coordinates in a file relative to the grid [degrees]."""


Fields: TypeAlias = "xr.Dataset | Mapping[str, PlacedField]"
"""Fields by their CF names: of the user, or already on the cells or faces of the grid."""

Getter = Callable[[str, str], Array | None]
"""Function that reads a field by its CF name onto a set of points."""


class GriddedDataset:
    """Dataset with CF names, checked once, and read instant by instant onto the model grid.

    Dimensions (a field is constant along an absent one): time, level, lat, lon. ``level`` is the height above ground
    [m] or the index of the model layer. Without values its size must be the number of layers.
    ``eastward_wind`` on ``lon_face`` and ``northward_wind`` on ``lat_face`` are used at the cell faces directly.
    Units are SI, m s-1, K, Pa, kg kg-1, or given by an attribute ``units``, such as degC.
    """

    def __init__(self, dataset: Fields, area: Area, extra: Sequence[WeatherField] = ()) -> None:
        """Check the fields; ``extra`` are fields that processes request in addition to those of every state."""
        self._area, self._grid = area, area.grid
        if is_dataset(dataset):
            dataset = on_model_levels_and_points(dataset, area.whole)
        self._present = frozenset(map(str, dataset))
        self._extra = [each for each in extra if each.cf_name in set(dataset)]
        ranges = {each.cf_name: each.range for each in (*of_use("state", "input"), *self._extra) if each.cf_name}
        self._fields = {
            str(name): _placed(str(name), dataset[str(name)], area.whole, ranges[str(name)])
            for name in dataset
            if str(name) in ranges
        }
        for name in ("eastward_wind", "northward_wind"):
            if name not in self._fields:
                hint = '; meteorology.kind = "wrf" reads output of WRF' if {"U", "V"} <= set(dataset) else ""
                held = ", ".join(map(str, dataset)) or "nothing"
                raise DataError(f"the meteorology has no {name}; it holds {held}{hint}")
        for used, field in self._fields.items():
            check_values(used, field, ranges[used])
        low = (name for name in self._fields if ranges[name][0] == 0.0 and is_dataset(dataset))
        self._clipped = [name for name in low if bool((dataset[name].values < 0.0).any())]

    def provenance(self, extra: Sequence[WeatherField]) -> dict[str, str]:
        """Return the provenance of each quantity, with a note on negative round-off that is taken as 0."""
        meanings = {each.cf_name: each.name for each in (*of_use("state", "input"), *self._extra)}
        found = dataset_provenance(self.names, self._present, extra)
        return found | {
            meanings[name]: f"{found[meanings[name]]} (negative values of round-off are 0)" for name in self._clipped
        }

    @property
    def names(self) -> frozenset[str]:
        """Return the CF names in the data that the model uses."""
        return frozenset(self._fields)

    @property
    def times(self) -> NDArray[np.generic] | None:
        """Return the time coordinate, None for steady data."""
        for field in self._fields.values():
            if "time" in field.dims:
                if "time" not in field.coords:
                    raise DataError("the meteorology's dimension time has no values; give it times or seconds")
                return field.coords["time"]
        return None

    def instant(self, index: int) -> Instant:
        """Return the data at one time, on the model grid."""
        grid = self._grid
        get = partial(self._onto_grid, index)
        temperature, pressure = self._air(get)
        surface_pressure = get("surface_air_pressure", "surface")
        if surface_pressure is None:
            inverse = atmosphere.inverse_scale_height(temperature[0])
            surface_pressure = pressure[0] * np.exp(inverse * grid.level[0])
        specific = get("specific_humidity", "cells")
        if specific is None:
            vapour = atmosphere.standard_water_vapour(pressure, temperature, surface_pressure)
        else:
            vapour = atmosphere.mole_fraction(np.maximum(specific, 0.0))
        along_x, along_y = self._winds(get)
        found = {
            "eastward_wind": along_x, "northward_wind": along_y, "temperature": temperature, "pressure": pressure,
            "water_vapour": vapour, "surface_pressure": surface_pressure, "diffusivity": self._diffusivity(get),
            "cloud_cover": self._cloud(get),
        }  # fmt: skip
        others = (each for each in of_use("state", "input") if each.place == "surface" and each.name not in found)
        found |= {each.name: get(each.cf_name, each.place) for each in (*others, *self._extra)}
        given = {name: values for name, values in found.items() if values is not None}
        return Instant(given, temperature_is_read="air_temperature" in self._fields)

    def _winds(self, get: Getter) -> tuple[Array, Array]:
        """Return the wind along x at the x faces and along y at the y faces.

        Fields at faces are winds across them; other winds are eastward and northward, and are rotated to the grid axes.
        """
        whole, names = self._area.whole, ("eastward_wind", "northward_wind")
        own = {f"{dim}_face" for dim in whole.dims}
        if whole.mapping.separable or any(own & set(self._fields[name].dims) for name in names):
            along_x, along_y = (get(name, where) for name, where in zip(names, ("east", "north"), strict=True))
        else:
            along_x, along_y = (
                self._area.wind_along(axis, *(cast(Array, get(name, where)) for name in names))
                for axis, where in (("x", "east"), ("y", "north"))
            )
        return cast(Array, along_x), cast(Array, along_y)

    def _onto_grid(self, index: int, name: str, where: str) -> Array | None:
        """Return a field of an instant on a set of grid points; None if the data does not have it."""
        field = self._fields.get(name)
        if field is not None and "time" in field.dims:
            field = field.at_time(min(index, field.sizes["time"] - 1))
        return None if field is None else onto(self._area, name, field, where)

    def _air(self, get: Getter) -> tuple[Array, Array]:
        """Return temperature [K] and pressure [Pa]: of the data, hydrostatic, or of the standard atmosphere."""
        level = self._grid.level[:, None, None]
        temperature = get("air_temperature", "cells")
        pressure = get("air_pressure", "cells")
        if temperature is None:
            temperature = np.broadcast_to(atmosphere.standard_temperature(level), self._grid.shape).copy()
            if pressure is None:
                pressure = np.broadcast_to(atmosphere.standard_pressure(level), self._grid.shape).copy()
        elif pressure is None:
            surface_pressure = get("surface_air_pressure", "surface")
            base = atmosphere.STANDARD_PRESSURE if surface_pressure is None else surface_pressure
            pressure = _hydrostatic(temperature, self._grid, base)
        return temperature, pressure

    def _diffusivity(self, get: Getter) -> Array | None:
        """Return the diffusivity of the data at the layer faces, 0 at the ground and the top."""
        field = self._fields.get("atmosphere_heat_diffusivity")
        if field is None:
            return None
        given = get("atmosphere_heat_diffusivity", "layer_faces" if "level_face" in field.dims else "cells")
        diffusivity = np.zeros((self._grid.shape[0] + 1, *self._grid.shape[1:]))
        if "level_face" in field.dims:
            inner = cast(Array, given)[1:-1]
        else:
            weights = Weights.of(interpolation_matrix(self._grid.level, self._grid.layer_faces[1:-1]))
            inner = weights(cast(Array, given), -3)
        diffusivity[1:-1] = np.maximum(inner, 0.0)
        return diffusivity

    def _cloud(self, get: Getter) -> Array | None:
        """Return the total cloud cover, from a field or from layers."""
        field = self._fields.get("cloud_area_fraction")
        if field is None or "level" not in field.dims:
            return get("cloud_area_fraction", "surface")
        return total_cover(cast(Array, get("cloud_area_fraction", "cells")))


class DatasetMeteorology(CheckedSeries):
    """Meteorology of a Dataset in memory; linear between its times, steady without times.

    Before the first and after the last time it is constant. ``land_fraction`` is that of the whole grid. With a
    ``window`` the states contain only its columns, bitwise identical to the whole grid. ``extra`` are fields that
    processes request: a state has the ones in the Dataset.
    raises  DataError if a wind is missing, values are not finite, shapes or areas do not match, or time is not covered
    """

    def __init__(
        self,
        dataset: Fields,
        grid: Grid,
        start: np.datetime64,
        land_fraction: Array | None = None,
        window: Window | None = None,
        extra: Sequence[WeatherField] = (),
    ) -> None:
        area = Area.of(grid, window)
        data = GriddedDataset(dataset, area, extra)
        times = seconds_since(data.times, start)
        if data.times is not None and not times[0] <= 0.0 <= times[-1]:
            raise DataError(
                f"the meteorology covers {duration(times[0])} to {duration(times[-1])} after the start of the case, "
                f"{start}; give data from the start"
            )
        diagnosis = Diagnosis(area.grid, area.land(land_fraction), start, times, data.instant)
        super().__init__(times, area, diagnosis.state, data.provenance(extra))


def _placed(name: str, field: "xr.DataArray | PlacedField", grid: Grid, allowed: Range) -> PlacedField:
    """Return a numeric field with standard dimensions, longitudes in the range of the grid, and checked faces."""
    if isinstance(field, PlacedField):
        return field
    numbers(field.values[:0] if field.ndim else field.values, f"the meteorology's {name}")
    for dim in field.dims:
        if not field.sizes[dim]:
            raise DataError(f"the meteorology's {name} has no values along {dim}; give at least one")
        if dim in field.coords and field[dim].ndim != 1:
            other = ", ".join(str(each) for each in field[dim].dims if each != dim)
            raise DataError(f"the meteorology's {name}: its {dim} varies along {other}; it may vary only along {dim}")
        if dim in field.coords and dim not in ("time", "valid_time"):
            what = f"the coordinate {dim} of the meteorology's {name}"
            if not np.all(np.isfinite(numbers(field[dim].values, what))):
                raise DataError(f"{what} has NaN or infinite values; give it as finite numbers")
    for dim in map(str, field.dims):
        if dim[0] in "xy" and dim.removesuffix("_face") not in grid.dims:
            raise DataError(
                f"the meteorology's {name} has a dimension {dim!r}; use time, level, lat, lon, lat_face or lon_face"
            )
    field = _near_the_grid(in_unit_of_the_model(name, standard_dims(name, field), allowed[2]), grid)
    for dim, faces in zip((f"{each}_face" for each in grid.dims), (grid.y_faces, grid.x_faces), strict=True):
        if dim in field.dims and dim in field.coords and field.sizes[dim] == faces.size:
            field = field.sortby(dim)
            away = (field[dim].values - faces + 180.0) % 360.0 - 180.0
            if not np.all(np.abs(away) <= SAME_PLACE):
                first, last = field[dim].values[[0, -1]]
                raise DataError(
                    f"the meteorology's {name} is at {dim} {first:g} to {last:g}, the grid's faces at {faces[0]:g} "
                    f"to {faces[-1]:g}; give it at the grid's faces, or at cell centres"
                )
    dims, values = tuple(map(str, field.dims)), field.values
    values = without_round_off(values) if allowed[0] == 0.0 else values
    return PlacedField(dims, values, {dim: field[dim].values for dim in dims if dim in field.coords})


def _near_the_grid(field: "xr.DataArray", grid: Grid) -> "xr.DataArray":
    """Return a field with longitudes continuous across the grid, without the jump from 360 to 0 or from 180 to -180."""
    if "lon" not in field.dims or "lon" not in field.coords:
        return field
    lon, middle = field["lon"].values.astype(np.float64), float(grid.x_faces.mean())
    turns = 360.0 * np.round((middle - lon.mean()) / 360.0)
    if _covers(lon + turns, grid.x_faces) or (lon.size == grid.x.size and _covers(lon + turns, grid.x)):
        return field
    wrapped = field.assign_coords(lon=around_meridian(lon, middle)).sortby("lon")
    wrapped = wrapped.isel(lon=unique_longitudes(wrapped["lon"].values))
    circle = periodic_nodes(wrapped["lon"].values)
    if circle is not None:
        return wrapped.isel(lon=circle[0]).assign_coords(lon=circle[1])
    return field if _covers(lon + turns, grid.x) else wrapped


def _covers(lon: Array, places: Array) -> bool:
    """Return True if longitudes in any order cover some coordinates."""
    return bool(lon.min() <= places[0] + SAME_PLACE and lon.max() >= places[-1] - SAME_PLACE)


def seconds_since(
    times: NDArray[np.generic] | None, start: np.datetime64, what: str = "meteorology"
) -> tuple[float, ...]:
    """Return times in seconds since the start, from dates, durations, or seconds."""
    if times is None:
        return (0.0,)
    values = np.atleast_1d(times)
    if np.issubdtype(values.dtype, np.datetime64):
        values = values - start
    if np.issubdtype(values.dtype, np.timedelta64):
        values = values / np.timedelta64(1, "s")
    if values.dtype.kind not in "fiu":
        raise DataError(f"the {what}'s times are {values.dtype}; give UTC dates, durations, or seconds")
    seconds = tuple(float(value) for value in values)
    if not np.all(np.isfinite(seconds)):
        raise DataError(f"the {what}'s times have NaT, NaN or infinite values; give a valid time for each")
    if any(later <= earlier for earlier, later in pairwise(seconds)):
        raise DataError(f"the {what}'s times do not increase; sort them and remove duplicates")
    return seconds


def _hydrostatic(temperature: Array, grid: Grid, surface_pressure: Array | float) -> Array:
    """Return the hydrostatic pressure at the layer centres [Pa] from temperature."""
    inverse = atmosphere.inverse_scale_height(temperature)
    steps = np.concatenate([
        (inverse[:1] * grid.level[0]),
        0.5 * (inverse[1:] + inverse[:-1]) * np.diff(grid.level)[:, None, None],
    ])  # fmt: skip
    return np.asarray(surface_pressure * np.exp(-np.cumsum(steps, axis=0)))


@dataclass(frozen=True)
class Calls:
    """Times at which a function is called, and its argument.

    start  of the case, UTC
    every  [s]  interval between calls
    first, last  [s since the start]  range of the calls; the function is not called outside it
    argument  seconds since the start, or with "datetime" an ``np.datetime64`` in UTC
    raises    DataError for an invalid range
    """

    start: np.datetime64
    every: float = 3600.0
    first: float = 0.0
    last: float = 10.0 * 86400.0
    argument: Literal["seconds", "datetime"] = "seconds"

    def __post_init__(self) -> None:
        if not (self.every > 0.0 and self.last >= self.first):
            span = f"from {duration(self.first)} to {duration(self.last)} every {duration(self.every)}"
            raise DataError(f"a meteorology {span} is not possible; give every > 0")

    @property
    def times(self) -> tuple[float, ...]:
        """The times of all calls [s since the start]."""
        count = int(np.ceil((self.last - self.first) / self.every - 1e-9)) + 1
        return tuple(min(self.first + self.every * index, self.last) for index in range(count))

    def given(self, seconds: float) -> float | np.datetime64:
        """Return the argument of the function for a time [s since the start]."""
        if self.argument == "seconds":
            return seconds
        start: np.datetime64 = self.start.astype("datetime64[ns]")
        return start + np.timedelta64(round(seconds * 1e9), "ns")


class CallableMeteorology(CheckedSeries):
    """Meteorology of a function time -> Dataset with CF names, called at regular intervals, linear in between.

    function  takes a time as in ``calls``, and returns a Dataset as for ``DatasetMeteorology``, without a dimension
              time
    land_fraction, window, extra  as for DatasetMeteorology; the function always returns the whole grid
    raises  DataError as DatasetMeteorology, and if the function does not return a Dataset
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
        """Return the Dataset of the function for a time [s since the start of the case]."""
        dataset = self._function(self._calls.given(seconds))
        if not is_dataset(dataset):
            raise DataError(f"the meteorology's function returned {type(dataset).__name__}; return an xarray.Dataset")
        return dataset

    def _instant(self, index: int) -> Instant:
        """Return the data of an instant on the model grid."""
        return GriddedDataset(self._call(self.times[index]), self._area, self._extra).instant(0)
