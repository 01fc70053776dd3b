"""Headers of CDF-5 files say to the netCDF library what was meant."""

import io

import netCDF4
import numpy as np
import pytest

from airshed.io.cdf5 import Cdf5, count_in, needed
from airshed.io.cf import Description, Variable

AXIS = np.array([45.25, 45.75, 46.25])


@pytest.fixture
def file(tmp_path):
    """Yield a file of no records, opened by the library."""
    ozone = Variable("O3", "f4", ("time", "lat"), {"units": "mol mol-1", "molar_mass": 0.047997, "formula": "O₃"})
    time = Variable("time", "f8", ("time",), {"units": "s"})
    lat = Variable("lat", "f8", ("lat",), {}, AXIS)
    layout = Cdf5(Description({"time": None, "lat": 3}, (time, lat, ozone), {"title": "Düsseldorf"}))
    path = tmp_path / "output.nc"
    path.write_bytes(layout.start(2) + bytes(2 * layout.record))
    assert count_in(path.read_bytes()) == 2
    with netCDF4.Dataset(path) as opened:
        yield opened


def test_numbers_and_texts_come_back(file):
    assert {name: file["O3"].getncattr(name) for name in file["O3"].ncattrs()} == {
        "units": "mol mol-1",
        "molar_mass": 0.047997,
        "formula": "O₃",
    }
    assert file.title == "Düsseldorf"
    assert file.data_model == "NETCDF3_64BIT_DATA"


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
        assert size - 4 < needed(file) <= size  # the library may fill up the last value


def test_a_header_that_is_cut_or_of_another_format_is_told(tmp_path):
    layout = Cdf5(Description({"time": None, "lat": 3}, (Variable("lat", "f8", ("lat",), {}, AXIS),), {"title": "T"}))
    whole = layout.start(0)
    assert needed(io.BytesIO(whole)) <= len(whole)
    assert needed(io.BytesIO(b"CDF\x03" + whole[4:])) is None
    for length in range(4, 150):
        with pytest.raises(ValueError, match="cut"):
            needed(io.BytesIO(whole[:length]))


def test_any_damage_to_a_header_is_passed_over_or_told():
    layout = Cdf5(Description({"time": None, "lat": 3}, (Variable("lat", "f8", ("lat",), {}, AXIS),), {"title": "T"}))
    whole, told = layout.start(0)[:200], set()
    for place in range(32, 8 * len(whole)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        try:
            needed(io.BytesIO(damaged))
        except ValueError as error:
            told.add(str(error).split()[0])
    assert told == {"a", "no", "the"}
