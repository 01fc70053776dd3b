"""Headers of CDF-5 files say to the netCDF library what was meant."""

import netCDF4
import numpy as np
import pytest

from airshed.io.cdf5 import Cdf5, count_in
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
