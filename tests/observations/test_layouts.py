"""Layouts of networks and archives: recognised by their content, each with its time convention, units and flags.

The rows are made up, but for those of Ostluft (rOstluft.data, CC0 1.0).
"""

import gzip
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.observations.selection import SelectionRules
from airshed.observations.station import Station, StationTable
from airshed.observations.time_convention import TimeConvention

from .files import STATIONS, read

# ---- pyaro -----------------------------------------------------------------------------------------------------------

PYARO = "variable,station,longitude,latitude,value,units,start_time,end_time,altitude,area_classification\n"


def test_pyaro_has_start_and_end_in_utc(tmp_path: Path) -> None:
    rows = (
        "concno2,A,8,50,21,ug m-3,2022-08-31 00:00:00,2022-08-31 01:00:00,12,Rural\n"
        "NO2,B,8,50,5,ug m-3,2022-08-31 00:00:00,2022-09-01 00:00:00,,Urban\n"
        "NO2,B,8,50,6,ug m-3,2022-08-31 05:00:00,2022-08-31 04:00:00,,Urban\n"
    )
    found = read(tmp_path, PYARO + rows, stations=None)
    assert found.rows == [("A", "NO2", 0.0, 1.0, 21.0), ("B", "NO2", 0.0, 24.0, 5.0)]
    assert found.rejected == {"its mean ends before it begins": 1}
    assert repr(found.selection.stations["A"]) == repr(Station("A", "", 8.0, 50.0, 12.0, "rural"))
    assert (found.summary.layout, found.summary.convention.label) == ("pyaro", "start and end")


def test_pyaro_needs_no_line_of_names(tmp_path: Path) -> None:
    rows = "NO2,A,8,50,21,ug m-3,2022-08-31 00:00:00,2022-08-31 01:00:00\n" * 2
    found = read(tmp_path, rows, stations=None)
    assert found.rows == [("A", "NO2", 0.0, 1.0, 21.0)]
    assert found.rejected == {"duplicate of an earlier row": 1}


# ---- OpenAQ ----------------------------------------------------------------------------------------------------------

OPENAQ = '"location_id","sensors_id","location","datetime","lat","lon","parameter","units","value"\n'


def test_openaq_labels_the_end_with_its_offset(tmp_path: Path) -> None:
    rows = (
        '"2178","1","Here-2178","2022-08-31T05:00:00+02:00","50","8","no2","µg/m³","21.0"\n'
        "2178,1,Here-2178,2022-08-31T06:00:00+02:00,50,8,no2,µg/m³,-999\n"
        "2178,1,Here-2178,2022-08-31T07:00:00+02:00,50,8,o3,ppm,0.03\n"
        "2178,1,Here-2178,2022-08-31T07:00:00+02:00,50,8,relativehumidity,%,30\n"
    )
    found = read(tmp_path, gzip.compress((OPENAQ + rows).encode()), name="day.csv.gz", stations=None)
    assert found.rows == [("2178", "NO2", 2.0, 3.0, 21.0), ("2178", "O3", 4.0, 5.0, 0.03)]
    assert found.rejected["another species"] == 1
    assert found.rejected["a code for a missing value"] == 1
    assert found.selection.stations["2178"].name == "Here-2178"


# ---- EEA -------------------------------------------------------------------------------------------------------------

EEA = "Countrycode,AirQualityStation,AirQualityStationEoICode,AirPollutant,AveragingTime,Concentration," \
      "UnitOfMeasurement,DatetimeBegin,DatetimeEnd,Validity,Verification\n"  # fmt: skip


def eea(begin: str, end: str, value: str = "20", validity: str = "1", averaging: str = "hour") -> str:
    return f"DE,STA_DE_DENW095,DENW095,NO2,{averaging},{value},µg/m3,{begin},{end},{validity},1\n"


def test_eea_times_have_offsets_and_validity_decides(tmp_path: Path) -> None:
    hours = [(f"2022-08-31 0{n}:00:00 +01:00", f"2022-08-31 0{n + 1}:00:00 +01:00") for n in range(1, 6)]
    rows = [eea(*hour, validity=flag) for hour, flag in zip(hours, ("1", "2", "3", "-1", "-99"), strict=True)]
    found = read(tmp_path, EEA + "".join(rows))
    assert found.hours == [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]
    assert found.rejected == {"flag '-1'": 1, "flag '-99'": 1}
    chosen = read(tmp_path, EEA + "".join(rows), rules=SelectionRules(good=("-1",), outside="skip"))
    assert chosen.hours == [(3.0, 4.0)]


