"""Variables of ERA5 files in the reader's order, read from the files on use."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.backends.netCDF4_ import NetCDF4ArrayWrapper
from xarray.core import indexing

from airshed.core.arrays import Array
from airshed.core.data import Conversion
from airshed.core.errors import DataError
from airshed.io.netcdf import reading


class Field(NamedTuple):
    """Field of ERA5: its names, and the valid range in ERA5's unit."""

    aliases: tuple[str, ...]
    low: float
    high: float
    unit: str


FIELDS: Mapping[str, Field] = {
    "u": Field(("u", "u_component_of_wind", "var131", "ua", "uwnd"), -150.0, 150.0, "m s-1"),
    "v": Field(("v", "v_component_of_wind", "var132", "va", "vwnd"), -150.0, 150.0, "m s-1"),
    "t": Field(("t", "temperature", "var130", "ta"), 150.0, 350.0, "K"),
    "q": Field(("q", "specific_humidity", "var133", "hus", "shum"), -0.001, 0.1, "kg kg-1"),
    "r": Field(("r", "relative_humidity", "var157", "hur", "rhum"), -0.1, 2.0, "1"),
    "z": Field(("z", "geopotential", "var129"), -2e4, 8e5, "m2 s-2"),
    "zs": Field((), -2e4, 1e5, "m2 s-2"),
    "gh": Field(("gh", "geopotential_height", "var156", "zg", "hgt"), -2e3, 8e4, "m"),
    "orog": Field(("orog", "hgtsfc"), -2e3, 1e4, "m"),
    "cc": Field(("cc", "fraction_of_cloud_cover"), -0.01, 1.01, "1"),
    "clwc": Field(("clwc", "specific_cloud_liquid_water_content", "var246"), -1e-6, 0.05, "kg kg-1"),
    "sp": Field(("sp", "surface_pressure", "var134", "ps"), 30e3, 110e3, "Pa"),
    "lnsp": Field(("lnsp", "logarithm_of_surface_pressure", "var152"), 10.3, 11.7, "1"),
    "t2m": Field(("t2m", "2t", "2m_temperature", "var167", "tas"), 150.0, 350.0, "K"),
    "d2m": Field(("d2m", "2d", "2m_dewpoint_temperature", "var168"), 150.0, 350.0, "K"),
    "u10": Field(("u10", "10u", "10m_u_component_of_wind", "var165", "uas"), -150.0, 150.0, "m s-1"),
    "v10": Field(("v10", "10v", "10m_v_component_of_wind", "var166", "vas"), -150.0, 150.0, "m s-1"),
    "blh": Field(("blh", "boundary_layer_height", "var159"), 0.0, 10e3, "m"),
    "zust": Field(("zust", "friction_velocity", "var3228003"), -0.01, 10.0, "m s-1"),
    "tcc": Field(("tcc", "total_cloud_cover", "var164", "clt"), -0.01, 1.01, "1"),
    "lsm": Field(("lsm", "land_sea_mask", "var172"), -0.01, 1.01, "1"),
    "tp": Field(("tp", "total_precipitation", "var228"), -0.001, 1.0, "m"),
    "e": Field(("e", "evaporation", "var182"), -0.2, 0.1, "m"),
    "ssrd": Field(("ssrd", "surface_solar_radiation_downwards", "var169"), -1e5, 1e9, "J m-2"),
    "sshf": Field(("sshf", "surface_sensible_heat_flux", "var146"), -1e9, 1e9, "J m-2"),
}
"""Short name in the ERA5 documentation -> field, with the names of CMIP and of NCEP's reanalyses; ``zs`` is ``z``
without levels. Sums may grow over the ten days of a forecast.
"""

GROUND_NAMES: Mapping[str, str] = {"z": "zs", "gh": "orog"}
"""Field of levels -> the same field without levels, which is that of the ground."""

ALSO: Mapping[str, Mapping[str, float]] = {"tp": {"kg/m2": 1e-3}, "e": {"kg/m2": 1e-3}}
"""Units of another dimension that converters write -> their value in the field's unit: 1 kg/m2 of water is 1 mm."""

