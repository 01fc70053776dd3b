"""Datasets of users on levels and points of their own: pressure levels, heights of each column, two-dimensional points.

Fields on such levels become fields at the heights of the model's layers, linear in height. Fields on points whose
latitude and longitude are in two dimensions become fields at the cells, and winds at the faces, of the model grid.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.data import conversion, numbers
from airshed.core.errors import DataError
from airshed.core.text import counted
from airshed.grid import Grid
from airshed.grid.scattered import axis_rotation
from airshed.models.air.weather import atmosphere
from airshed.models.air.weather.columns import above_ground
from airshed.models.air.weather.placement import Area
from airshed.models.air.weather.points import scattered_weights

if TYPE_CHECKING:
    import xarray as xr

_HEIGHTS: Final = frozenset({"height", "height_above_ground", "level", "lev", "z"})
_ALTITUDES: Final = frozenset({"altitude", "geopotential_height", "zg", "gh"})
_GROUND: Final = ("surface_altitude", "orog", "ground")
_AXIS_WINDS: Final = {"x_wind": "eastward_wind", "y_wind": "northward_wind"}
"""Winds along the axes of the data's grid -> names of winds to the east and north."""
_TOP: Final = 1.0
"""Tolerance of the highest level [m]."""


def on_model_levels_and_points(dataset: "xr.Dataset", grid: Grid) -> "xr.Dataset":
    """Return a Dataset at the heights of the layers and the points of the grid; others are returned unchanged.

    Parameters
    ----------
    dataset : xarray.Dataset
        Fields by their CF names. Levels are recognised by a pressure as coordinate of ``level``, by a coordinate of
        heights (level, ...) in several dimensions, or by altitudes with ``surface_altitude``. Points are recognised
        by latitude and longitude in two dimensions.
    grid : Grid
        Whole grid of the case.

    Raises
    ------
    DataError
        For missing values, levels that do not rise or do not reach the highest layer, and points that do not surround
        the grid.
    """
    at_heights = _at_heights(dataset, grid)
    return _at_cells(at_heights, grid)


# Levels.


def _at_heights(dataset: "xr.Dataset", grid: Grid) -> "xr.Dataset":
    """Return the fields on levels of their own at the heights of the layers."""
    found = _level_heights(dataset)
    if found is None:
        return dataset
    dim, heights, ground = found
    rising = heights if bool((heights.isel({dim: -1}) > heights.isel({dim: 0})).all()) else heights.isel(
        {dim: slice(None, None, -1)}
    )  # fmt: skip
    if not bool((rising.diff(dim) > 0.0).all()):
        raise DataError(f"the meteorology's heights of {dim} do not rise from level to level; sort them")
    top = float(rising.isel({dim: -1}).min())
    if top < grid.level[-1] - _TOP:
        raise DataError(
            f"the meteorology reaches {top:.0f} m above ground, the highest layer's centre is at {grid.level[-1]:g} m; "
            "give data to there or fewer layers"
        )
    order = slice(None) if rising is heights else slice(None, None, -1)
    fields = {}
    for name, field in dataset.data_vars.items():
        if dim not in field.dims or str(name) in _ALTITUDES | _HEIGHTS:
            fields[name] = field
            continue
        _check_finite(str(name), field)
        fields[name] = _interpolated(field.isel({dim: order}), rising, dim, grid.level, ground)
    kept = {name: each for name, each in dataset.coords.items() if dim not in each.dims}
    gone = [name for name in fields if str(name) in {*_ALTITUDES, *_HEIGHTS, *_GROUND}]
    return dataset.drop_vars([*dataset.data_vars, *dataset.coords]).assign(
        {name: each for name, each in fields.items() if name not in gone}
    ).assign_coords({**kept, "level": ("level", grid.level)})  # fmt: skip


def _level_heights(dataset: "xr.Dataset") -> "tuple[str, xr.DataArray, bool] | None":
    """Return the dimension of levels, their heights above ground [m], and whether some may lie below the ground.

    None where the levels are heights or layers as of the model, or missing.
    """
    for name, each in dataset.variables.items():
        standard = str(each.attrs.get("standard_name", ""))
        dims = [str(dim) for dim in each.dims]
        level = next((dim for dim in dims if _dimension(dim) == "level" or dim == name), None)
        if level is None and str(name) in dataset.coords and len(dims) > 2 and _dimension(dims[-3]) is None:
            level = dims[-3]
        if level is None or each.ndim < 2:
            continue
        if str(name) in _HEIGHTS or standard == "height":
            return level, _metres(dataset, str(name)), False
        if str(name) in _ALTITUDES or standard in ("altitude", "geopotential_height"):
            return level, _above_the_ground(dataset, str(name)), True
    for dim in map(str, dataset.dims):
        if _dimension(dim) == "level" and dim in dataset.coords and _is_pressure(dataset[dim]):
            return dim, _heights_of_pressure(dataset, dim), True
    return None


