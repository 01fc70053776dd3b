"""Values read without xarray's layers equal those of xarray, bit by bit."""

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from airshed.io.era5_fields import PackedVariable, value_reader
from airshed.io.netcdf import open_netcdf

SHAPE = (3, 4, 5)
KEYS = [
    (slice(0, 3), slice(0, 4), slice(0, 5)),
    (1, slice(1, 3), slice(2, 3)),
    (slice(2, 3), slice(0, 4), 0),
]
CLASSIC = {"i1", "i2", "i4", "f4", "f8"}


@some.composite
def packings(draw: some.DrawFn) -> tuple[str, str, dict[str, Any], bool]:
    """Return a file format, a number type, attributes, and whether the byte order is reversed."""
    kind = draw(some.sampled_from(sorted({*CLASSIC, "u1", "u2", "u4", "i8"})))
    file_format = draw(
        some.sampled_from(["NETCDF4", *(["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET"] * (kind in CLASSIC))])
    )
    attributes: dict[str, Any] = {}
    for mark in draw(some.sets(some.sampled_from(["_FillValue", "missing_value"]))):
        marks = [0, 7, 100] if kind[0] in "iu" else [0.0, 7.0, np.nan]
        attributes[mark] = np.dtype(kind).type(draw(some.sampled_from(marks)))
    types = [np.float32, np.float64, *([np.int16] * (kind[0] in "iu"))]
    for name, value in (("scale_factor", 3.7), ("add_offset", 281.3)):
        if draw(some.booleans()):
            attributes[name] = draw(some.sampled_from(types))(value)
    return file_format, kind, attributes, file_format == "NETCDF4" and draw(some.booleans())


def write(path: Path, file_format: str, kind: str, attributes: dict[str, Any], turned: bool = False) -> Path:
    """Write a variable of numbers, some of which are marks, unchanged."""
    random = np.random.default_rng(5)
    numbers = random.integers(0, 120, SHAPE).astype(kind)
    numbers.flat[::6], numbers.flat[1::6] = 7, 100
    if kind[0] == "f":
        numbers.flat[2::6] = np.nan
    with netCDF4.Dataset(path, "w", format=file_format) as file:
        for name, size in zip("abc", SHAPE, strict=True):
            file.createDimension(name, size)
        fill, order, endian = attributes.get("_FillValue"), *((">", "big") if turned else ("=", "native"))
        stored = np.dtype(kind).newbyteorder(order)
        variable = file.createVariable("u", stored, tuple("abc"), fill_value=fill, endian=endian)
        variable.set_auto_maskandscale(False)
        variable.setncatts({name: value for name, value in attributes.items() if name != "_FillValue"})
        variable[:] = numbers
    return path


def same(values: np.ndarray, expected: np.ndarray) -> bool:
    return values.dtype == expected.dtype and values.shape == expected.shape and values.tobytes() == expected.tobytes()


@given(packing=packings())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_values_are_xarray_s(tmp_path: Path, packing: tuple[str, str, dict[str, Any], bool]) -> None:
    path = write(tmp_path / "a.nc", *packing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", xr.SerializationWarning)  # two marks in one variable
        opened = open_netcdf(path)
    with opened:
        field = opened["u"].variable
        read = value_reader(field)
        assert isinstance(read, PackedVariable)
        for key in KEYS:
            assert same(read(key), field[key].values)


@pytest.mark.parametrize("change", [{"fills": ()}, {"scale": None}, {"offset": None}, {"dtype": np.dtype(np.float32)}])
def test_each_part_of_the_packing_matters(tmp_path: Path, change: dict[str, Any]) -> None:
    attributes = {"_FillValue": np.int16(7), "scale_factor": 3.7e-3, "add_offset": 281.3}
    with open_netcdf(write(tmp_path / "a.nc", "NETCDF4", "i2", attributes)) as opened:
        field = opened["u"].variable
        read = value_reader(field)
        assert isinstance(read, PackedVariable)
        assert same(read(KEYS[0]), field.values)
        assert not same(dataclasses.replace(read, **change)(KEYS[0]), field.values)


def test_what_is_not_plain_numbers_is_left_to_xarray(tmp_path: Path) -> None:
    attributes = {"_FillValue": np.int8(-1), "_Unsigned": "true", "scale_factor": 0.5}
    with open_netcdf(write(tmp_path / "unsigned.nc", "NETCDF3_CLASSIC", "i1", attributes)) as opened:
        read = value_reader(opened["u"].variable)
        assert not isinstance(read, PackedVariable)
        assert same(read(KEYS[1]), opened["u"].variable[KEYS[1]].values)
    in_memory = xr.Variable(tuple("abc"), np.arange(60.0).reshape(SHAPE))
    assert same(value_reader(in_memory)(KEYS[2]), in_memory[KEYS[2]].values)


def test_who_reads_may_change_what_it_got(tmp_path: Path) -> None:
    with open_netcdf(write(tmp_path / "a.nc", "NETCDF4", "f8", {})) as opened:
        read = value_reader(opened["u"].variable)
        first = read(KEYS[0])
        first[:] = 0.0
        assert same(read(KEYS[0]), opened["u"].values)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4"])
def test_whole_numbers_with_a_mark_and_a_whole_scale_factor_are_read(tmp_path: Path, kind: str) -> None:
    """xarray converts them to integers, which have no NaN."""
    with netCDF4.Dataset(tmp_path / "whole.nc", "w") as file:
        file.createDimension("x", 4)
        variable = file.createVariable("a", kind, ("x",), fill_value=-99)
        variable.set_auto_maskandscale(False)
        variable.setncatts({"scale_factor": np.int16(10), "add_offset": np.int32(3)})
        variable[:] = np.array([1, -99, 0, 12], kind)
    with open_netcdf(tmp_path / "whole.nc") as found:
        assert found["a"].values.tolist() == pytest.approx([13.0, np.nan, 3.0, 123.0], nan_ok=True)
        assert value_reader(found["a"].variable)((slice(None),)).tolist() == pytest.approx(
            [13.0, np.nan, 3.0, 123.0], nan_ok=True
        )