def test_eea_hours_without_offset_are_in_utc_plus_1(tmp_path: Path) -> None:
    found = read(tmp_path, EEA + eea("2022-08-31 01:00:00", "2022-08-31 02:00:00"))
    assert found.hours == [(0.0, 1.0)]
    day = EEA + eea("2022-08-31", "2022-09-01", averaging="day")
    with pytest.raises(DataError, match="give both, as in time"):
        read(tmp_path, day)
    given = read(tmp_path, day, "2022-08-30", 3.0, time=TimeConvention("Europe/Berlin", "start"))
    assert given.hours == [(22.0, 46.0)]


def test_the_newer_table_of_the_eea_is_read(tmp_path: Path) -> None:
    text = (
        "Samplingpoint,Pollutant,Start,End,Value,Unit,AggType,Validity,Verification\n"
        "DE/SPO.DE_DENW095_NO2_dataGroup1,8,2022-08-31 01:00:00,2022-08-31 02:00:00,20,ug.m-3,hour,1,1\n"
    )
    assert [row[1:] for row in read(tmp_path, text).rows] == [("NO2", 0.0, 1.0, 20.0)]
    with pytest.raises(DataError, match="is a Parquet file; convert it to CSV"):
        read(tmp_path, b"PAR1\0\0")


# ---- UK-AIR ----------------------------------------------------------------------------------------------------------

UK_AIR = (
    "Data supplied by UK-AIR on 21/4/2024\nAll Data GMT hour ending\n"
    "Status: R = Ratified / P = Provisional / P* = As supplied\n,,Here,,,,,\n"
    'Date,time,"Ozone",status,unit,"PM<sub>10</sub> particulate matter (Hourly measured)",status,unit\n \n'
)


def test_uk_air_labels_the_end_in_gmt(tmp_path: Path) -> None:
    rows = (
        "29-02-2024,01:00,40,R,ugm-3,12,R,ugm-3 (TEOM FDMS)\n"
        "29-02-2024,24:00,41,P*,ugm-3,No data,,\n"
        "29-02-2024,12:00,9,S,ugm-3,,,\n"
        "30-02-2024,12:00,9,R,ugm-3,,,\n"
    )
    stations = StationTable([Station("my1", "Here", 8.0, 50.0)])
    found = read(tmp_path, UK_AIR + rows, "2024-02-29", stations=stations)
    assert found.rows == [
        ("Here", "O3", 0.0, 1.0, 40.0), ("Here", "PM10", 0.0, 1.0, 12.0), ("Here", "O3", 23.0, 24.0, 41.0)
    ]  # fmt: skip
    assert found.rejected["flag 'S'"] == 1
    assert found.rejected["'30-02-2024 12:00' is not a time; write it as 2022-08-31T13:00:00Z"] == 2


def test_uk_air_has_several_sites_side_by_side(tmp_path: Path) -> None:
    text = (
        "All Data GMT hour ending\n,,Here,,There,\n"
        "Date,Time,Ozone,Status,Ozone,Status\n31/08/2022,13:00,40,R ugm-3,50,V ugm-3\n"
    )
    stations = StationTable([Station("a", "Here", 8.0, 50.0), Station("b", "There", 9.0, 50.0)])
    found = read(tmp_path, text, stations=stations)
    assert found.rows == [("Here", "O3", 12.0, 13.0, 40.0), ("There", "O3", 12.0, 13.0, 50.0)]


@pytest.mark.parametrize(
    ("dates", "fault"),
    [
        (["08/31/2022", "09/01/2022"], "08/31/2022 have the month first"),
        (["09/01/2022", "09/02/2022"], "day and month of dates such as 09/01/2022 are ambiguous"),
    ],
)
def test_dates_with_the_month_first_are_refused(tmp_path: Path, dates: list[str], fault: str) -> None:
    """The controls: the same file with the day first, also with one date that is none."""
    head = "station,lon,lat,species,value,unit,time\n"

    def text(days: list[str]) -> str:
        return head + "".join(f"A,8,50,O3,40,ug/m3,{day} 13:00\n" for day in days)

    time = TimeConvention("UTC", "end")
    with pytest.raises(DataError, match=fault):
        read(tmp_path, text(dates), time=time)
    found = read(tmp_path, text(["31/08/2022", "08/31/2022"]), time=time)
    assert found.rows == [("A", "O3", 12.0, 13.0, 40.0)]
    assert sum(found.rejected.values()) == 1


