"""Countries with their outlines and time zones, and their cities and combustion plants without duplicates."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import DataError
from airshed.core.text import suggestion
from airshed.core.topojson import Polygon, decode
from airshed.io.tables import Row, read_table, unique

_CODE: Final = re.compile("[A-Z]{2}")


@dataclass(frozen=True)
class Country:
    """Country: ISO 3166 code of two letters, local time, and polygons."""

    iso2: str
    zone: ZoneInfo
    polygons: list[Polygon] = field(default_factory=list)


def read_countries(table: Path, outlines: Path) -> dict[str, Country]:
    """Return the countries by code; the table has a line for each polygon of a country. Raises DataError."""
    polygons = decode(outlines, "countries")
    countries: dict[str, Country] = {}
    taken: dict[str, str] = {}
    for row in read_table(table, ("iso2", "time_zone", "polygon")):
        iso2, time, name = row.text("iso2"), row.text("time_zone"), row.text("polygon")
        try:
            zone = ZoneInfo(time)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise row.error(f"time zone {time!r} is unknown; give an IANA name such as Europe/Paris") from error
        if not _CODE.fullmatch(iso2):
            raise row.error(f"iso2 {iso2[:40]!r} is not a code of two capital letters, such as DE")
        country = countries.setdefault(iso2, Country(iso2, zone))
        if country.zone != zone:
            raise row.error(f"{iso2} has the time zone {country.zone} on an earlier line; a country has one time zone")
        unique(taken, name, iso2, row)
        if name not in polygons:
            raise row.error(f"{outlines.name} has no polygon {name[:40]!r}; {suggestion(name, polygons)}")
        if not polygons[name]:
            raise row.error(f"the polygon {name!r} of {outlines.name} has no points; get a fresh copy of the file")
        country.polygons.extend(polygons[name])
    if not countries:
        raise DataError(f"{table} has no countries; get a fresh copy of the file")
    return countries


CORE_DENSITY: Final = 10_000.0
"""Inhabitants per km2 in the core of a large city; smaller places within the core are its districts."""

DISTRICT_SHARE: Final = 0.2
"""Maximum population of a district, as a fraction of the population of the city."""

SMALLEST_PARENT: Final = 100_000.0  # minimum population of a city with districts in the list

UNKNOWN_CAPACITY: Final = 60.0
"""Default electric capacity [MW]: the register has plants of at least 50 MW thermal input."""

SAME_SITE: Final = 2.0  # two records this near [km] are one site
SAME_NAME: Final = 15.0  # two records this near [km] that share a distinctive word of their names are one site

SAME_UNIT: Final = 0.5
"""Two records of one register this near [km], with the same fuel and nearly the same capacity, are one unit."""

MOST_PEOPLE: Final = 1e8  # more inhabitants than any city has
MOST_CAPACITY: Final = 1e5  # more electric capacity [MW] than any site has; the largest, of water, has 22,500
MOST_FACTOR: Final = 1e6  # more emission [g/GJ] than a fuel can have: its carbon alone makes 1e5 of CO2

PLANT_WORDS: Final = frozenset(
    ("central", "centrala", "centrale", "electric", "electrica", "electrique", "elektrarna", "elektrownia", "energia",
     "energie", "energy", "heizkraftwerk", "kraftwerk", "plant", "power", "station", "termica", "thermal", "thermique")
)  # fmt: skip
"""Generic words in the names of plants."""

COLUMNS_CITIES: Final = ("iso2", "name", "latitude", "longitude", "population")
COLUMNS_PLANTS: Final = ("iso2", "name", "latitude", "longitude", "capacity_mw", "fuel", "source")
_FACTOR: Final = "_g_gj"
_UNKNOWN: Final = "Unknown"  # fuel of plants without a reported fuel
COLUMNS_FUELS: Final = ("fuel", "efficiency", "load")


@dataclass(frozen=True)
class Cities:
    """Cities with their inhabitants, all arrays of shape (cities,)."""

    lon: Array
    lat: Array
    population: Array

    def larger_than(self, population: float) -> "Cities":
        """Return the cities above a population, or the largest city if there are none."""
        kept = self.population > min(population, self.population.max(initial=0.0) * (1.0 - 1e-12))
        return Cities(self.lon[kept], self.lat[kept], self.population[kept])


@dataclass(frozen=True)
class Plant:
    """Combustion plant: capacity [MW electric], None if not reported, and the source of the record."""

    name: str
    lon: float
    lat: float
    capacity: float | None
    fuel: str
    source: str


def read_cities(path: Path, countries: Iterable[str], known: Collection[str] | None = None) -> dict[str, Cities]:
    """Return the cities by country, without districts of larger cities.

    Raises DataError, also for a country that is not in ``known``, if given.
    """
    places: dict[str, list[tuple[float, float, float]]] = {iso2: [] for iso2 in countries}
    for row in read_table(path, COLUMNS_CITIES, but=("iso2", set(known or ()) - set(places))):
        country = places.get(row.text("iso2") if known is None else row.known("iso2", known))
        if country is not None:
            country.append((*_position(row), row.number("population", most=MOST_PEOPLE)))
    return {iso2: _without_districts(np.array(rows).reshape(-1, 3)) for iso2, rows in places.items()}


def read_plants(
    path: Path, countries: Iterable[str], fuels: Collection[str], known: Collection[str] | None = None
) -> dict[str, list[Plant]]:
    """Return the combustion plants by country, without duplicates.

    Raises DataError, also for a fuel that is not in ``fuels``, and a country that is not in ``known``.
    """
    plants: dict[str, list[Plant]] = {iso2: [] for iso2 in countries}
    for row in read_table(path, COLUMNS_PLANTS, but=("iso2", set(known or ()) - set(plants))):
        country = plants.get(row.text("iso2") if known is None else row.known("iso2", known))
        if country is not None:
            capacity = row.number("capacity_mw", most=MOST_CAPACITY) if row.text("capacity_mw") else None
            fuel = row.known("fuel", fuels) if row.text("fuel") else _UNKNOWN
            if fuel not in fuels:
                raise row.error(
                    f"fuel is empty, and fuel_factors.csv has no {_UNKNOWN!r} for such plants; add its line"
                )
            country.append(Plant(row.text("name"), *_position(row), capacity, fuel, row.text("source")))
    return {iso2: deduplicate(records) for iso2, records in plants.items()}


def read_fuels(path: Path, pollutants: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the emission by fuel and pollutant of a plant of 1 MW [g/GJ x MW], from factor, efficiency and load.

    Returns fuel -> pollutant -> factor x load / efficiency; raises DataError.
    """
    columns = {pollutant: f"{pollutant}{_FACTOR}" for pollutant in pollutants}
    fuels: dict[str, dict[str, float]] = {}
    for row in read_table(path, (*COLUMNS_FUELS, *columns.values())):
        heat = row.number("load", most=1.0) / row.number("efficiency", least=0.01, most=1.0)
        for column in row.columns:  # also of pollutants that are not emitted, to detect errors in the line
            if column.endswith(_FACTOR):
                row.number(column, most=MOST_FACTOR)
        factors = {pollutant: row.number(column, most=MOST_FACTOR) * heat for pollutant, column in columns.items()}
        unique(fuels, row.name("fuel"), factors, row)
    return fuels


