"""Reads ERA5 files from the Climate Data Store or a GRIB converter into one Dataset with one set of names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.core.errors import DataError
from airshed.io.era5_names import (
    DIMENSIONS,
    FIELDS,
    MODEL_LEVEL_NAMES,
    NAME_OF_ALIAS,
    PASCALS_PER_UNIT,
    PRESSURE_LEVEL_NAMES,
)
from airshed.io.netcdf import load_netcdf

_ORDER = ("time", "level", "latitude", "longitude")


def read_era5(files: Sequence[Path]) -> xr.Dataset:
    """Return the fields of ERA5 files on their own levels and points.

    Any split over files is taken: one variable a file, one file for all, several periods. Model levels (numbers in
    ``level``, attribute ``level_kind`` = "model") or pressure levels ([Pa], "pressure"); dimensions in any order.

    returns  variables named as in ``era5_names.FIELDS`` on (time, level, latitude, longitude), as present; ``level``
             from the ground up, latitude and longitude rising, time UTC; each variable's attribute ``file`` says where
             it was read; the attribute ``unused`` lists what the files hold besides
    raises  DataError for a file that is missing, damaged or no netCDF; for values that are not finite or out of range;
            without u and v; for variables on different points, levels or times
    """
    if not files:
        raise DataError("no meteorological files are given; list the ERA5 netCDF files of the case")
    pieces: dict[str, list[xr.DataArray]] = {}
    unused: set[str] = set()
    for path in files:
        with_names = _read_file(Path(path), unused)
        for name, piece in with_names.items():
            pieces.setdefault(name, []).append(piece)
    fields = {name: _join_times(name, parts) for name, parts in pieces.items()}
    for name in ("u", "v"):
        if name not in fields:
            raise DataError(
                f"no variable {name} (wind) in {_listed([Path(path).name for path in files])}; "
                f"found {_listed(sorted(fields)) or 'nothing that the model uses'}"
            )
    _check_alike(fields)
    return xr.Dataset(fields, attrs={"level_kind": _level_kind(fields), "unused": sorted(unused)})


def _read_file(path: Path, unused: set[str]) -> dict[str, xr.DataArray]:
    """Return the known variables of one file in the reader's names, checked."""
    dataset = load_netcdf(path)
    fields: dict[str, xr.DataArray] = {}
    for original in dataset.data_vars:
        name = NAME_OF_ALIAS.get(str(original))
        if name is None:
            if dataset[original].ndim > 1:
                unused.add(str(original))
            continue
        field = _standard(path, str(original), dataset[original])
        if name == "z" and "level" not in field.dims:
            name = "zs"
        _check_values(path, str(original), "z" if name == "zs" else name, field)
        field.attrs = {"file": path.name, "level_kind": field.attrs.get("level_kind", "")}
        fields[name] = field.rename(name)
    return fields


def _standard(path: Path, original: str, field: xr.DataArray) -> xr.DataArray:
    """Return the field with standard dimensions and rising coordinates, the level nearest the ground first."""
    if "expver" in field.dims:
        # ERA5 and the preliminary ERA5T lie side by side, each with NaN where the other has values
        first = field.isel(expver=0, drop=True)
        for index in range(1, field.sizes["expver"]):
            first = first.fillna(field.isel(expver=index, drop=True))
        field = first
    single = [dim for dim in field.dims if str(dim) not in DIMENSIONS and field.sizes[dim] == 1]
    field = field.isel(dict.fromkeys(single, 0), drop=True)
    unknown = [str(dim) for dim in field.dims if str(dim) not in DIMENSIONS]
    if unknown:
        raise DataError(f"{path}: variable {original} has the dimension {unknown[0]!r}, unknown in ERA5; take it out")
    kind, level = _level_coordinate(path, original, field)
    coordinates: dict[str, NDArray[Any]] = {}
    names = {dim: DIMENSIONS[str(dim)] for dim in field.dims}
    for dim, name in names.items():
        if dim not in field.coords:
            raise DataError(f"{path}: variable {original} has no values for its {dim}; export the file with them")
        coordinates[name] = np.asarray(field[dim].values)
    if kind:
        coordinates["level"] = level
    for name in ("latitude", "longitude"):
        if name not in coordinates:
            raise DataError(f"{path}: variable {original} has no {name}; export it on a longitude-latitude grid")
        coordinates[name] = np.round(coordinates[name].astype(np.float64), 6)
    plain = xr.DataArray(field.values, coordinates, dims=tuple(names.values()), attrs={"level_kind": kind})
    plain = plain.transpose(*[name for name in _ORDER if name in plain.dims])
    if "level" in plain.dims and original in FIELDS["lnsp"].aliases:
        plain = plain.isel(level=0, drop=True)
    for dim in plain.dims:
        if not _in_order(plain[dim].values, rising=dim != "level"):  # xarray copies all values even where nothing moves
            plain = plain.sortby(dim, ascending=dim != "level")
    return plain


def _in_order(values: NDArray[Any], *, rising: bool) -> bool:
    """Tell whether a coordinate rises, or falls, from each value to the next."""
    first, second = (values[:-1], values[1:]) if rising else (values[1:], values[:-1])
    return bool(np.all(first < second))