def test_uk_air_days_are_days_in_gmt(tmp_path: Path) -> None:
    text = (
        "Site Name,Here\nSite Type,Urban Background\nLatitude,50\nLongitude,8\n"
        "Notes: [1] All Data GMT hour ending; [2] V = Verified, P = Provisionally Verified, N = Not Verified\n"
        "Date,Nitrogen oxides as nitrogen dioxide,Status\n2022-08-31,40,V\n"
    )
    found = read(tmp_path, text, stations=None)
    assert found.rows == [("Here", "NOx", 0.0, 24.0, 40.0)]
    expected = Station("Here", "Here", 8.0, 50.0, area="urban", type="background")
    assert repr(found.selection.stations["Here"]) == repr(expected)  # NaN equals itself in texts alone


# ---- AirBase ---------------------------------------------------------------------------------------------------------


def airbase(**hours: str) -> str:
    pairs = [hours.get(f"h{hour}", "-999.000\t0") for hour in range(24)]
    return "\t".join(["2012-08-31", *pairs]) + "\t\r\n"


def test_airbase_has_a_line_for_each_day(tmp_path: Path) -> None:
    text = airbase(h1="48.000\t1", h2="9.0\t0", h3="-9999.000\t1", h23="5\t1")
    table = StationTable([Station("BETR801", "", 8.0, 50.0, zone="UTC+01")])
    for name in ("BETR8010000800100hour.1-1-1990.31-12-2012", "airbase_no2_BETR801_hourly.tsv"):
        found = read(tmp_path, text, "2012-08-31", name=name, stations=table)
        assert found.rows == [("BETR801", "NO2", 0.0, 1.0, 48.0), ("BETR801", "NO2", 22.0, 23.0, 5.0)]
        assert found.rejected["a code for a missing value"] == 1
        assert found.rejected["flag '0'"] >= 20
    utc = StationTable([Station("BETR801", "", 8.0, 50.0, zone="UTC")])
    assert read(tmp_path, text, "2012-08-31", name=name, stations=utc).hours == [(1.0, 2.0), (23.0, 24.0)]
    with pytest.raises(DataError, match="without station and pollutant in its name"):
        read(tmp_path, text, "2012-08-31", name="hours.tsv", stations=table)


# ---- Ostluft ---------------------------------------------------------------------------------------------------------


def test_the_export_of_ostluft_with_ten_lines_of_names_is_read(tmp_path: Path) -> None:
    text = (
        ";Zch_Stampfenbachstrasse;Zch_Stampfenbachstrasse;Zch_Stampfenbachstrasse\n"
        ";Zürich Stampfenbachstrasse;Zürich Stampfenbachstrasse;Zürich Stampfenbachstrasse\n"
        ";Airmet;Airmet;Airmet\n;Airmet;Airmet;Airmet\n;CO;Hr;NO2\n;Alle ;Alle ;Alle \n"
        ";Vertikale Verdichtung (Mittelwert);Vertikale Verdichtung (Mittelwert);Vertikale Verdichtung (Mittelwert)\n"
        ";mg/m3;%Hr;µg/m3\n;h1;h1;h1\nStartzeit;Berechnet;Berechnet;Berechnet\n"
        "01.01.2013 01:00;0,8326345;83.047;61.60348074\n"
    )
    table = StationTable([Station("Zch_Stampfenbachstrasse", "", 8.5, 47.4)])
    found = read(tmp_path, text.encode("cp1252"), "2013-01-01", stations=table)
    assert [row[1:] for row in found.rows] == [("CO", 0.0, 1.0, 0.8326345), ("NO2", 0.0, 1.0, 61.60348074)]
    assert found.observations.unit.tolist() == ["mg/m3", "ug/m3"]


# ---- MELODIES-MONET --------------------------------------------------------------------------------------------------


def monet(folder: Path, dims: tuple[str, ...] = ("time", "y", "x")) -> bytes:
    shape = {"time": 3, "y": 1, "x": 2}
    values = np.array([[10.0, 20.0], [30.0, np.nan], [50.0, 60.0]]).reshape([shape[dim] for dim in dims])
    site = dims[1:]
    places = {"siteid": ["A", "B"], "latitude": [50.0, 51.0], "longitude": [8.0, 9.0]}
    data = xr.Dataset(
        {"OZONE": (dims, values, {"units": "PPB"}), "WS": (dims, values, {"units": "M/S"})}
        | {name: (site, np.array(v).reshape([shape[dim] for dim in site])) for name, v in places.items()},
        {"time": np.array(["2022-08-31T00", "2022-08-31T01", "2022-09-07T00"], "datetime64[ns]")},
    )
    data.to_netcdf(folder / "made.nc")
    return (folder / "made.nc").read_bytes()


