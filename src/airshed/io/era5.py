"""Reader of ERA5 files from the Climate Data Store or a GRIB converter, into one Dataset with uniform names."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.core import indexing

from airshed.core.arrays import Array
from airshed.core.data import conversion, kind, numbers
from airshed.core.errors import DataError
from airshed.grid.coordinates import check_places, to_degrees
from airshed.io.era5_fields import (
    ALSO,
    FIELDS,
    GROUND_NAMES,
    MODEL_LEVEL_NAMES,
    NAME_OF_ALIAS,
    PRESSURE_LEVEL_NAMES,
    MultiFileField,
    StoredField,
    coordinate_text,
    dimension,
    stem,
    value_reader,
)
from airshed.io.hdf5 import check_heads
from airshed.io.model_levels import half_levels
from airshed.io.netcdf import open_file, reading

LEVELS = 137


def full_level_pressure(levels: NDArray[np.int64], surface_pressure: Array) -> Array:
    """Return the pressure [Pa] of model levels, (level, ...): the mean of the half levels above and below.

    levels            numbers from 1 (top) to 137 (at the ground)
    surface_pressure  [Pa]  (...)
    raises            DataError for numbers outside the 137-level model
    """
    if levels.min() < 1 or levels.max() > LEVELS:
        raise DataError(f"model levels {levels.min()} to {levels.max()}: the ERA5 model has levels 1 to {LEVELS}")
    a, b = half_levels(LEVELS)
    middle_a = 0.5 * (a[levels - 1] + a[levels])
    middle_b = 0.5 * (b[levels - 1] + b[levels])
    shape = (-1,) + (1,) * surface_pressure.ndim
    return np.asarray(middle_a.reshape(shape) + middle_b.reshape(shape) * surface_pressure)


ON_LEVELS = ("u", "v", "t", "q", "r", "z", "gh", "cc", "clwc")
NO_UNITS = frozenset({"", "1", "~", "level", "levels", "count", "numeric", "model_level_number"})
"""Units of level numbers."""
_STATIC = frozenset({"lsm", "z", "zs", "gh", "orog"})
"""Fields that may be constant in time, if they have no levels."""
_WINDS = frozenset({"u", "v", "u10", "v10"})
_ALONG_GRID = frozenset({"x_wind", "y_wind", "grid_eastward_wind", "grid_northward_wind"})
_ALONG_EARTH = frozenset({"eastward_wind", "northward_wind"})
"""Standard names of winds along the axes of the grid, and to the east and north."""
STEADY = np.datetime64("1700-01-01", "ns")
"""Time of fields that have none."""
_CALENDARS = frozenset({"standard", "gregorian", "proleptic_gregorian"})


def group_by_field(path: Path, dataset: xr.Dataset, unused: set[str]) -> dict[str, list[str]]:
    """Return the variables of the file for each field of the reader; add the others to ``unused``.

    CDO numbers variables of one name on different kinds of levels, u, u_2 ...: the one with the most pressure or model
    levels is used.
    """
    candidates: dict[str, list[str]] = {}
    for original in map(str, dataset.data_vars):
        name = NAME_OF_ALIAS.get(original) or NAME_OF_ALIAS.get(stem(original))
        if name is not None:
            candidates.setdefault(name, []).append(original)
        elif dataset[original].ndim > 1:
            unused.add(original)
    numbered = any(each not in NAME_OF_ALIAS for originals in candidates.values() for each in originals)
    for name, originals in candidates.items():
        plain = [original for original in originals if original in NAME_OF_ALIAS]
        if len(plain) > 1:
            twice = " and ".join(plain[:2])
            raise DataError(f"{path}: variables {twice} are the same field of ERA5; remove one of them")
        if len(originals) > 1:
            best = max(originals, key=lambda each: _levels_of(dataset[each])) if name in ON_LEVELS else originals[0]
            unused.update(each for each in originals if each != best)
            candidates[name] = [best]
    if numbered:  # a field at one height or of one layer is not a profile
        single = [name for name in set(ON_LEVELS) - set(GROUND_NAMES) if name in candidates]
        for name in [name for name in single if _levels_of(dataset[candidates[name][0]])[1] < 2]:
            unused.update(candidates.pop(name))
    return candidates


def _levels_of(field: xr.DataArray) -> tuple[bool, int]:
    """Return whether a field is on pressure levels, and the number of its levels of any kind."""
    levels = [dim for dim in field.dims if dimension(str(dim)) == "level"]
    if not levels:
        return False, 0
    unit = str(field[levels[0]].attrs.get("units", "")).strip() if levels[0] in field.coords else ""
    return unit.lower() not in NO_UNITS, field.sizes[levels[0]]


def standardise_times(
    path: Path, name: str, field: xr.DataArray, names: dict[str, str], coordinates: dict[str, NDArray[Any]]
) -> dict[str, str]:
    """Check the times of a field, and standardise those of forecast steps and of a single instant.

    Returns the axis of an instant that has no dimension in the file, with an empty name. ``name`` is the reader's.
    """
    original = str(field.name)
    if names.get("time") == "step":
        times = _valid_times(path, original, field)
        coordinates["time"] = times.values
        _check_times(path, times)
    elif "time" in names:
        _check_times(path, field[names["time"]])
    elif name not in _STATIC or "level" in names:
        one = next((field[key] for key in ("valid_time", "time") if key in field.coords and field[key].ndim == 0), None)
        if one is not None and one.dtype.kind == "M" and not np.isnat(one.values):
            coordinates["time"] = np.atleast_1d(one.values)
            return {"time": ""}
        if one is None and name in ON_LEVELS:
            coordinates["time"] = np.atleast_1d(STEADY)
            return {"time": ""}
    return {}


def _valid_times(path: Path, original: str, field: xr.DataArray) -> xr.DataArray:
    """Return the valid times of forecast steps: valid_time along them, or the start plus the steps."""
    valid = field.coords.get("valid_time")
    if valid is not None and valid.dims == ("step",):
        return xr.DataArray(valid)
    start, step = field.coords.get("time"), field.coords.get("step")
    if start is None or start.ndim or start.dtype.kind != "M" or step is None:
        raise DataError(
            f"{path}: variable {original} has the dimension step, but no valid_time along it, nor a time at which the "
            "forecast starts; export the file with one of them"
        )
    lengths = step.values
    if lengths.dtype.kind != "m":
        seconds = conversion(step.attrs, "s", f"{path}: {original}: its step")
        factor = 3600.0 if seconds.missing else seconds.factor
        lengths = np.round(1e9 * factor * lengths.astype(np.float64)).astype("timedelta64[ns]")
    return xr.DataArray(start.values + lengths, dims="step")


def _check_times(path: Path, times: xr.DataArray) -> None:
    """Raise DataError unless all times are instants of the standard calendar, without duplicates."""
    values, calendar = times.values, str(times.encoding.get("calendar") or times.attrs.get("calendar") or "standard")
    if values.dtype.kind != "M":
        also = f" in the calendar {calendar!r}" if calendar not in _CALENDARS else ""
        unit = str(times.encoding.get("units") or times.attrs.get("units") or "none")[:60]
        raise DataError(
            f"{path}: its times (units {unit!r}{also}) are no moments in UTC of the years 1678 to 2262; give such as "
            "'hours since 1900-01-01' in the standard calendar"
        )
    if np.isnat(values).any():
        raise DataError(f"{path}: {int(np.isnat(values).sum())} of its times are missing (NaT); every field needs one")
    if np.unique(values).size < values.size:
        ordered = np.sort(values)
        twice = ordered[1:][np.diff(ordered) == np.timedelta64(0)][0]
        raise DataError(f"{path}: it has the time {coordinate_text(twice)} more than once; remove the duplicate")


_ORDER = ("time", "level", "latitude", "y", "longitude", "x")


def read_era5(files: Sequence[Path]) -> xr.Dataset:
    """Return the fields of ERA5 files on their own levels and points, loaded into memory.

    As :func:`open_era5`; raises DataError also for values that are not finite or out of range.
    """
    with open_era5(files) as dataset:
        return dataset.load()


def open_era5(files: Sequence[Path]) -> xr.Dataset:
    """Return the fields of ERA5 files on their own levels and points, read and checked on use.

    Fields may be distributed over files in any way: one variable per file, one file for all, several periods. Levels
    are model levels (numbers in ``level``, attribute ``level_kind`` = "model") or pressure levels ([Pa], "pressure").
    Dimensions may have any order.

    Files are netCDF or GRIB. Fields without a time are steady; the attribute ``steady`` is then true.

    returns  variables named as in ``era5_names.FIELDS`` on (time, level, latitude, longitude), as present; ``level``
             from the ground up, latitude and longitude ascending, time UTC. On a projection they are on (time, level,
             y, x), with latitude and longitude (y, x), and ``along_grid`` states whether winds are along y and x. Sums
             whose intervals are known are on a time of their own, ``tp_time``, with the starts in ``tp_since``. The
             attribute ``file`` of a variable names its source, the attribute ``unused`` the other content of the
             files. ``isel`` reads a part, ``close`` closes the files
    raises   DataError for a file that is missing, damaged, or neither netCDF nor GRIB; without u and v; for variables
             on different points, levels or times
    """
    if not files:
        raise DataError("no meteorological files are given; list the netCDF or GRIB files of the case")
    check_heads(map(Path, files))  # all together in one child process
    with ExitStack() as stack:
        opened = [(path, stack.enter_context(open_file(path))) for path in map(Path, files)]
        pieces: dict[str, list[StoredField]] = {}
        unused: set[str] = set()
        for path, content in opened:
            if isinstance(others := content.attrs.get("unused"), list):
                unused.update(others)
            for piece in _known_fields(path, content, unused):
                pieces.setdefault(piece.name, []).append(piece)
        fields = {name: _join_times(name, parts) for name, parts in pieces.items()}
        for name in ("u", "v"):
            if name not in fields:
                raise DataError(
                    f"no variable {name} (wind) in {', '.join(path.name for path, _ in opened)}; "
                    f"found {', '.join(sorted(fields)) or 'nothing that the model uses'}"
                )
        unused.update(_cut_levels(fields))
        _check_alike(fields)
        steady = bool(fields["u"]["time"].values[0] == STEADY)
        attributes = {"level_kind": _level_kind(fields), "unused": sorted(unused), "steady": steady}
        dataset = xr.Dataset(fields, attrs=attributes)
        dataset.set_close(stack.pop_all().close)
    return dataset


def _known_fields(path: Path, dataset: xr.Dataset, unused: set[str]) -> list[StoredField]:
    """Return the known variables of one file by the reader's names."""
    fields: dict[str, StoredField] = {}
    for name, originals in group_by_field(path, dataset, unused).items():
        original = originals[0]
        with reading(path, f"variable {original}".format):
            field = _standard(path, original, name, dataset[original])
        if field.name in fields:
            twice = f"{fields[field.name].original} and {original}"
            raise DataError(f"{path}: variables {twice} are the same field of ERA5; remove one of them")
        fields[field.name] = field
    return list(fields.values())


