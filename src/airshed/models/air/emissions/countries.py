"""The countries of the map: names, time zones, outlines."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from airshed.core.errors import DataError
from airshed.core.text import suggestion
from airshed.core.topojson import Polygon, decode
from airshed.io.tables import Row, read_table, unique

_CODE: Final = re.compile("[A-Z]{2}")


@dataclass(frozen=True)
class Country:
    """A country: ISO 3166 code of two letters, local time, and its polygons."""

    iso2: str
    zone: ZoneInfo
    polygons: list[Polygon] = field(default_factory=list)


def read_countries(table: Path, outlines: Path) -> dict[str, Country]:
    """Countries by code; the table may give one several polygons of the map, a line for each. Raises DataError."""
    polygons = decode(outlines, "countries")
    countries: dict[str, Country] = {}
    taken: dict[str, str] = {}
    for row in read_table(table, ("iso2", "time_zone", "polygon")):
        iso2, zone = row.text("iso2"), _zone(row)
        if not _CODE.fullmatch(iso2):
            raise row.error(f"iso2 {iso2[:40]!r} is no code of two capital letters, such as DE")
        country = countries.setdefault(iso2, Country(iso2, zone))
        if country.zone != zone:
            raise row.error(f"{iso2} has the time zone {country.zone} on a line before; a country keeps one time")
        unique(taken, row.text("polygon"), iso2, row)
        country.polygons.extend(_outline(row, polygons, outlines))
    if not countries:
        raise DataError(f"{table} names no country; get a fresh copy of the file")
    return countries


def _zone(row: Row) -> ZoneInfo:
    name = row.text("time_zone")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise row.error(f"time zone {name!r} is unknown; give an IANA name such as Europe/Paris") from error


def _outline(row: Row, polygons: Mapping[str, list[Polygon]], outlines: Path) -> list[Polygon]:
    name = row.text("polygon")
    if name not in polygons:
        raise row.error(f"{outlines.name} has no polygon {name[:40]!r}; {suggestion(name, polygons)}")
    if not polygons[name]:
        raise row.error(f"the polygon {name!r} of {outlines.name} has no points; get a fresh copy of the file")
    return polygons[name]