NAME_OF_ALIAS: Mapping[str, str] = {alias: name for name, field in FIELDS.items() for alias in field.aliases}

DIMENSIONS: Mapping[str, str] = {
    "time": "time",
    "valid_time": "time",
    "step": "time",
    "latitude": "latitude",
    "lat": "latitude",
    "longitude": "longitude",
    "lon": "longitude",
    "level": "level",
    "lev": "level",
    "plev": "level",
    "pressure_level": "level",
    "isobaricInhPa": "level",
    "isobaricInPa": "level",
    "level_hPa": "level",
    "levels": "level",
    "model_level": "level",
    "hybrid": "level",
    "ml": "level",
}
"""Dimension names of GRIB converters and of the Climate Data Store, old and new -> the reader's."""

MODEL_LEVEL_NAMES = frozenset({"model_level", "hybrid", "ml"})
PRESSURE_LEVEL_NAMES = frozenset({"pressure_level", "isobaricInhPa", "isobaricInPa", "level_hPa", "plev"})

_NUMBERED = re.compile(r"(.+?)_[0-9]+")


def stem(name: str) -> str:
    """Return the name of a variable or dimension without the number that CDO appends to duplicates, as in u_2."""
    found = _NUMBERED.fullmatch(name)
    return found[1] if found else name


def dimension(name: str) -> str | None:
    """Return the reader's name of a dimension, None if ERA5 does not have it."""
    return DIMENSIONS.get(name) or DIMENSIONS.get(stem(name))


Key = tuple[int | slice, ...]


@dataclass(frozen=True)
class PackedVariable:
    """Packed variable as netCDF4 reads it, and xarray's conversion of its numbers to values.

    array          variable in the file, behind xarray's locks
    dtype          of the values
    fills          numbers that denote missing values
    scale, offset  value = number * scale + offset; None if absent
    """

    array: NetCDF4ArrayWrapper
    dtype: np.dtype[Any]
    fills: tuple[Any, ...]
    scale: Any
    offset: Any

    def __call__(self, key: Key) -> NDArray[Any]:
        """Return the values at some indices in the file, in a new array."""
        with self.array.datastore.lock:  # as the array itself does, without a lengthy check of the key
            numbers = self.array.get_array(needs_lock=False)[key]  # type: ignore[no-untyped-call]
        values = np.asarray(numbers).astype(self.dtype, copy=False)
        for fill in self.fills:
            values[values == fill] = np.nan
        if self.scale is not None:
            values *= self.scale
        if self.offset is not None:
            values += self.offset
        return values


def value_reader(field: xr.Variable) -> Callable[[Key], NDArray[Any]]:
    """Return a reader of the values at some indices of a variable, as opened by xarray and not indexed yet.

    xarray's own reader, with an index and a copy for each layer, takes several times as long as netCDF4. It is used for
    everything except plain numbers.
    """
    array = getattr(field, "_data", None)
    while array is not None and not isinstance(array, NetCDF4ArrayWrapper):
        array = getattr(array, "array", None)
    packing = field.encoding
    if array is None or "_Unsigned" in packing or not {array.dtype.kind, field.dtype.kind} <= set("iuf"):
        return lambda key: np.asarray(field[key].values)
    marks = (mark for name in ("_FillValue", "missing_value") for mark in np.ravel(packing.get(name, ())))
    fills = tuple({mark for mark in marks if mark == mark})  # NaN needs no mark
    return PackedVariable(array, field.dtype, fills, packing.get("scale_factor"), packing.get("add_offset"))


Places = NDArray[np.intp]


