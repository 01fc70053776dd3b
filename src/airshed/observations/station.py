"""Stations: place, height and class, from tables of networks."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airshed.core.errors import DataError
from airshed.core.text import nearest
from airshed.observations.text_file import TextFile, read_text_file

_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("id", "station", "site_id", "site id", "station_code", "station code", "stationscode",
           "station_european_code", "airqualitystationeoicode", "air quality station eoi code", "eoi code", "siteid",
           "site_code", "code", "uk-air id", "location_id", "airqualitystation", "air quality station nat. code"),
    "name": ("name", "site_name", "site name", "station_name", "station name", "stationsname",
             "air quality station name", "airqualitystationname", "site", "location"),
    "lon": ("lon", "longitude", "station_longitude_d", "station_longitude_deg", "station longitude", "lng", "länge"),
    "lat": ("lat", "latitude", "station_latitude_d", "station_latitude_deg", "station latitude", "breite"),
    "altitude": ("altitude", "altitude (m)", "station_altitude", "elevation", "alt", "height above sea level"),
    "area": ("area", "area_classification", "station_type_of_area", "airqualitystationarea",
             "air quality station area", "area_type", "station area", "stationsumgebung", "type of area"),
    "type": ("type", "station_type", "type_of_station", "airqualitystationtype", "air quality station type",
             "station type", "stationstyp"),
    "inlet": ("inlet", "inlet height", "inlet_height", "inletheight", "inlet height (m)", "height"),
    "zone": ("timezone", "zone", "time_zone", "time zone"),
    "network": ("network", "network_code", "airqualitynetwork", "air quality network", "network name"),
    "site_type": ("site_type", "site type", "environment type", "environment_type"),
}  # fmt: skip
"""Quantity -> names of its column, in lower case: of Airshed, of AirBase, of the EEA, UBA, AURN and OpenAQ."""

_AREAS: Final = {"urban": "urban", "suburban": "suburban", "rural": "rural", "remote": "rural", "städt": "urban",
                 "vorstädt": "suburban", "ländl": "rural"}  # fmt: skip
_TYPES: Final = {"background": "background", "traffic": "traffic", "roadside": "traffic", "kerbside": "traffic",
                 "industrial": "industrial", "industry": "industrial", "hintergrund": "background",
                 "verkehr": "traffic", "industrie": "industrial"}  # fmt: skip


@dataclass(frozen=True)
class Station:
    """A station of a network.

    lon, lat  [degrees];  altitude  of the ground above the sea [m];  inlet  above the ground [m]; NaN where unknown
    zone      of its times in the archive of the network, "" where unknown
    area      "urban", "suburban", "rural" or "";  type  "background", "traffic", "industrial" or ""
    """

    id: str
    name: str = ""
    lon: float = math.nan
    lat: float = math.nan
    altitude: float = math.nan
    area: str = ""
    type: str = ""
    inlet: float = math.nan
    network: str = ""
    zone: str = ""


def area_of(text: str) -> str:
    """Return the area class in a text such as "rural-regional" or "Urban Background", "" for none."""
    folded = text.casefold()
    return next((area for word, area in reversed(_AREAS.items()) if word in folded), "")


def type_of(text: str) -> str:
    """Return the station type in a text such as "Urban Traffic", "" for none."""
    folded = text.casefold()
    return next((kind for word, kind in _TYPES.items() if word in folded), "")


class StationTable:
    """Stations by identifier and by name; the first table with a station has precedence."""

    def __init__(self, stations: Iterable[Station] = ()) -> None:
        self._by_id: dict[str, Station] = {}
        self._by_name: dict[str, Station] = {}
        for station in stations:
            self.add(station)

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, station: Station) -> None:
        """Add a station, unless there is one with its identifier."""
        self._by_id.setdefault(_folded(station.id), station)
        if station.name:
            self._by_name.setdefault(_folded(station.name), station)

    def find(self, key: str) -> Station | None:
        """Return a station by its identifier, or by its name, None for an unknown one.

        A sampling point such as SPO.DE_DENW095_NO2_dataGroup1 is found by the identifier of its station.
        """
        folded = _folded(key)
        found = self._by_id.get(folded) or self._by_name.get(folded)
        if found is None and "_" in key:
            parts = [_folded(part) for part in re.split(r"[_./:\s-]", key) if len(part) >= 5]
            found = next((self._by_id[part] for part in parts if part in self._by_id), None)
        return found

    def advice(self, key: str) -> str:
        """Return advice about a missing station, with the nearest spelling."""
        near = nearest(key, {name for each in self._by_id.values() for name in (each.id, each.name) if name})
        return f"did you mean {near}?" if near else "add a row with its id, lon and lat"


def _folded(key: str) -> str:
    return " ".join(key.casefold().replace("_", " ").split())


def read_station_tables(paths: Iterable[Path]) -> StationTable:
    """Return the stations of tables: Airshed's CSV, AirBase's and the EEA's metadata, UBA's list.

    raises  DataError for an unreadable file, and for one that lacks an identifier, a longitude or a latitude
    """
    table = StationTable()
    for file in map(read_text_file, paths):
        first = next((number for number, cells in enumerate(file.head) if len(cells) > 2), 0)
        names = [cell.lstrip("# ").casefold() for cell in (file.head or [[]])[first]]
        columns = {
            what: next((names.index(name) for name in spellings if name in names), -1)
            for what, spellings in _COLUMNS.items()
        }
        missing = [what for what in ("lon", "lat") if columns[what] < 0]
        missing += ["id"] if columns["id"] < 0 and columns["name"] < 0 else []
        if missing:
            raise DataError(f"{file.path} is not a table of stations: it lacks the column {', '.join(missing)}; it has "
                            f"{', '.join(names)[:200] or 'nothing'}")  # fmt: skip
        for _, cells in file.rows(first + 1):
            if cells:
                table.add(_station(file, cells, columns))
    return table


def _station(file: TextFile, cells: list[str], columns: Mapping[str, int]) -> Station:
    def text(what: str) -> str:
        return cells[columns[what]] if 0 <= columns[what] < len(cells) else ""

    def number(what: str) -> float:
        try:
            return float(file.number_text(text(what)))
        except ValueError:
            return math.nan

    kind = text("site_type")
    return Station(
        text("id") or text("name"), text("name"), number("lon"), number("lat"), number("altitude"),
        area_of(text("area") or kind), type_of(text("type") or kind), number("inlet"), text("network"),
        text("zone"),
    )  # fmt: skip