def _is_pressure(coordinate: "xr.DataArray") -> bool:
    """Return whether a coordinate of levels is a pressure, by its unit or standard name."""
    unit = str(coordinate.attrs.get("units", "")).strip().lower()
    return "pressure" in str(coordinate.attrs.get("standard_name", "")) or unit in (
        "pa", "hpa", "mbar", "mb", "millibar", "millibars"
    )  # fmt: skip


def _metres(dataset: "xr.Dataset", name: str) -> "xr.DataArray":
    field = dataset[name]
    change = conversion(field.attrs, "m", f"the meteorology's {name}")
    _check_finite(name, field)
    return field.astype(np.float64) * change.factor + change.offset


def _above_the_ground(dataset: "xr.Dataset", name: str) -> "xr.DataArray":
    """Return altitudes less that of the ground."""
    ground = next((each for each in _GROUND if each in dataset), None)
    if ground is None:
        raise DataError(
            f"the meteorology has altitudes of its levels ({name}), not heights above ground; add surface_altitude"
        )
    return _metres(dataset, name) - _metres(dataset, ground)


def _heights_of_pressure(dataset: "xr.Dataset", dim: str) -> "xr.DataArray":
    """Return hypsometric heights of pressure levels, from the temperature and surface pressure or the standard ones."""
    import xarray as xr

    coordinate = dataset[dim]
    given = {"units": "hPa", **coordinate.attrs} if float(coordinate.max()) < 2e3 else coordinate.attrs
    change = conversion(given, "Pa", f"the meteorology's {dim}")
    pressure = coordinate.astype(np.float64) * change.factor
    order = slice(None) if float(pressure[0]) > float(pressure[-1]) else slice(None, None, -1)
    pressure = pressure.isel({dim: order})
    surface = xr.DataArray(atmosphere.STANDARD_PRESSURE)
    if "surface_air_pressure" in dataset:
        surface = dataset["surface_air_pressure"]
        surface = surface.astype(np.float64) * conversion(surface.attrs, "Pa", "the surface_air_pressure").factor
        _check_finite("surface_air_pressure", surface)
    if "air_temperature" in dataset and dim in dataset["air_temperature"].dims:
        temperature = dataset["air_temperature"].isel({dim: order})
        change = conversion(temperature.attrs, "K", "the meteorology's air_temperature")
        _check_finite("air_temperature", temperature)
        temperature = temperature.astype(np.float64) * change.factor + change.offset
    else:
        temperature = xr.DataArray(atmosphere.standard_lapse(np.array(288.15), pressure.values), {dim: pressure[dim]})
    broadcast = xr.broadcast(pressure, surface, temperature)
    first = [dim, *(each for each in broadcast[0].dims if each != dim)]
    levels, ground, warmth = (each.transpose(*first).values for each in broadcast)
    inverse = np.asarray(atmosphere.inverse_scale_height(warmth))
    heights = atmosphere.hypsometric_heights(levels, inverse, ground[0])
    like = broadcast[0].transpose(*first)
    return like.copy(data=heights).isel({dim: order})


def _interpolated(
    field: "xr.DataArray", heights: "xr.DataArray", dim: str, targets: Array, ground: bool
) -> "xr.DataArray":
    """Return a field at heights above ground: linear, constant below the lowest level above the ground."""
    import xarray as xr

    values, nodes = xr.broadcast(field.astype(np.float64), heights.drop_vars(dim, errors="ignore"))
    first = [dim, *(each for each in values.dims if each != dim)]
    of_levels, z = (each.transpose(*first).values for each in (values, nodes))
    if ground:
        of_levels = above_ground(-z, np.zeros(z.shape[1:]), of_levels)
    above = np.stack([np.clip(np.sum(z <= target, axis=0), 1, z.shape[0] - 1) for target in targets])
    low, high = (np.take_along_axis(z, index, axis=0) for index in (above - 1, above))
    part = np.clip((targets.reshape(-1, *[1] * (z.ndim - 1)) - low) / (high - low), 0.0, 1.0)
    below, over = (np.take_along_axis(of_levels, index, axis=0) for index in (above - 1, above))
    coords = {name: each for name, each in field.coords.items() if dim not in each.dims}
    found = xr.DataArray((1.0 - part) * below + part * over, coords, ["level", *first[1:]], attrs=field.attrs)
    return found.transpose(*("level" if each == dim else each for each in values.dims))


