"""Tables with a column for each pollutant: openair's, Ostluft's, and those whose convention is to be given.

The rows of Ostluft are of rOstluft.data (CC0 1.0).
"""

from pathlib import Path

import pytest

from airshed.core.errors import DataError
from airshed.observations.time_convention import TimeConvention

from .files import read

OPENAIR = "site,code,date,no2,co,ws\nHere,my1,2022-08-31 00:00:00,46,0.3,2\nHere,my1,2022-08-31 01:00:00,NA,0.2,3\n"
OSTLUFT = (
    '"Zeit";"Opf_Balsberg";"StG_Stuelegg";"Opf_Balsberg"\n'
    ';"NOx";"NOx";"NO2"\n;"NOx";"NOx";"NO2"\n;"min30";"min30";"min30"\n;"ppb";"ppb";"ppb"\n'
    ';"Alle";"Alle";"Alle"\n;"Final";"Final";"Final"\n'
    "01.07.2020 00:30:00;21.5;;16.1\n01.07.2020 01:00:00;26.1;1.9;16.6\n"
)


def test_openair_labels_the_start_in_gmt(tmp_path: Path) -> None:
    found = read(tmp_path, OPENAIR)
    assert found.rows == [("my1", "NO2", 0.0, 1.0, 46.0), ("my1", "CO", 0.0, 1.0, 0.3), ("my1", "CO", 1.0, 2.0, 0.2)]
    assert found.observations.unit.tolist() == ["ug/m3", "mg/m3", "mg/m3"]
    assert (found.summary.layout, found.summary.convention) == ("openair", TimeConvention("UTC", "start"))


def test_dates_of_openair_are_days_in_gmt(tmp_path: Path) -> None:
    text = "site,code,date,nox\nHere,my1,2022-08-31,12\n"
    assert read(tmp_path, text).rows == [("my1", "NOx", 0.0, 24.0, 12.0)]
    midnight = OPENAIR.replace("2022-08-31 00:00:00", "2022-08-31")  # as R writes it
    assert read(tmp_path, midnight).hours[0] == (0.0, 1.0)


def test_openair_may_have_semicolons_and_a_column_of_numbers(tmp_path: Path) -> None:
    text = '"";"date";"site";"no2"\n"1";2022-08-31 00:00:00;"my1";46,5\n"2";2022-08-31 01:00:00;"my1";NA\n'
    assert read(tmp_path, text).rows == [("my1", "NO2", 0.0, 1.0, 46.5)]
    assert read(tmp_path, text.removeprefix('"";')).rows == [("my1", "NO2", 0.0, 1.0, 46.5)]


def test_a_given_period_overrides_the_distance_of_times(tmp_path: Path) -> None:
    text = "site,date,no2\nmy1,2022-08-31 00:00,46\nmy1,2022-08-31 00:15,47\n"
    assert read(tmp_path, text).hours == [(0.0, 0.25), (0.25, 0.5)]
    assert read(tmp_path, text, averaging=3600.0).hours == [(0.0, 1.0), (0.25, 1.25)]
    ostluft = read(tmp_path, OSTLUFT, "2020-06-30", 2.0, averaging=3600.0)
    assert ostluft.hours[0] == (23.5, 24.0)  # the interval in the file is min30


def test_ostluft_labels_the_start_in_standard_time_all_year(tmp_path: Path) -> None:
    found = read(tmp_path, OSTLUFT.encode("latin-1"), "2020-06-30", 2.0)
    assert found.rows == [
        ("Opf_Balsberg", "NOx", 23.5, 24.0, 21.5), ("Opf_Balsberg", "NO2", 23.5, 24.0, 16.1),
        ("Opf_Balsberg", "NOx", 24.0, 24.5, 26.1), ("StG_Stuelegg", "NOx", 24.0, 24.5, 1.9),
        ("Opf_Balsberg", "NO2", 24.0, 24.5, 16.6),
    ]  # fmt: skip
    assert found.rejected == {"no value": 1}
    assert found.observations.unit.tolist() == ["ppb"] * 5


def test_a_wide_table_of_no_network_needs_a_convention(tmp_path: Path) -> None:
    text = "Datum;NO2 (µg/m³)\n31.08.2022 00:00;23,5\n31.08.2022 01:00;20\n"
    with pytest.raises(DataError, match=r'zone of its times.*time = . zone = "Europe/Berlin", label = "end" .'):
        read(tmp_path, text, name="my1.csv")
    found = read(tmp_path, text, name="my1.csv", time=TimeConvention("Europe/Berlin", "start"), days=2.0)
    assert found.rejected == {"outside the window": 2}
    found = read(tmp_path, text, "2022-08-30", name="my1.csv", time=TimeConvention("+02:00", "start"), days=2.0)
    assert found.rows == [("my1", "NO2", 22.0, 23.0, 23.5), ("my1", "NO2", 23.0, 24.0, 20.0)]


def test_a_day_in_civil_time_has_23_hours_where_clocks_go_forward(tmp_path: Path) -> None:
    text = "station,date,NO2 ug/m3\nmy1,2022-03-27,5\nmy1,2022-10-30,6\n"
    found = read(tmp_path, text, "2022-03-26", 300.0, time=TimeConvention("Europe/Berlin", "end"))
    assert [end - begin for begin, end in found.hours] == [23.0, 25.0]
    assert found.hours[0] == (23.0, 46.0)
