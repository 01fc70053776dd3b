"""The countries of the map: names, time zones, outlines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from airshed.air.emissions.tables import Row, read_table
from airshed.core.topojson import Polygon, decode


@dataclass(frozen=True)
class Country:
    """A country: ISO 3166 code of two letters, local time, and its polygons."""

    iso2: str
    zone: ZoneInfo
    polygons: list[Polygon] = field(default_factory=list)

    def may_touch(self, west: float, south: float, east: float, north: float) -> bool:
        """Whether the box around any of its polygons meets the given box [degrees]."""
        for outer, *_ in self.polygons:
            (left, bottom), (right, top) = outer.min(axis=0), outer.max(axis=0)
            if left < east and right > west and bottom < north and top > south:
                return True
        return False


def read_countries(table: Path, outlines: Path) -> dict[str, Country]:
    """Countries by code; the table may give one several polygons of the map, a line for each. Raises DataError."""
    polygons = decode(outlines, "countries")
    countries: dict[str, Country] = {}
    for row in read_table(table, ("iso2", "time_zone", "polygon")):
        iso2 = row.text("iso2")
        if iso2 not in countries:
            countries[iso2] = Country(iso2, _zone(row))
        countries[iso2].polygons.extend(_outline(row, polygons, outlines))
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
        raise row.error(f"{outlines.name} has no polygon {name!r}")
    return polygons[name]
