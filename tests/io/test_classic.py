"""Headers of CDF-2 and CDF-5 files agree with the netCDF library."""

import io
import shutil
import subprocess

import netCDF4
import numpy as np
import pytest
import scipy.io
import xarray as xr

from airshed.io.cf import Description, Variable
from airshed.io.classic import ClassicFormat, count_in, is_wide, required_bytes

AXIS = np.array([45.25, 45.75, 46.25])


@pytest.fixture(params=[False, True], ids=["CDF-2", "CDF-5"])
def file(tmp_path, request):
    """Yield a file of two records of zeros, opened by the library."""
    ozone = Variable("O3", "f4", ("time", "lat"), {"units": "mol mol-1", "molar_mass": 0.047997, "formula": "O₃"})
    time = Variable("time", "f8", ("time",), {"units": "s"})
    lat = Variable("lat", "f8", ("lat",), {}, AXIS)
    layout = ClassicFormat(Description({"time": None, "lat": 3}, (time, lat, ozone), {"title": "Düsseldorf"}),
                           wide=request.param)  # fmt: skip
    path = tmp_path / "output.nc"
    path.write_bytes(layout.start(2) + bytes(2 * layout.record))
    assert count_in(path.read_bytes()) == 2
    assert is_wide(path.read_bytes()) == request.param
    with netCDF4.Dataset(path) as opened:
        yield opened


def test_numbers_and_texts_come_back(file):
    assert {name: file["O3"].getncattr(name) for name in file["O3"].ncattrs()} == {
        "units": "mol mol-1",
        "molar_mass": 0.047997,
        "formula": "O₃",
    }
    assert file.title == "Düsseldorf"
    assert file.data_model in ("NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA")


def test_coordinates_and_records_are_where_they_belong(file):
    assert np.array_equal(file["lat"][:], AXIS)
    assert file["O3"].shape == (2, 3)
    assert not np.any(file["O3"][:])


@pytest.mark.parametrize("records", [0, 1, 3])
@pytest.mark.parametrize("names", ["b", "bf", "bfd"])
@pytest.mark.parametrize("kind", ["NETCDF3_64BIT_DATA", "NETCDF3_64BIT_OFFSET", "NETCDF3_CLASSIC"])
def test_the_size_that_a_file_needs_is_that_of_the_library(tmp_path, records, names, kind):
    path = tmp_path / "library.nc"
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        file.setncatts({"title": "Düsseldorf", "numbers": np.arange(3, dtype="i2")})
        file.createVariable("fixed", "i2", ("x",))[:] = 1
        for name in names:
            file.createVariable(name, {"b": "i1", "f": "f4", "d": "f8"}[name], ("time", "x")).setncattr("scale", 1.5)
            file[name][:records] = np.ones((records, 3))
    size = path.stat().st_size
    with path.open("rb") as file:
        assert size - 4 < required_bytes(file) <= size  # the library may pad the last value


def test_a_header_that_is_cut_or_of_another_format_is_told(tmp_path):
    layout = ClassicFormat(
        Description({"time": None, "lat": 3}, (Variable("lat", "f8", ("lat",), {}, AXIS),), {"title": "T"})
    )
    whole = layout.start(0)
    assert required_bytes(io.BytesIO(whole)) <= len(whole)
    assert required_bytes(io.BytesIO(b"CDF\x03" + whole[4:])) is None
    for length in range(4, 100):
        with pytest.raises(ValueError, match="truncated"):
            required_bytes(io.BytesIO(whole[:length]))


def test_any_damage_to_a_header_is_passed_over_or_told():
    layout = ClassicFormat(
        Description({"time": None, "lat": 3}, (Variable("lat", "f8", ("lat",), {}, AXIS),), {"title": "T"})
    )
    whole, told = layout.start(0)[:200], set()
    for place in range(32, 8 * len(whole)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        try:
            required_bytes(io.BytesIO(damaged))
        except ValueError as error:
            told.add(str(error).split()[0])
    assert told == {"a", "no", "the"}


def test_a_variable_of_two_gigabytes_needs_cdf_5():
    for size, wide in ((2**29 - 1, False), (2**29, True)):
        large = Variable("O3", "f4", ("time", "x"), {})
        assert ClassicFormat(Description({"time": None, "x": size}, (large,), {})).wide == wide


def test_other_readers_open_what_fits(tmp_path):
    """SciPy reads CDF-2 alone, GDAL of Debian 12 no CDF-5."""
    layout = ClassicFormat(Description({"time": None, "lat": 3}, (
        Variable("time", "f8", ("time",), {"units": "s"}), Variable("lat", "f8", ("lat",), {}, AXIS),
        Variable("O3", "f4", ("time", "lat"), {"units": "mol mol-1"}),
    ), {"title": "Düsseldorf"}))  # fmt: skip
    record = np.array([60.0], ">f8").tobytes() + np.array([1.0, 2.0, 3.0], ">f4").tobytes()
    (tmp_path / "output.nc").write_bytes(layout.start(1) + record)
    with scipy.io.netcdf_file(tmp_path / "output.nc", mmap=False) as found:
        assert found.variables["O3"][0].tolist() == [1.0, 2.0, 3.0]
        assert found.variables["lat"][:].tolist() == AXIS.tolist()
    for engine in ("scipy", "netcdf4"):
        with xr.open_dataset(tmp_path / "output.nc", engine=engine, decode_times=False) as found:
            assert (found.O3.values.tolist(), found.time.values.tolist()) == ([[1.0, 2.0, 3.0]], [60.0])
    if shutil.which("gdalinfo"):
        told = subprocess.run(["gdalinfo", f"NETCDF:{tmp_path / 'output.nc'}"], capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
