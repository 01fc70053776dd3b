"""Files of station weather are read, and errors name the line."""

import gzip

import numpy as np
import pytest

from airshed.core.errors import DataError
from airshed.models.pasture.weather.met import read_met

SILO = """[weather.met.weather]
!station number = 043091
!station name =  SOMEWHERE (POST OFFICE)
latitude = -26.5477  (DECIMAL DEGREES)
longitude =  148.7710  (DECIMAL DEGREES)
tav = 20.53 (oC) ! Annual average ambient temperature
!
year  day radn  maxt   mint  rain  evap    vp   code
 ()   () (MJ/m^2) (oC)  (oC)  (mm)  (mm) (hPa)     ()
2019 365   30.6  40.1  23.4   0.0  11.3  19.3 400020
2020   1   30.1  39.6  23.1   2.5  11.2  20.8 400020
2020   2   28.0  38.0  22.0   0.0  10.0  21.0 400020
"""
SITE = """!title = North 1944-1993
[weather.met.weather]
latitude        =       -18.7   (deg)
site   year day radn  MaxT   MinT   Rain  wcode
 ()    ()   () (MJ/m^2) (oC) (oC)    (mm)   ()
North 1944  60 13.87 29.18  26.01  29.2  wwwG
"""


def read(folder, text, **options):
    path = folder / "station.met"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_met(path, **options)


def test_a_silo_file_is_read(tmp_path):
    station = read(tmp_path, SILO)
    assert (station.name, station.latitude, station.longitude) == ("SOMEWHERE (POST OFFICE)", -26.5477, 148.771)
    assert station.dates.astype(str).tolist() == ["2019-12-31", "2020-01-01", "2020-01-02"]
    assert station["rain"].tolist() == [0.0, 2.5, 0.0]
    assert station["pan_evaporation"].tolist() == [11.3, 11.2, 10.0]
    assert station["vapour_pressure"].tolist() == [19.3, 20.8, 21.0]
    assert {name: each.unit for name, each in station.columns.items()}["radiation"] == "MJ m-2"
    assert station.notes == ()


def test_site_column_capital_letters_and_missing_longitude_are_accepted(tmp_path):
    station = read(tmp_path, SITE)
    assert (station.name, station.latitude, station.longitude) == ("North 1944-1993", -18.7, None)
    assert station.dates.astype(str).tolist() == ["1944-02-29"]
    assert set(station) == {"radiation", "max_temperature", "min_temperature", "rain"}
    assert station.at(longitude=146.2).longitude == 146.2


@pytest.mark.parametrize("label", ["pan", "evap", "EVAP"])
def test_pan_evaporation_has_two_names(tmp_path, label):
    assert read(tmp_path, SILO.replace("evap", label, 2))["pan_evaporation"][0] == 11.3


@pytest.mark.parametrize(
    "encoded",
    [
        SILO.encode("utf-8-sig"),
        SILO.replace("SOMEWHERE", "SÃO").encode("latin-1"),
        SILO.encode("utf-16"),
        SILO.replace("\n", "\r\n").encode() + b"\x1a",
        gzip.compress(SILO.encode()),
    ],
    ids=["utf-8 with mark", "latin-1", "utf-16", "DOS", "gzip"],
)
def test_any_usual_encoding_is_read(tmp_path, encoded):
    assert read(tmp_path, encoded)["max_temperature"].tolist() == [40.1, 39.6, 38.0]


def test_units_are_converted(tmp_path):
    station = read(tmp_path, SILO.replace("(mm)  (mm) (hPa)", "(cm)  (mm) (kPa)"))
    assert station["rain"][1] == 25.0
    assert station["vapour_pressure"][0] == pytest.approx(193.0, rel=1e-15)


def test_decimal_degrees_labelled_as_minutes_are_decimal_with_a_note(tmp_path):
    station = read(tmp_path, SILO.replace("-26.5477  (DECIMAL DEGREES)", "-25.70 (deg.min)"))
    assert station.latitude == -25.7
    assert "70 minutes do not exist" in station.notes[0]
    unclear = read(tmp_path, SILO.replace("-26.5477  (DECIMAL DEGREES)", "-25.30 (DEG.MIN)"))
    assert unclear.latitude == -25.3
    assert "in minutes it would be latitude -25.5000" in unclear.notes[0]


def test_humidity_is_the_declared_one(tmp_path):
    labelled = SILO.replace("  vp ", " vpd ")
    assert "vapour_pressure_deficit" in read(tmp_path, labelled)
    declared = read(tmp_path, labelled, humidity="vapour_pressure")
    assert "vapour_pressure_deficit" not in declared
    assert declared["vapour_pressure"].tolist() == [19.3, 20.8, 21.0]
    assert not {"vapour_pressure", "vapour_pressure_deficit"} & set(read(tmp_path, SILO, humidity="none"))
    with pytest.raises(DataError, match="has no humidity column"):
        read(tmp_path, SITE, humidity="vapour_pressure")


def test_a_missing_value_is_nan(tmp_path):
    assert np.isnan(read(tmp_path, SILO.replace("2.5  11.2", "  ?  11.2"))["rain"]).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ("2020   2   28.0", "2020   2   abc", r'line 12, has "abc" for radn, which is not a number'),
        ("2020   2   28.0", "2020   2   ", "line 12, has 8 values for the 9 columns of line 8"),
        ("2019 365", "2019 366", "line 10, has day 366 of year 2019, which does not exist"),
        ("2020   1", "2020   0", "line 11, has day 0 of year 2020"),
        ("year  day", "jahr  tag", "no line has the columns year and day"),
        ("  vp ", " pan ", "two columns of pan_evaporation"),
        ("(MJ/m^2)", "(parsec)", "its radn is in 'parsec'"),
        ("-26.5477", "-126.5", "latitude is -126.5, which is out of range"),
        ("-26.5477", "south", 'latitude is "south'),
        (SILO[SILO.index("2019 365") :], "", "has no day of weather after line 8"),
    ],
)
def test_unreadable_files_are_refused_with_the_line(tmp_path, wrong, right, message):
    assert wrong in SILO
    with pytest.raises(DataError, match=message):
        read(tmp_path, SILO.replace(wrong, right))


def test_days_between_two_dates(tmp_path):
    part = read(tmp_path, SILO).between("2020-01-01", "2020-12-31")
    assert part.days == 2
    assert part["rain"].tolist() == [2.5, 0.0]


def test_a_missing_column_is_reported_with_the_columns_of_the_file(tmp_path):
    with pytest.raises(DataError, match="has no vapour_pressure"):
        read(tmp_path, SITE)["vapour_pressure"]