def _standard(path: Path, original: str, name: str, field: xr.DataArray) -> StoredField:
    """Return the field with standard dimensions and ascending coordinates, the level nearest the ground first."""
    # dimensions, without those of size one that the reader does not use
    stored = field.variable
    standards = [dimension(str(dim)) or str(dim) for dim in stored.dims if stored.sizes[dim] > 1 or dim != "step"]
    twice = [dim for index, dim in enumerate(standards) if dim in standards[:index]]
    if twice:
        both = " (time and step: select one start of the forecast)" if "step" in stored.dims else ""
        raise DataError(
            f"{path}: variable {original} has the dimension {twice[0]} twice{both}; download the file again"
        )
    points = _points_in_two_dimensions(field)
    if field.dtype.kind not in "fiu":
        raise DataError(f"{path}: variable {original} holds {kind(field.dtype)}, no numbers; download the file again")
    known = {str(dim) for dim in field.dims if dimension(str(dim)) or dim == "expver"} | set(points)
    if "step" in known and field.sizes["step"] == 1 and known & {"time", "valid_time"}:
        known.remove("step")
    single = [dim for dim in field.dims if str(dim) not in known and field.sizes[dim] == 1]
    field = field.isel(dict.fromkeys(single, 0), drop=True)
    unknown = [str(dim) for dim in field.dims if str(dim) not in known]
    if unknown:
        raise DataError(
            f"{path}: variable {original} has the dimension {unknown[0]!r}, unknown in ERA5; remove it, or add "
            "latitude and longitude of its points"
        )
    if field.size == 0:
        raise DataError(f"{path}: variable {original} holds no values; the download is incomplete")

    # coordinates: points, times and levels
    level_kind, level = _level_coordinate(path, original, field)
    coordinates: dict[str, NDArray[Any]] = {}
    names = {points.get(str(dim)) or str(dimension(str(dim))): str(dim) for dim in field.dims if dim != "expver"}
    for standard, dim in names.items():
        if standard in ("y", "x"):
            coordinates[standard] = np.arange(field.sizes[dim])
            continue
        if dim not in field.coords and dim != "step":
            raise DataError(f"{path}: variable {original} has no values for its {dim}; export the file with them")
        coordinates[standard] = np.asarray(field[dim].values)
    names |= standardise_times(path, name, field, names, coordinates)
    if level_kind:
        coordinates["level"] = level
    for standard in () if points else ("latitude", "longitude"):
        if standard not in coordinates:
            raise DataError(f"{path}: variable {original} has no {standard}; export it on a longitude-latitude grid")
        degrees = to_degrees(standard, coordinates[standard], field[names[standard]].attrs, f"{path}: {original}")
        coordinates[standard] = np.round(degrees, 6)

    # fields at the ground
    if "level" in names and original in FIELDS["lnsp"].aliases:
        field = field.isel({names.pop("level"): 0}, drop=True)
    if name in GROUND_NAMES and "level" not in names:
        name = GROUND_NAMES[name]

    # order of the coordinates, unit and intervals
    axes = {standard: names[standard] for standard in _ORDER if standard in names}
    order = {standard: np.argsort(coordinates[standard], kind="stable") for standard in axes}
    places = {standard: each[::-1] if standard == "level" else each for standard, each in order.items()}
    unit = conversion(stored.attrs, FIELDS[name].unit, f"{path}: variable {original}", also=ALSO.get(name))
    since = field.coords.get(f"{original}_since")
    in_order = {standard: coordinates[standard][places[standard]] for standard in axes}
    return StoredField(
        path, original, name, value_reader(stored), stored.dtype, tuple(map(str, stored.dims)),
        tuple(map(str, field.dims)), axes, places,
        in_order, level_kind, unit, path.stat().st_size, _points(path, original, field) if points else None,
        None if since is None else since.values[places["time"]],
        along_grid=bool(points) and name in _WINDS and _is_along_grid(path, original, field),
    )  # fmt: skip


