"""Cities and countries by name, English or local, from the data of this package."""

import csv
import gzip
import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

import numpy as np

from airshed.core.errors import CaseError
from airshed.core.text import nearest, shown
from airshed.core.topojson import Polygon, decode

CITIES: Final = "data/cities.csv"
COUNTRIES: Final = "data/countries-50m.topo.json.gz"

ENGLISH: Final = MappingProxyType(
    {
        "Köln": "Cologne", "Hannover": "Hanover", "Braunschweig": "Brunswick", "Frankfurt am Main": "Frankfurt",
        "Zürich": "Zurich", "Gent": "Ghent", "Brugge": "Bruges",
        "Sevilla": "Seville", "Århus": "Aarhus", "Thessaloníki": "Thessaloniki",
        "Kraków": "Krakow", "Gasteiz / Vitoria": "Vitoria",
    }
)  # fmt: skip
"""English names of cities that have another name in the data."""

_ALIASES: Final = MappingProxyType({english.casefold(): name for name, english in ENGLISH.items()} | {"basle": "Basel"})
"""English names in lower case -> the names in the data."""


@dataclass(frozen=True)
class Location:
    """Location on the globe: ranges of longitude and latitude [degrees], equal ends for a point, and an outline if
    known.
    """

    name: str
    lon: tuple[float, float]
    lat: tuple[float, float]
    outline: tuple[Polygon, ...] = ()


def find_location(name: str, key: str = "place") -> Location:
    """Return the city of at least 100 000 people, or the country, of a name; raise CaseError with the nearest name.

    Of several cities with the same name the largest is returned; "Valencia, ES" also names the country.
    """
    wanted = folded(name)
    towns = _cities()
    alias = folded(_ALIASES.get(wanted, name))
    for each in (wanted, alias):
        if each in towns:
            return towns[each] if each == wanted else replace(towns[each], name=name.strip().title())
        if each in _outlines():
            return _country(*_outlines()[each])
    titles = [title for title, _ in _outlines().values()]
    known = [place.name for place in towns.values()] + titles + [english.title() for english in _ALIASES]
    match = nearest(name, known)
    raise CaseError(
        f"{key} = {shown(name)} is not a country or a city of 100 000 people or more; "
        f"{f'did you mean {match}? Or ' if match else ''}give lon and lat"
    )


def folded(name: str) -> str:
    """Return a name without accents, in lower case."""
    return unicodedata.normalize("NFKD", name.strip().casefold()).encode("ascii", "ignore").decode()


@cache
def _cities() -> dict[str, Location]:
    text = files("airshed.grid").joinpath(CITIES).read_text(encoding="utf-8")
    found: dict[str, Location] = {}
    for row in csv.DictReader(text.splitlines()):
        lon, lat = float(row["longitude"]), float(row["latitude"])
        place = Location(row["name"], (lon, lon), (lat, lat))
        for name in (row["name"], f"{row['name']}, {row['country']}"):
            found.setdefault(folded(name), place)
    return found


@cache
def _outlines() -> dict[str, tuple[str, tuple[Polygon, ...]]]:
    data = files("airshed.grid").joinpath(COUNTRIES).read_bytes()
    decoded = decode(json.loads(gzip.decompress(data)), "countries")
    return {folded(name): (name, tuple(polygons)) for name, polygons in decoded.items()}


def _country(name: str, outline: Iterable[Polygon]) -> Location:
    polygons = tuple(outline)
    points = np.concatenate([polygon[0] for polygon in polygons])
    (west, south), (east, north) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return Location(name, (west, east), (south, north), polygons)
