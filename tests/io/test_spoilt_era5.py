"""Faults of an ERA5 file are reported in a line with the file and the variable; other units are converted."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from era5_files import attribute, changed, era5_file, values

from airshed.core.errors import DataError
from airshed.io.era5 import open_era5, read_era5


@pytest.mark.parametrize(
    ("name", "unit", "factor", "offset"),
    [
        ("u", "km h-1", 1.0 / 3.6, 0.0),
        ("u", "knots", 1852.0 / 3600.0, 0.0),
        ("q", "g kg**-1", 1e-3, 0.0),
        ("tp", "mm", 1e-3, 0.0),
        ("tp", "kg m**-2", 1e-3, 0.0),
        ("t", "degC", 1.0, 273.15),
    ],
)
def test_another_unit_of_the_same_kind_is_converted(
    tmp_path: Path, name: str, unit: str, factor: float, offset: float
) -> None:
    plain = read_era5([era5_file(tmp_path / "plain.nc")])
    pack = {"scale_factor": 1e-3, "add_offset": 7.0} if name == "t" else {}  # 280 degC is not a plausible temperature
    base = plain[name].values if name != "t" else 7.0 + 1e-3 / (1e-5 * 280.0) * (plain["t"].values - 280.0)
    found = read_era5([changed(tmp_path / "other.nc", attribute(name, units=unit, **pack))])
    assert found[name].values == pytest.approx(factor * base + offset, rel=1e-6)
    assert found[name].attrs["converted"] == f"from {unit}"
    assert found["v"].attrs["converted"] == ""


def test_units_as_the_archive_writes_them_and_none_at_all_change_no_bit(tmp_path: Path) -> None:
    plain = read_era5([era5_file(tmp_path / "plain.nc")])
    for unit in ("m/s", "m s-1", "", None):
        path = era5_file(tmp_path / "same.nc")
        same = read_era5([changed(path, lambda file, unit=unit: _set_units(file, unit))])
        assert np.array_equal(same["u"].values, plain["u"].values)
        assert same["u"].attrs["converted"] == ("" if unit else "no unit given, assumed m s-1")


def _set_units(file, unit):
    file["u"].delncattr("units") if unit is None else file["u"].setncattr("units", unit)


FAULTS = {
    "wrong kind": (attribute("q", units="K"), "variable q is in 'K'; give it in kg kg-1"),
    "unknown unit": (attribute("u", units="furlong"), "variable u is in 'furlong'"),
    "wrong unit": (
        attribute("sp", units="hPa"),
        r"variable sp is \S+ \(converted from 'hPa'\), outside 30000 to 110000 Pa",
    ),
    "text scale": (attribute("u", scale_factor="abc"), "variable u has scale_factor = 'abc', not a number"),
    "endless offset": (attribute("u", add_offset=np.inf), "variable u has add_offset = 'inf', not a number"),
    "huge scale": (attribute("u", scale_factor=1e300), r"variable u is 3e\+304|variable u is .*, outside -150 to 150"),
    "dates": (attribute("u", units="hours since 1900-01-01"), "variable u holds dates, no numbers"),
    "calendar": (attribute("time", calendar="noleap"), "in the calendar 'noleap'"),
    "unknown calendar": (attribute("time", calendar="martian"), "calendar 'martian'"),
    "no dates": (attribute("time", units="hours"), r"its times \(units 'hours'\) are no moments"),
    "far dates": (attribute("time", units="hours since 5000-01-01"), "years 1678 to 2262|unable to decode time units"),
    "time twice": (values("time", 0, 0, 1), "has the time 2022-08-31T00:00 more than once"),
    "latitude in K": (attribute("latitude", units="K"), "its latitude is in 'K'; give it in deg"),
    "level in m": (attribute("level", units="m"), "its level is in 'm'; give it in Pa"),
    "longitude twice": (values("longitude", 0.0, 1.0, 1.0), "its longitude has the value 1 more than once"),
    "latitude NaN": (values("latitude", 52.0, np.nan, 50.0), "its latitude holds nan"),
    "latitude 95": (values("latitude", 95.0, 51.0, 50.0), "its latitude holds 95, outside -90 to 90"),
    "longitude inf": (values("longitude", 0.0, 1.0, np.inf), "its longitude holds inf"),
    "level twice": (values("level", 100, 100, 137), "its level has the value 100 more than once"),
    "level 200": (values("level", 100, 120, 200), "model levels .* not among the numbers 1 to 137"),
}


@pytest.mark.parametrize(("change", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_in_a_line_with_the_file(tmp_path: Path, change, words: str) -> None:
    with pytest.raises(DataError, match=rf"bad\.nc.*{words}" if "|" not in words else words) as caught:
        read_era5([changed(tmp_path / "bad.nc", change)])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_days_and_reversed_times_are_read(tmp_path: Path) -> None:
    days = read_era5([changed(tmp_path / "days.nc", attribute("time", units="days since 2022-08-31"))])
    assert days["time"].values[-1] == np.datetime64("2022-09-02T00:00")
    back = read_era5([changed(tmp_path / "back.nc", values("time", 2, 1, 0))])
    assert np.array_equal(back["u"][0], read_era5([era5_file(tmp_path / "plain.nc")])["u"][2])


def test_hybrid_levels_are_no_pressures_and_kilopascals_are(tmp_path: Path) -> None:
    hybrid = changed(tmp_path / "hybrid.nc", attribute("level", long_name="hybrid sigma pressure", units="1"))
    assert read_era5([hybrid]).attrs["level_kind"] == "model"

    def kilopascals(file):
        file["level"][:] = 30, 85, 100
        file["level"].setncatts({"long_name": "level", "units": "kPa"})

    found = read_era5([changed(tmp_path / "kpa.nc", kilopascals)])
    assert found.attrs["level_kind"] == "pressure"
    assert list(found["level"].values) == [1e5, 85e3, 30e3]


def test_two_names_of_one_field_are_refused(tmp_path: Path) -> None:
    def twice(file):
        copy = file.createVariable("var131", "f4", file["u"].dimensions)
        copy[:] = 1.0

    with pytest.raises(DataError, match="variables u and var131 are the same field"):
        read_era5([changed(tmp_path / "two.nc", twice)])


@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_64BIT"])
def test_flipped_bits_never_end_in_a_traceback(tmp_path: Path, kind: str) -> None:
    whole, chance = era5_file(tmp_path / "whole.nc", kind).read_bytes(), random.Random(17)
    refused, path = 0, tmp_path / "flipped.nc"
    for _ in range(15):
        content = bytearray(whole)
        for _ in range(chance.choice((1, 2, 20))):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
        told = _told(path)
        refused += bool(told)
        assert not told or ("flipped.nc" in told and "\n" not in told)
    assert refused > 2, "the flips do harm"


def _told(path: Path) -> str:
    """Return the message about a file that cannot be read; "" if it can."""
    try:
        with open_era5([path]) as dataset:
            dataset.load()
    except DataError as error:
        return str(error)
    return ""