def _points_in_two_dimensions(field: xr.DataArray) -> dict[str, str]:
    """Return the dimensions of the points with their names, "y" and "x"; none on longitude and latitude."""
    found = [each for name, each in field.coords.items() if dimension(str(name)) == "latitude" and each.ndim == 2]
    return dict(zip(map(str, found[0].dims), "yx", strict=True)) if found else {}


def _points(path: Path, original: str, field: xr.DataArray) -> tuple[Array, Array]:
    """Return latitude and longitude (y, x) of a field [degrees]."""
    found = {dimension(str(name)): each for name, each in field.coords.items() if each.ndim == 2}
    if "longitude" not in found:
        raise DataError(f"{path}: variable {original} has latitudes in two dimensions, but no longitudes; add them")
    lat, lon = (numbers(found[name].values, f"{path}: its {name}") for name in ("latitude", "longitude"))
    if not (np.isfinite(lat).all() and np.isfinite(lon).all() and np.abs(lat).max() <= 90.0 + 1e-4):
        raise DataError(f"{path}: latitudes or longitudes of {original} are missing or out of range; correct them")
    return lat, lon


def _is_along_grid(path: Path, original: str, field: xr.DataArray) -> bool:
    """Return whether a wind is along the axes of its grid; raise DataError where the file does not state it."""
    flag, standard = field.attrs.get("GRIB_uvRelativeToGrid"), str(field.attrs.get("standard_name", ""))
    if flag is None and standard not in _ALONG_GRID | _ALONG_EARTH:
        raise DataError(
            f"{path}: the wind {original} is on a projection, and nothing states its direction; give it the attribute "
            "standard_name: eastward_wind and northward_wind, or x_wind and y_wind along the axes of the grid"
        )
    return bool(flag) if flag is not None else standard in _ALONG_GRID


