"""Tables of stations of several networks; the rows are made up in their layouts."""

import math
from pathlib import Path

import pytest

from airshed.core.errors import DataError
from airshed.observations.station import Station, StationTable, area_of, read_station_tables, type_of

AIRBASE = (
    "site_id,site_name,latitude,longitude,altitude,country,municipality,area_classification,station_type,timezone,"
    "established_date,closed_date,network,network_code\n"
    "AD0942A,Escaldes,42.5,1.5,1080.0,Andorra,Escaldes,urban-centre,background,UTC+01,,,Xarxa,NET-AD001A\n"
    "AD0945A,Envalira,42.6,1.6,2515.0,Andorra,,rural-regional,traffic,UTC+01,,,Xarxa,NET-AD001A\n"
)
AIRBASE_ALL = (
    "# Site ID, Site Name, Latitude, Longitude, Altitude (m)\n4101241,4101241,40.8,29.4,\r\n"
    "AT0ENK1,Enzenkirchen,48.4,13.7,525.0\r\n"
)
EEA = (
    "Countrycode\tTimezone\tAirQualityNetwork\tAirQualityStation\tAirQualityStationEoICode\tSamplingPoint\tLongitude\t"
    "Latitude\tAltitude\tAirQualityStationArea\tAirQualityStationType\tInletHeight\n"
    "DE\tUTC\tNET.DE_NW\tSTA.DE_DENW095\tDENW095\tSPO.DE_DENW095_NO2\t7.6\t51.9\t64\turban\tbackground\t3.5\n"
)
UBA = (
    "station_code,station_local_code,station_name,station_start_date,station_latitude_d,station_longitude_d,"
    "station_altitude,type_of_station,station_type_of_area,network_code\n"
    "DEBB003,DEBB003,Brandenburg a.d. Havel,19910301,52.4,12.5,33.0,traffic,urban,DE014A\n"
)
OWN = "id;name;lon;lat;altitude;area;type;inlet;network\nA;Zürich;8,5;47,4;400;vorstädtisch;Hintergrund;4;net\n"


def table(folder: Path, text: str, encoding: str = "utf-8") -> StationTable:
    (folder / "stations.csv").write_bytes(text.encode(encoding))
    return read_station_tables([folder / "stations.csv"])


def test_airbase_and_eea_and_uba_are_read(tmp_path: Path) -> None:
    airbase = table(tmp_path, AIRBASE)
    escaldes = Station("AD0942A", "Escaldes", 1.5, 42.5, 1080.0, "urban", "background", math.nan, "Xarxa", "UTC+01")
    assert repr(airbase.find("AD0942A")) == repr(escaldes)
    envalira = airbase.find("envalira")
    assert envalira is not None
    assert (envalira.area, envalira.type) == ("rural", "traffic")
    every = table(tmp_path, AIRBASE_ALL)
    found = every.find("AT0ENK1")
    assert found is not None
    assert (found.lon, found.lat, found.altitude) == (13.7, 48.4, 525.0)
    for key in ("DENW095", "SPO.DE_DENW095_NO2", "DE/SPO.DE_DENW095_NO2_dataGroup1"):
        station = table(tmp_path, EEA).find(key)
        assert station is not None
        assert (station.lon, station.area, station.type, station.inlet) == (7.6, "urban", "background", 3.5)
    station = table(tmp_path, UBA).find("Brandenburg a.d. Havel")
    assert station is not None
    assert (station.id, station.lat, station.type, station.area) == ("DEBB003", 52.4, "traffic", "urban")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252"])
def test_our_own_table_is_read(tmp_path: Path, encoding: str) -> None:
    expected = Station("A", "Zürich", 8.5, 47.4, 400.0, "suburban", "background", 4.0, "net")
    assert table(tmp_path, OWN, encoding).find("zürich") == expected


def test_the_first_table_counts_and_identifiers_precede_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,lon,lat,name\nA,1,2,B\nB,3,4,\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,lon,lat\nA,5,6\nC,7,8\n", encoding="utf-8")
    found = read_station_tables([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert [found.find(key).lon for key in "ABC"] == [1.0, 3.0, 7.0]  # type: ignore[union-attr]


def test_a_table_without_places_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a table of stations: it lacks the column lat; it has id, lon"):
        table(tmp_path, "id,lon,type\nA,8,urban\n")


@pytest.mark.parametrize(
    ("text", "area", "kind"),
    [
        ("Urban Background", "urban", "background"), ("Suburban Industrial", "suburban", "industrial"),
        ("Rural Background", "rural", "background"), ("Urban Traffic", "urban", "traffic"), ("Kerbside", "", "traffic"),
        ("rural-nearcity", "rural", ""), ("vorstädtisches Gebiet", "suburban", ""), ("", "", ""),
    ],
)  # fmt: skip
def test_classes_are_read_from_words(text: str, area: str, kind: str) -> None:
    assert (area_of(text), type_of(text)) == (area, kind)