def deduplicate(records: Sequence[Plant]) -> list[Plant]:
    """Return the plants of a country without duplicates from several registers.

    Records with a capacity have priority. Two records of one register are one unit if they are within 0.5 km and agree
    in fuel and, to 10 %, in capacity. A record without a capacity is dropped if another plant is within 2 km, or within
    15 km with a distinctive word in common. Such words have five letters or more, are not generic, and are rare.
    """
    words = [_words(record.name) for record in records]
    frequency = Counter(word for of_record in words for word in of_record)
    distinctive = [{word for word in of_record if frequency[word] <= 4} for of_record in words]
    lon, lat = (np.array([getattr(record, name) for record in records]) for name in ("lon", "lat"))
    kept = np.zeros(len(records), dtype=bool)
    for index in sorted(range(len(records)), key=lambda index: records[index].capacity is None):
        record = records[index]
        beside = kept & (np.abs(lat - record.lat) < 0.15) & (np.abs(lon - record.lon) < 0.5)
        same = False
        for other in np.flatnonzero(beside).tolist():
            theirs = records[other]
            east = np.radians(record.lon - theirs.lon) * np.cos(np.radians(record.lat))
            gap = float(1e-3 * EARTH_RADIUS * np.hypot(east, np.radians(record.lat - theirs.lat)))
            if record.capacity is None:
                same |= gap <= SAME_SITE or bool(gap <= SAME_NAME and distinctive[index] & distinctive[other])
            elif (record.source, record.fuel) == (theirs.source, theirs.fuel) and theirs.capacity is not None:
                close = abs(record.capacity - theirs.capacity) <= 0.1 * max(record.capacity, theirs.capacity)
                same |= gap <= SAME_UNIT and close
        kept[index] = not same
    return [records[index] for index in np.flatnonzero(kept).tolist()]


def _without_districts(places: Array) -> Cities:
    """Remove cities in the core of a much larger city with population P: a disc of radius sqrt(P / (pi 10000 km-2))."""
    lon, lat, population = places.T
    district = np.zeros(len(places), dtype=bool)
    for parent in np.flatnonzero(population >= SMALLEST_PARENT):
        east = np.radians(lon - lon[parent]) * np.cos(np.radians(lat[parent]))
        gap = 1e-3 * EARTH_RADIUS * np.hypot(east, np.radians(lat - lat[parent]))
        radius = np.sqrt(population[parent] / (np.pi * CORE_DENSITY))
        district |= (gap < radius) & (population <= DISTRICT_SHARE * population[parent])
    return Cities(lon[~district], lat[~district], population[~district])


def _words(name: str) -> set[str]:
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return set(re.findall("[a-z]{5,}", plain)) - PLANT_WORDS


def _position(row: Row) -> tuple[float, float]:
    return row.number("longitude", least=-180.0, most=180.0), row.number("latitude", least=-90.0, most=90.0)