def _level_coordinate(path: Path, original: str, field: xr.DataArray) -> tuple[str, NDArray[Any]]:
    """Return ("model", level numbers), ("pressure", pascals) or ("", nothing)."""
    dims = [dim for dim in field.dims if dimension(str(dim)) == "level"]
    if not dims or dims[0] not in field.coords:
        return "", np.empty(0)
    name, coordinate = str(dims[0]), field[dims[0]]
    where = f"{path}: {original}"
    values = numbers(coordinate.values, f"{where}: its {name}")
    check_places(name, values, where)
    unit = str(coordinate.attrs.get("units", "")).strip().lower()
    described = str(coordinate.attrs.get("long_name", "")) + str(coordinate.attrs.get("standard_name", ""))
    is_pressure = unit not in NO_UNITS or stem(name) in PRESSURE_LEVEL_NAMES
    is_pressure = is_pressure or ("pressure" in described and "hybrid" not in described)
    is_model = stem(name) in MODEL_LEVEL_NAMES or "model" in described or "hybrid" in described
    if not is_pressure and (is_model or values.max() <= 137.0):
        if np.any(np.abs(values - np.round(values)) > 1e-3) or values.min() < 0.5 or values.max() > LEVELS + 0.5:
            raise DataError(
                f"{where}: its model levels ({values.min():g} to {values.max():g}) are not among the numbers 1 to "
                f"{LEVELS} of the ERA5 model; correct the coordinate {name}"
            )
        return "model", np.round(values).astype(np.int64)
    change = conversion(
        {"units": "hPa" if unit in NO_UNITS else coordinate.attrs["units"]}, "Pa", f"{where}: its {name}"
    )
    pascals = change.factor * values + change.offset
    if pascals.min() <= 0.0 or pascals.max() > 110e3:
        raise DataError(
            f"{path}: the levels of {original} ({values.min():g} to {values.max():g} {unit}) are no pressures; "
            "name their unit in the file, Pa or hPa"
        )
    return "pressure", pascals


