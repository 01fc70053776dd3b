"""The layout of the UBA: the label is the end of the hour in local civil time.

The rows are those of station DENW095, data of Umweltbundesamt and LANUV NRW (Data licence Germany - Zero - 2.0).
"""

from pathlib import Path

import pytest

from airshed.core.errors import DataError
from airshed.observations.time_convention import TimeConvention

from .files import read

HEAD = (
    '\ufeff"Station code";Date;"Particulate matter (PM₁₀) Daily average (hourly floating) in µg/m³";'
    '"Ozone (O₃) One hour average in µg/m³";"Nitrogen dioxide (NO₂) One hour average in µg/m³";"Air quality index"\n'
)


def row(label: str, ozone: str, no2: str = "-") -> str:
    return f"DENW095;\"'{label}'\";-;{ozone};{no2};good\n"


@pytest.mark.parametrize(
    ("day", "label", "hour"),
    [
        ("2022-08-31", "2022-08-31 19:00", 16.0),
        ("2020-01-01", "2020-01-01 19:00", 17.0),
        ("2022-08-31", "2022-08-31 24:00", 21.0),
        ("2020-02-29", "2020-02-29 24:00", 22.0),
        ("2022-03-27", "2022-03-27 02:00", 0.0),
        ("2022-03-27", "2022-03-27 04:00", 1.0),
    ],
)
def test_a_label_is_the_end_of_the_hour_in_civil_time(tmp_path: Path, day: str, label: str, hour: float) -> None:
    found = read(tmp_path, HEAD + row(label, "89"), day)
    assert found.hours == [(hour, hour + 1.0)]
    assert (found.summary.convention.zone, found.summary.convention.label) == ("Europe/Berlin", "end")


def test_a_convention_of_the_user_has_precedence(tmp_path: Path) -> None:
    found = read(tmp_path, HEAD + row("2022-08-31 19:00", "89"), time=TimeConvention("UTC+01:00", "start"))
    assert found.hours == [(18.0, 19.0)]
    assert found.summary.known == "given"


def test_the_hour_that_clocks_skip_is_rejected(tmp_path: Path) -> None:
    text = HEAD + row("2022-03-27 02:00", "44") + row("2022-03-27 03:00", "1") + row("2022-03-27 04:00", "52")
    found = read(tmp_path, text, "2022-03-27")
    assert found.hours == [(0.0, 1.0), (1.0, 2.0)]
    assert found.rejected["02:00 does not exist on that day in Europe/Berlin: clocks go forward"] == 3


def test_the_hour_that_clocks_repeat_goes_by_the_order_of_rows(tmp_path: Path) -> None:
    rows = [row("2022-10-30 02:00", "7"), row("2022-10-30 03:00", "5"), row("2022-10-30 03:00", "3"),
            row("2022-10-30 04:00", "2")]  # fmt: skip
    expected = [(23.0, 7.0), (24.0, 5.0), (25.0, 3.0), (26.0, 2.0)]
    for text in (rows, rows[::-1]):
        found = read(tmp_path, HEAD + "".join(text), "2022-10-29", 2.0)
        assert sorted((each[2], each[4]) for each in found.rows) == expected


def test_the_hour_that_clocks_repeat_is_rejected_where_the_file_has_it_once(tmp_path: Path) -> None:
    text = HEAD + row("2022-10-30 02:00", "7") + row("2022-10-30 03:00", "5")
    found = read(tmp_path, text, "2022-10-29", 2.0)
    assert [each[4] for each in found.rows] == [7.0]
    assert (
        found.rejected["the hour occurs twice in Europe/Berlin at the end of summer time, the file has it 1 times"] == 3
    )


def test_missing_values_and_cut_rows_are_counted(tmp_path: Path) -> None:
    text = HEAD + row("2022-08-31 19:00", "89", "4") + row("2022-08-31 20:00", "-") + "DENW095\n"
    text += "DENW095;\"'2022-08-31 21:00'\";-;-;-;;\n"
    found = read(tmp_path, text)
    assert [each[1] for each in found.rows] == ["O3", "NO2"]
    assert found.rejected["no value"] >= 4
    assert found.rejected["1 cells, but 6 columns"] == 1


def test_floating_daily_means_are_means_over_a_day(tmp_path: Path) -> None:
    text = HEAD + "DENW095;\"'2022-08-31 24:00'\";20;-;-;good\n"
    found = read(tmp_path, text, "2022-08-30", 2.0)
    assert [each[1:] for each in found.rows] == [("PM10", 22.0, 46.0, 20.0)]


def test_the_shortest_of_several_means_counts(tmp_path: Path) -> None:
    text = HEAD.split(';"Air')[0] + ';"Ozone (O₃) Eight hour average in µg/m³"\nDENW095;2022-08-31 19:00;-;89;-;60\n'
    assert [row[1:] for row in read(tmp_path, text).rows] == [("O3", 16.0, 17.0, 89.0)]


def test_a_row_for_each_value_is_read(tmp_path: Path) -> None:
    text = "Stationscode;Datum;Uhrzeit;Komponente;Messwert\nDENW095;31.08.2022;'24:00';Stickstoffdioxid;23,5\n"
    assert read(tmp_path, text).rows == [("DENW095", "NO2", 21.0, 22.0, 23.5)]


def test_the_german_download_is_read(tmp_path: Path) -> None:
    text = (
        "Datum;Uhrzeit;Ozon (O₃) Ein-Stunden-Mittelwert in µg/m³;"
        "Stickstoffdioxid (NO₂) Ein-Stunden-Mittelwert in µg/m³\n"
        "31.08.2022;24:00;23,5;-\n"
    )
    found = read(tmp_path, text.encode("utf-8"), name="DENW095_august.csv")
    assert found.rows == [("DENW095", "O3", 21.0, 22.0, 23.5)]


def test_a_station_without_coordinates_needs_a_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: the file has no coordinates of station 'DENW095'; give a table"):
        read(tmp_path, HEAD + row("2022-08-31 19:00", "89"), stations=None)
    found = read(tmp_path, HEAD + row("2022-08-31 19:00", "89").replace("095", "096"))
    assert found.rejected["station 'DENW096' is in no table of stations; did you mean DENW095?"] == 2