# Points.


def _at_cells(dataset: "xr.Dataset", grid: Grid) -> "xr.Dataset":
    """Return the fields on points in two dimensions at the cells, and the winds at the faces, of the grid."""
    import xarray as xr

    places = {_dimension(str(name)): each for name, each in dataset.coords.items() if each.ndim == 2}
    if not {"latitude", "longitude"} <= places.keys():
        return dataset
    dims = tuple(map(str, places["latitude"].dims))
    lat = numbers(places["latitude"].values, "the meteorology's latitudes")
    lon = numbers(places["longitude"].transpose(*dims).values, "the meteorology's longitudes")
    if not (np.isfinite(lat).all() and np.isfinite(lon).all()):
        raise DataError("the meteorology's latitudes or longitudes are missing at some points; give all of them")
    dataset = _towards_the_east(dataset, lat, lon, dims)
    area = Area.of(grid, None)
    at = {where: scattered_weights(lat, lon, area.places(where)) for where in ("cells", "east", "north")}

    def moved(field: "xr.DataArray", where: str) -> Array:
        return at[where](field.transpose(..., *dims).values.astype(np.float64))

    y, x = grid.dims
    winds = {"eastward_wind": ("x", "east", (y, f"{x}_face")), "northward_wind": ("y", "north", (f"{y}_face", x))}
    result = {}
    for name, field in _on_points(dataset, dims):
        _check_finite(name, field)
        leading = [str(dim) for dim in field.dims if dim not in dims]
        if name in winds and set(winds) <= set(dataset):
            axis, where, own = winds[name]
            both = (moved(dataset[each], where) for each in winds)
            result[name] = xr.Variable([*leading, *own], area.wind_along(axis, *both), field.attrs)
        else:
            result[name] = xr.Variable([*leading, y, x], moved(field, "cells"), field.attrs)
    rest = {name: each.variable for name, each in dataset.data_vars.items() if not set(dims) <= set(each.dims)}
    coords = {name: each for name, each in dataset.coords.items() if not set(dims) & set(each.dims)}
    return xr.Dataset({**rest, **result}, {name: each.variable for name, each in coords.items()})


def _on_points(dataset: "xr.Dataset", dims: tuple[str, ...]) -> "Iterator[tuple[str, xr.DataArray]]":
    """Yield the fields that have both dimensions of the points."""
    for name, field in dataset.data_vars.items():
        if set(dims) <= set(field.dims) and field.dtype.kind in "fiu":
            yield str(name), field


def _towards_the_east(dataset: "xr.Dataset", lat: Array, lon: Array, dims: tuple[str, ...]) -> "xr.Dataset":
    """Return the Dataset with winds to the east and north instead of winds along the axes of its grid."""
    import xarray as xr

    if not set(_AXIS_WINDS) <= set(dataset):
        return dataset
    if set(_AXIS_WINDS.values()) & set(dataset):
        raise DataError("the meteorology has winds to the east and along the axes of its grid; give one of both")
    angle = xr.DataArray(axis_rotation(lat, lon), dims=dims)
    along_x, along_y = dataset["x_wind"], dataset["y_wind"]
    turned = np.cos(angle) * along_x - np.sin(angle) * along_y, np.sin(angle) * along_x + np.cos(angle) * along_y
    named = {
        name: field.transpose(*along_x.dims).assign_attrs(along_x.attrs)
        for name, field in zip(_AXIS_WINDS.values(), turned, strict=True)
    }
    return dataset.drop_vars(list(_AXIS_WINDS)).assign(named)


def _check_finite(name: str, field: "xr.DataArray") -> None:
    """Raise DataError with the first location of a missing value."""
    values = numbers(field.values, f"the meteorology's {name}")
    wrong: NDArray[np.bool_] = ~np.isfinite(values)
    if not wrong.any():
        return
    first = dict(zip(map(str, field.dims), np.argwhere(wrong)[0].tolist(), strict=True))
    point = field.isel(first)
    place = ", ".join(
        f"{key} {str(each.values)[:16] if each.dtype.kind == 'M' else format(float(each), '.6g')}"
        for key, each in point.coords.items()
        if each.ndim == 0 and each.dtype.kind in "fiuM"
    )
    where = place or ", ".join(f"{dim} {index}" for dim, index in first.items())
    count = counted(int(wrong.sum()), "value")
    raise DataError(
        f"the meteorology's {name} has NaN or infinite values, first at {where} ({count}); fill them or cut them off"
    )


def _dimension(name: str) -> str | None:
    """Return the reader's name of a dimension; xarray is imported only with a Dataset."""
    from airshed.io.era5_fields import dimension

    return dimension(name)