def _join_times(name: str, parts: list[StoredField]) -> xr.DataArray:
    """Return the parts of a variable joined in time order; of duplicate instants the first is used."""
    first, unit = parts[0], FIELDS[name].unit
    # Conversions of units, for the provenance.
    texts = [f"from {part.unit.given}" for part in parts if part.unit.changes]
    texts += [f"no unit given, assumed {unit}" for part in parts if part.unit.missing]
    attributes = {
        "level_kind": first.level_kind, "file": first.path.name, "converted": ", ".join(dict.fromkeys(texts)),
        "original": first.original, "steps": "of a forecast" if first.axes.get("time") == "step" else "",
        "along_grid": first.along_grid,
    }  # fmt: skip
    coordinates: dict[str, Any] = dict(first.coordinates)
    array = MultiFileField(parts[:1], None)
    if "time" in first.axes:
        # All parts must have the same points and levels.
        for part in parts[1:]:
            for dim in _ORDER[1:]:
                if not np.array_equal(part.coordinates.get(dim, ()), first.coordinates.get(dim, ())):
                    raise DataError(
                        f"{part.path.name}: {part.original} has another {dim} than {first.path.name}; give files of "
                        "one area"
                    )
        attributes["file"] = ", ".join(sorted({part.path.name for part in parts}))
        places = [(number, at) for number, part in enumerate(parts) for at in range(part.coordinates["time"].size)]
        times = np.concatenate([part.coordinates["time"] for part in parts])
        coordinates["time"], chosen = np.unique(times, return_index=True)
        array = MultiFileField(parts, [places[index] for index in chosen])
    if first.points is not None:
        coordinates |= {name: (("y", "x"), each) for name, each in zip(_ORDER[2:5:2], first.points, strict=True)}
    variable = xr.Variable(tuple(first.axes), indexing.LazilyIndexedArray(array), attributes)
    field = xr.DataArray(variable, coordinates, name=first.name)
    if any(part.since is not None for part in parts):
        since = np.concatenate([part.coordinates["time"] if part.since is None else part.since for part in parts])
        field = field.assign_coords({f"{name}_since": ("time", since[chosen])}).rename(time=f"{name}_time")
    return field