@pytest.mark.parametrize("dims", [("time", "y", "x"), ("time", "x")])
def test_netcdf_of_stations_is_read(tmp_path: Path, dims: tuple[str, ...]) -> None:
    found = read(tmp_path, monet(tmp_path, dims), stations=None, name="monet.nc")
    assert found.rows == [("A", "O3", 0.0, 1.0, 10.0), ("B", "O3", 0.0, 1.0, 20.0), ("A", "O3", 1.0, 2.0, 30.0)]
    assert found.rejected == {"no value": 1, "outside the window": 2}
    assert found.observations.unit.tolist() == ["ppb"] * 3


def test_netcdf_of_no_stations_is_refused(tmp_path: Path) -> None:
    xr.Dataset({"O3": ("x", [1.0])}).to_netcdf(tmp_path / "made.nc")
    with pytest.raises(DataError, match="is not a netCDF file of stations: it lacks time, siteid"):
        read(tmp_path, (tmp_path / "made.nc").read_bytes())


# ---- values ----------------------------------------------------------------------------------------------------------


def test_air_at_another_temperature_is_converted(tmp_path: Path) -> None:
    text = "station,lon,lat,species,value,unit,time\n" + "".join(
        f"{name},8,50,{name},100,{unit},2022-08-31T01:00Z\n"
        for name, unit in (
            ("O3", "ug/m3 (25 C)"),
            ("NO2", "ug/m3 at 298.15 K"),
            ("NO", "ug/m3"),
            ("PM10", "ug/m3 25 C"),
        )
    )
    found = read(tmp_path, text)
    warm = 100.0 * 298.15 / 293.15
    assert found.observations.value.tolist() == pytest.approx([warm, warm, 100.0, 100.0])
    assert set(found.observations.unit.tolist()) == {"ug/m3"}


def test_a_file_of_no_layout_is_refused(tmp_path: Path) -> None:
    for content, message in (
        (b"", "has no rows"),
        (b"hello\n", "none of the known layouts"),
        (b"a\0b", "is not a text file"),
    ):
        with pytest.raises(DataError, match=message):
            read(tmp_path, content)


def test_the_long_table_of_ostluft_needs_a_zone_and_labels_the_start(tmp_path: Path) -> None:
    text = "# rOstluft\nstarttime;site;parameter;interval;unit;value\n2022-08-31 01:30:00;my1;NO2;min30;ppb;3\n"
    with pytest.raises(DataError, match="has no offset from UTC"):
        read(tmp_path, text)
    found = read(tmp_path, text, time=TimeConvention("UTC+01:00", "start"))
    assert found.rows == [("my1", "NO2", 0.5, 1.0, 3.0)]
    assert read(tmp_path, text.replace(":00;my1", ":00+01:00;my1")).rows == [("my1", "NO2", 0.5, 1.0, 3.0)]


def test_order_and_spelling_of_columns_and_marks_do_not_matter(tmp_path: Path) -> None:
    text = "Value;UNITS;Parameter;DateTime;extra;Longitude;Latitude;Location_ID\n" \
           "20,5;µg/m³;NO2;2022-08-31T01:00:00Z;x;8,0;50,0;A\n"  # fmt: skip
    for content in (text.encode("utf-8-sig"), text.encode("cp1252"), text.encode("utf-16")):
        assert read(tmp_path, content, stations=None).rows == [("A", "NO2", 0.0, 1.0, 20.5)]


def test_one_bad_row_never_stops_a_file(tmp_path: Path) -> None:
    good = "A,8,50,NO2,20,ug/m3,2022-08-31T01:00Z\n"
    bad = 'B,8,50,"NO2,20,ug/m3,2022-08-31T01:00Z\nC,8,50\nD,8,50,NO2,20,ug/m3,soon\n\n' + good.replace(
        "A,8,50", "E,8,x"
    )
    found = read(tmp_path, "station,lon,lat,species,value,unit,time\n" + bad + good)
    assert [row[0] for row in found.rows] == ["A"]
    assert sum(found.rejected.values()) == 4


def test_stations_of_a_table_complete_those_of_a_file(tmp_path: Path) -> None:
    table = StationTable([Station("A", "Name", 1.0, 2.0, 64.0, "urban", "traffic", 3.5, "net")])
    found = read(tmp_path, OPENAQ + "A,1,Here,2022-08-31T05:00Z,50,8,no2,ppb,21\n", stations=table)
    assert found.selection.stations["A"] == Station("A", "Here", 8.0, 50.0, 64.0, "urban", "traffic", 3.5, "net")
    assert STATIONS.find("denw095") is not None
