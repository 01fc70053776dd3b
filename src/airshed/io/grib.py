"""GRIB files as Datasets with lazily decoded values, for the reader of weather files and for grids.

Pressure or model levels, points and times of each variable are coordinates with CF attributes. A variable that is a
sum or mean over intervals has their starts in the coordinate ``NAME_since``; means of rates are converted to sums.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from airshed.core.errors import DataError
from airshed.io.grib_messages import GribGrid, Message, decoded, eccodes, message_bytes, scan
from airshed.io.netcdf import reading

_LEVELS: Final = {"pressure": ("pressure_level", {"units": "Pa"}), "model": ("model_level", {"units": "1"})}
_POINTS: Final = {"latitude": {"units": "degrees_north"}, "longitude": {"units": "degrees_east"}}
MAPPING: Final = "grid_mapping"


class _Messages(BackendArray):
    """Values of a variable (time, level, y, x), read message by message."""

    def __init__(self, path: Path, grid: GribGrid, table: Sequence[Sequence[Message]], has_levels: bool) -> None:
        self._path, self._grid, self._table, self._has_levels = path, grid, table, has_levels
        leading = (len(table), len(table[0])) if has_levels else (len(table),)
        self.shape, self.dtype = (*leading, *grid.shape), np.dtype(np.float32)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._at)

    def _at(self, key: tuple[Any, ...]) -> NDArray[Any]:
        """Return the values at an outer key; a number in it removes a dimension."""
        single = tuple(0 if isinstance(of, int | np.integer) else slice(None) for of in key)
        places = [np.atleast_1d(np.arange(size)[of]) for size, of in zip(self.shape, key, strict=True)]
        times, levels = places[0], places[1] if self._has_levels else np.zeros(1, int)
        points, library = np.ix_(*places[-2:]), eccodes(self._path)
        values = np.empty((times.size, levels.size, *(each.size for each in places[-2:])), np.float32)
        with self._path.open("rb") as file:
            for row, time in enumerate(times):
                for column, level in enumerate(levels):
                    message = self._table[time][level]
                    field = decoded(library, message_bytes(file, message.pieces), self._grid, message.factor)
                    values[row, column] = field[points]
        return np.asarray((values if self._has_levels else values[:, 0])[single])


def open_grib(path: Path) -> xr.Dataset:
    """Return the fields of a GRIB file that the model uses; values are decoded when they are read.

    Parameters
    ----------
    path : Path
        A file of edition 1, 2 or both, on longitude and latitude or on a projection.

    Returns
    -------
    xarray.Dataset
        Variables named as in ERA5's netCDF files. The attribute ``unused`` lists the other fields.

    Raises
    ------
    DataError
        Without the package ecCodes, for damaged files, for grids without rows and columns, for ensemble members and
        several forecasts in one file.
    """
    unused: set[str] = set()
    with reading(path):
        messages, grids = scan(path, unused)
    by_name: dict[str, list[Message]] = {}
    for message in messages:
        by_name.setdefault(message.name, []).append(message)
    coordinates, axes, variables = dict[str, xr.Variable](), _Axes(), dict[str, xr.Variable]()
    for name, several in by_name.items():
        chosen = _one_kind(several, unused)
        variables[name] = _variable(path, name, chosen, grids[chosen[0].grid], axes, coordinates)
    if not variables and grids:
        _points(next(iter(grids.values())), axes, coordinates)
    return xr.Dataset(variables, coordinates | axes.coordinates, {"unused": sorted(unused)})


def _one_kind(messages: list[Message], unused: set[str]) -> list[Message]:
    """Return the messages of the kind of levels and the short name that has the most; add the others to ``unused``."""
    kinds: dict[tuple[str, str, str], list[Message]] = {}
    for message in messages:
        kinds.setdefault((message.levels, message.original, message.grid), []).append(message)
    best = max(kinds, key=lambda kind: (len({each.level for each in kinds[kind]}), len(kinds[kind])))
    unused.update(f"{original} ({levels or 'another grid'})" for levels, original, _ in kinds if original != best[1])
    return kinds[best]


class _Axes:
    """Dimensions of the variables; a coordinate with other values gets a number, as ``time_2``."""

    def __init__(self) -> None:
        self.coordinates: dict[str, xr.Variable] = {}

    def dimension(self, name: str, values: NDArray[Any], attributes: Mapping[str, str]) -> str:
        """Return the dimension of a coordinate."""
        number = 1
        while True:
            dim = name if number == 1 else f"{name}_{number}"
            known = self.coordinates.setdefault(dim, xr.Variable((dim,), values, dict(attributes)))
            if np.array_equal(known.values, values):
                return dim
            number += 1


def _variable(
    path: Path, name: str, messages: list[Message], grid: GribGrid, axes: _Axes, coordinates: dict[str, xr.Variable]
) -> xr.Variable:
    """Return a variable, and add its coordinates."""
    # The shortest of the intervals that end at a time: some centres also write the sum since the start of the forecast.
    first, found = messages[0], dict[tuple[np.datetime64, float], Message]()
    for message in messages:
        place = message.time, message.level
        other = found.get(place)
        if other is not None and other.since == message.since:
            where = f"{first.original} at {str(message.time)[:16]}"
            raise DataError(
                f"{path}: it has {where} more than once; select one forecast and one member, such as with grib_copy -w"
            )
        if other is None or message.since > other.since:
            found[place] = message
    times, levels = sorted({place[0] for place in found}), sorted({place[1] for place in found})
    missing = [(time, level) for time in times for level in levels if (time, level) not in found]
    if missing:
        time, level = missing[0]
        gap = f"{level / 100.0:g} hPa" if first.levels == "pressure" else f"level {level:g}"
        raise DataError(f"{path}: {first.original} lacks {gap} at {str(time)[:16]}; download it again")

    # dimensions and coordinates
    time_dim = axes.dimension("time", np.array(times, "datetime64[ns]"), {"standard_name": "time"})
    dims, has_levels = [time_dim], bool(first.levels)
    if has_levels:
        dim, attributes = _LEVELS[first.levels]
        dims.append(axes.dimension(dim, np.array(levels), attributes))
    dims += _points(grid, axes, coordinates)
    table = [[found[moment, level] for level in levels] for moment in times]
    since = np.array([row[0].since for row in table], "datetime64[ns]")
    if (since != np.array(times, "datetime64[ns]")).any():
        coordinates[f"{name}_since"] = xr.Variable((time_dim,), since)
    lazy = indexing.LazilyIndexedArray(_Messages(path, grid, table, has_levels))
    about = {"units": first.unit, "GRIB_uvRelativeToGrid": int(first.relative)}
    return xr.Variable(dims, lazy, about | ({MAPPING: MAPPING} if grid.mapping else {}))


def _points(grid: GribGrid, axes: _Axes, coordinates: dict[str, xr.Variable]) -> tuple[str, str]:
    """Return the dimensions of the points, and add their coordinates."""
    places = {"latitude": grid.lat, "longitude": grid.lon}
    if grid.lat.ndim == 1:
        latitude, longitude = (axes.dimension(name, places[name], _POINTS[name]) for name in places)
        return latitude, longitude
    values = [np.arange(float(size)) for size in grid.shape]
    attributes: list[Mapping[str, str]] = [{}, {}]
    if grid.mapping is not None:
        mapping, x, y = grid.mapping
        values, attributes = [y, x], list(mapping.attributes())
        coordinates[MAPPING] = xr.Variable((), 0, dict(mapping.parameters))
    dims = tuple(axes.dimension(name, each, about) for name, each, about in zip("yx", values, attributes, strict=True))
    coordinates |= {name: xr.Variable(dims, places[name], _POINTS[name]) for name in places}
    return dims[0], dims[1]