def _cut_levels(fields: dict[str, xr.DataArray]) -> list[str]:
    """Cut levels off the wind above which another field has none, and return them as text."""
    wind, cut = fields["u"], list[str]()
    for name in ON_LEVELS:
        if name not in fields or not {"level"} <= set(fields[name].dims) & set(wind.dims):
            continue
        given, levels = fields[name]["level"].values, wind["level"].values
        missing = np.setdiff1d(levels, given)
        if missing.size and missing.max() < given.min():  # a higher level has a smaller pressure or number
            cut.append(f"levels above {coordinate_text(given.min())} (no {name})")
            fields["u"] = wind = wind.sel(level=levels[levels >= given.min()])
    return cut


def _check_alike(fields: dict[str, xr.DataArray]) -> None:
    """Raise DataError unless all variables have the points, levels and times of the wind."""
    wind = fields["u"]
    needed = ("time", "level", *(("y", "x") if "y" in wind.dims else ("latitude", "longitude")))
    for name in ON_LEVELS:
        for dim in needed if name in fields else ():
            if dim not in fields[name].dims:
                file, original = (fields[name].attrs[key] for key in ("file", "original"))
                what = f"{'the wind ' if name in 'uv' else ''}{original}"
                raise DataError(f"{file}: {what} has no {dim}; the model needs it on {', '.join(needed)}")
    for name, field in fields.items():
        if "y" in wind.dims and not all(
            field[each].shape == wind[each].shape and np.allclose(field[each], wind[each], atol=1e-4)
            for each in ("latitude", "longitude")
        ):
            raise DataError(
                f"{field.attrs['file']}: {field.attrs['original']} has other points than the wind u of "
                f"{wind.attrs['file']}; give both on the same grid"
            )
        if (
            name in ("zs", "orog", "lsm")
            and "time" in field.dims
            and np.setdiff1d(wind["time"].values, field["time"].values).size
        ):
            field = field.isel(time=0, drop=True)  # constant in time
        for dim in _ORDER:
            if dim not in field.dims:
                continue
            missing = np.setdiff1d(wind[dim].values, field[dim].values)
            if missing.size:
                where, gap = f"{field.attrs['file']}: {field.attrs['original']}", coordinate_text(missing[0])
                raise DataError(
                    f"{where} has no data for {dim} {gap}, where the wind u of {wind.attrs['file']} has; give both on "
                    "the same points and times"
                )
            if field.sizes[dim] > wind.sizes[dim]:
                field = field.sel({dim: wind[dim].values})
        fields[name] = field


def _level_kind(fields: dict[str, xr.DataArray]) -> str:
    """Return the kind of levels; raise DataError if two kinds are mixed."""
    kinds = {field.attrs["level_kind"]: field.attrs["file"] for field in fields.values() if field.attrs["level_kind"]}
    if len(kinds) > 1:
        raise DataError(
            f"{kinds['model']} has model levels, {kinds['pressure']} pressure levels; give all fields on one kind"
        )
    return str(next(iter(kinds)))