def _level_coordinate(path: Path, original: str, field: xr.DataArray) -> tuple[str, NDArray[Any]]:
    """Return ("model", level numbers), ("pressure", pascals) or ("", nothing)."""
    dims = [dim for dim in field.dims if DIMENSIONS[str(dim)] == "level"]
    if not dims or dims[0] not in field.coords:
        return "", np.empty(0)
    name, coordinate = str(dims[0]), field[dims[0]]
    values = np.asarray(coordinate.values, dtype=np.float64)
    unit = str(coordinate.attrs.get("units", "")).strip().lower()
    described = str(coordinate.attrs.get("long_name", "")) + str(coordinate.attrs.get("standard_name", ""))
    is_pressure = unit in PASCALS_PER_UNIT or name in PRESSURE_LEVEL_NAMES or "pressure" in described
    is_model = name in MODEL_LEVEL_NAMES or "model" in described or "hybrid" in described
    if not is_pressure and (is_model or values.max() <= 137.0):
        return "model", np.round(values).astype(np.int64)
    pascals = values * PASCALS_PER_UNIT.get(unit, 100.0)
    if pascals.min() <= 0.0 or pascals.max() > 110e3:
        raise DataError(
            f"{path}: the levels of {original} ({values.min():g} to {values.max():g} {unit}) are no pressures; "
            "name their unit in the file, Pa or hPa"
        )
    return "pressure", pascals


def _check_values(path: Path, original: str, name: str, field: xr.DataArray) -> None:
    """Raise DataError at the first value that is not finite or out of range."""
    values = field.values
    low, high = FIELDS[name].low, FIELDS[name].high
    if values.size == 0:
        raise DataError(f"{path}: variable {original} holds no values; the download is incomplete")
    if low <= values.min() and values.max() <= high:  # false where a value is NaN
        return
    wrong = ~((values >= low) & (values <= high))
    place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    where = ", ".join(f"{dim} {_text(field[dim].values[index])}" for dim, index in zip(field.dims, place, strict=True))
    value = values[place]
    fault = f"is {value:g}, outside {low:g} to {high:g}" if np.isfinite(value) else "is missing (NaN)"
    raise DataError(f"{path}: variable {original} {fault} at {where} ({int(wrong.sum())} values); replace the file")


def _text(value: Any) -> str:
    """Return a coordinate's value as a person writes it."""
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[m]"))
    return f"{float(value):g}"


def _join_times(name: str, parts: list[xr.DataArray]) -> xr.DataArray:
    """Return the parts of a variable as one, in time order; of an instant that comes twice the first is kept."""
    joined = parts[0]
    if len(parts) > 1 and "time" in joined.dims:
        _check_points(name, parts)
        sources = sorted({part.attrs["file"] for part in parts})
        joined = xr.concat(parts, dim="time", coords="minimal", compat="override", join="exact")
        joined.attrs.update(parts[0].attrs, file=", ".join(sources))
        joined = joined.sortby("time")
    if "time" in joined.dims:
        joined = joined.isel(time=np.unique(joined["time"].values, return_index=True)[1])
    return joined


def _check_points(name: str, parts: list[xr.DataArray]) -> None:
    """Raise DataError unless all parts of a variable have the same points and levels."""
    for part in parts[1:]:
        for dim in ("level", "latitude", "longitude"):
            if not np.array_equal(part.coords.get(dim, 0), parts[0].coords.get(dim, 0)):
                other = parts[0].attrs["file"]
                raise DataError(f"{part.attrs['file']}: {name} has another {dim} than {other}; give files of one area")


def _check_alike(fields: dict[str, xr.DataArray]) -> None:
    """Raise DataError unless all variables have the points, levels and times of the wind."""
    wind = fields["u"]
    for dim in _ORDER:
        if dim not in wind.dims:
            raise DataError(f"{wind.attrs['file']}: the wind u has no {dim}; the model needs it on {_listed(_ORDER)}")
    for name, field in fields.items():
        for dim in _ORDER:
            if dim not in field.dims:
                continue
            missing = np.setdiff1d(wind[dim].values, field[dim].values)
            if missing.size:
                raise DataError(
                    f"{field.attrs['file']}: {name} has no data for {dim} {_text(missing[0])}, where the wind u of "
                    f"{wind.attrs['file']} has; give both on the same points and times"
                )
            if field.sizes[dim] > wind.sizes[dim]:
                field = field.sel({dim: wind[dim].values})
        fields[name] = field


def _level_kind(fields: dict[str, xr.DataArray]) -> str:
    """Return the kind of levels, and raise DataError where two kinds are mixed."""
    kinds = {field.attrs["level_kind"]: field.attrs["file"] for field in fields.values() if field.attrs["level_kind"]}
    if len(kinds) > 1:
        raise DataError(
            f"{kinds['model']} has model levels, {kinds['pressure']} pressure levels; give all fields on one kind"
        )
    return str(next(iter(kinds)))


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence."""
    return ", ".join(map(str, names))