@dataclass(frozen=True)
class StoredField:
    """Variable in one file, and the mapping of its values to the reader's order.

    name         the reader's name
    values_at    reads the values at some indices in the file
    dtype        of the values
    dims         dimensions in the file
    read_dims    the dimensions that are read beyond their first index: the axes and ``expver``
    axes         the reader's dimensions, in order -> the file's names, "" for a time without a dimension
    places       the reader's names -> index in the file of each value of the coordinate
    coordinates  the reader's names -> values, in the reader's order
    unit         conversion of the file's numbers to ERA5's unit
    size         of the file [bytes] when it was opened: HDF5 reads the missing end of a truncated file as zeros
    points       latitude and longitude (y, x) where these are not the axes
    since        start of the interval of each time, in the reader's order, where the file states it
    along_grid   whether a wind is along the axes of the file's grid
    """

    path: Path
    original: str
    name: str
    values_at: Callable[[Key], NDArray[Any]]
    dtype: np.dtype[Any]
    dims: tuple[str, ...]
    read_dims: tuple[str, ...]
    axes: Mapping[str, str]
    places: Mapping[str, Places]
    coordinates: Mapping[str, NDArray[Any]]
    level_kind: str
    unit: Conversion
    size: int
    points: tuple[Array, Array] | None = None
    since: NDArray[np.datetime64] | None = None
    along_grid: bool = False

    def read(self, wanted: Mapping[str, Places]) -> NDArray[Any]:
        """Return the values at some indices of each axis, by the reader's numbering; raise DataError for errors."""
        cuts = {dim: _cut(self.places[name][wanted[name]]) for name, dim in self.axes.items() if dim}
        self._check_file(wanted)
        key = (cuts[dim][0] if dim in cuts else slice(None) if dim in self.read_dims else 0 for dim in self.dims)
        with reading(self.path, lambda: self._text(wanted)):
            values = self.values_at(tuple(key))
            if self.unit.changes:
                values = self.unit.factor * values + self.unit.offset
        dims = list(self.read_dims)
        if "expver" in dims:
            values = _one_version(np.moveaxis(values, dims.index("expver"), 0))
            dims.remove("expver")
        field = self._field()
        # in memory order: another order takes several times as long; false for NaN
        is_sound = field.low <= values.min() and values.max() <= field.high
        values = values.transpose([dims.index(dim) for dim in cuts])
        for axis, (_, within) in enumerate(cuts.values()):
            values = values[(slice(None),) * axis + (within,)]
        if "" in self.axes.values():  # the instant of a file without a time dimension becomes the first axis
            values = values[None]
        if not is_sound:
            self._check(values, wanted)
        return values

    def _text(self, wanted: Mapping[str, Places]) -> str:
        """Return the requested part as text for messages."""
        if "time" not in wanted:
            return f"variable {self.original}"
        times = self.coordinates["time"][wanted["time"]]
        return f"variable {self.original} at {' to '.join(dict.fromkeys(map(coordinate_text, times[[0, -1]])))}"

    def _check_file(self, wanted: Mapping[str, Places]) -> None:
        """Raise DataError if a file has changed since it was opened."""
        try:
            size = self.path.stat().st_size
        except OSError as error:
            raise DataError(
                f"{self.path} cannot be read any more ({error.strerror}), and {self._text(wanted)} is needed; "
                "put it back"
            ) from None
        if size != self.size:
            raise DataError(
                f"{self.path} had {self.size} bytes when it was opened, and has {size} now, and "
                f"{self._text(wanted)} is needed; copy or download it again"
            )

    def _field(self) -> Field:
        """Return the range of the values, and their unit."""
        return FIELDS[self.name]

    def _check(self, values: NDArray[Any], wanted: Mapping[str, Places]) -> None:
        """Raise DataError at the first value that is not finite or out of range."""
        _, low, high, unit = self._field()
        wrong = ~((values >= low) & (values <= high))
        if not wrong.any():
            return
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        where = ", ".join(
            f"{name} {coordinate_text(self.coordinates[name][wanted[name]][index])}"
            for name, index in zip(self.axes, place, strict=True)
        )
        if self.points is not None:
            indices = dict(zip(self.axes, place, strict=True))
            row, column = (self.coordinates[axis][wanted[axis]][indices[axis]] for axis in ("y", "x"))
            lat, lon = (float(each[row, column]) for each in self.points)
            where += f" (latitude {lat:.2f}, longitude {lon:.2f})"
        value = values[place]
        converted = f" (converted from {self.unit.given!r})" if self.unit.changes else ""
        allowed = f"{low:g} to {high:g} {unit}"
        fault = "is missing (NaN)" if np.isnan(value) else f"is {value:g}{converted}, outside {allowed},"
        raise DataError(
            f"{self.path}: variable {self.original} {fault} at {where} ({int(wrong.sum())} values); replace the file"
        )


class MultiFileField(BackendArray):
    """Variable with times in several files, as an array that xarray can index without reading it."""

    def __init__(self, parts: Sequence[StoredField], times: Sequence[tuple[int, int]] | None) -> None:
        """``times`` holds for each time the number of the part and the index in it; None without a time axis."""
        self._parts, self._times, first = parts, times, parts[0]
        sizes = {name: values.size for name, values in first.coordinates.items()}
        if times is not None:
            sizes["time"] = len(times)
        self._axes = tuple(first.axes)
        self.shape = tuple(sizes[name] for name in self._axes)
        self.dtype = np.result_type(*(part.dtype for part in parts))

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._at)

    def _at(self, key: tuple[Any, ...]) -> NDArray[Any]:
        """Return the values at an outer key; a number in it removes a dimension."""
        single = tuple(0 if isinstance(of, int | np.integer) else slice(None) for of in key)
        values: NDArray[Any] = self.read(self.places(key))[single]
        return values

    def places(self, key: tuple[Any, ...]) -> dict[str, Places]:
        """Return the indices of each axis that an outer key selects."""
        return {
            name: np.atleast_1d(np.arange(size)[of]) for name, size, of in zip(self._axes, self.shape, key, strict=True)
        }

    def read(self, wanted: Mapping[str, Places]) -> NDArray[Any]:
        """Return the values at some indices of each axis."""
        shape = tuple(where.size for where in wanted.values())
        if 0 in shape:
            return np.empty(shape, self.dtype)
        if self._times is None:
            return self._parts[0].read(wanted).astype(self.dtype, copy=False)
        steps = np.array([self._times[index] for index in wanted["time"]])
        numbers: list[int] = list(dict.fromkeys(steps[:, 0].tolist()))
        if len(numbers) == 1:
            return self._parts[numbers[0]].read({**wanted, "time": steps[:, 1]}).astype(self.dtype, copy=False)
        result = np.empty(shape, self.dtype)
        for number in numbers:
            here = steps[:, 0] == number
            result[here] = self._parts[number].read({**wanted, "time": steps[here, 1]})
        return result


def time_reader(field: xr.Variable) -> Callable[[Sequence[int]], NDArray[Any]]:
    """Return a reader of selected times of an ERA5 variable, or of a part of it with all of its dimensions.

    It resolves the access once; xarray resolves it at each time, which takes about as long as the reading.
    """
    lazy = getattr(field, "_data", None)
    if not isinstance(lazy, indexing.LazilyIndexedArray) or not isinstance(lazy.array, MultiFileField):
        of_times = next(dim for dim in field.dims if str(dim).endswith("time"))
        return lambda times: np.asarray(field.isel({of_times: times}).values)
    array, places = lazy.array, lazy.array.places(lazy.key.tuple)
    return lambda times: array.read({**places, "time": places["time"][times]})


def coordinate_text(value: Any) -> str:
    """Return a coordinate's value as text for users."""
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[m]"))
    return f"{float(value):g}"


def _cut(where: Places) -> tuple[slice, slice | Places]:
    """Return the span of an axis that contains some indices, and their positions in it: a slice if contiguous."""
    first, last = int(where[0]), int(where[-1])
    step = 1 if first <= last else -1
    if where.size == abs(last - first) + 1 and (where == np.arange(first, last + step, step)).all():
        return slice(min(first, last), max(first, last) + 1), slice(None, None, step)
    low = int(where.min())
    return slice(low, int(where.max()) + 1), where - low


def _one_version(versions: NDArray[Any]) -> NDArray[Any]:
    """Return the values of ERA5 and the preliminary ERA5T combined; each has NaN where the other has values."""
    merged: NDArray[Any] = versions[0]
    for other in versions[1:]:
        merged = np.where(np.isnan(merged), other, merged)
    return merged
