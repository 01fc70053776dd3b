"""Inputs from stations, with the declarations of `stations.toml` in their folder.

    area = "Queensland"                    # or "Australia"
    spacing = 0.1                          # degrees
    seed = 1994                            # seed of the synthetic maps

    [stations."roma.met"]
    source = "SILO, Queensland Government" # source of the data
    license = "CC BY 4.0"
    humidity = "vapour_pressure"           # quantity of the column vp or vpd

Stations without an entry are used unchanged. Invalid weather is refused or reported. The weather of cells is
interpolated between stations by inverse distance, with gradients:

    value(cell) = sum_s w_s value_s reference(cell) / reference_s        or, for temperatures,
    value(cell) = reference(cell) + sum_s w_s (value_s - reference_s)    w_s ~ (distance^2 + 20 km^2)^(-3/2)

over the stations with a value on that day or in that week.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import Field, ValidationError

from airshed.case.messages import explain
from airshed.core.arrays import AnyArray, Array
from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import DataError
from airshed.core.files import read_text
from airshed.core.report import Report, Table
from airshed.core.settings import Number, Section, Switch, Whole, setting
from airshed.core.text import counted
from airshed.core.toml_text import parse_toml
from airshed.grid.land import LandGrid
from airshed.models.pasture.inputs import land
from airshed.models.pasture.inputs.block import DAILY, PACKINGS, Numbers, WeatherSource
from airshed.models.pasture.inputs.contents import Inputs
from airshed.models.pasture.inputs.store import StoreSize
from airshed.models.pasture.weather.calendar import Calendar
from airshed.models.pasture.weather.checks import WeatherProblem, check, without_missing
from airshed.models.pasture.weather.met import read_met
from airshed.models.pasture.weather.station import HUMIDITY, Column, Humidity, Station, pressure_from_deficit

RECIPE: Final = "stations.toml"
_FILES: Final = ("*.met", "*.met.gz")
_UNKNOWN: Final = "not stated"


class StationEntry(Section):
    """Declaration of a station."""

    source: str = setting(_UNKNOWN, "Author and source of the data.")
    license: str = setting(_UNKNOWN, "Licence of the data.")
    humidity: Humidity = setting("as_labelled", "Quantity of the column vp or vpd, in spite of its label.")
    latitude: Number | None = setting(None, "Latitude, in place of that of the file.", unit="deg", ge=-90.0, le=90.0)
    longitude: Number | None = setting(
        None, "Longitude, in place of that of the file.", unit="deg", ge=-360.0, le=360.0
    )
    use: Switch = setting(True, "Whether the station is used.")


class Recipe(Section):
    """Declaration of inputs from stations."""

    area: str = setting("Queensland", "Queensland or Australia.")
    spacing: Number = setting(0.1, "Size of cells.", unit="deg", gt=0.0, le=5.0)
    seed: Whole = setting(1994, "Seed of the synthetic maps.", ge=0)
    first: str = setting("", "First day, as 1957-01-01; by default the first day with complete weather.")
    last: str = setting("", "Last day; by default the last day with complete weather.")
    stations: Mapping[str, StationEntry] = Field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class StationInputs:
    """Inputs from stations, and the problems of the checks of their weather."""

    inputs: Inputs
    stations: tuple[Station, ...]
    problems: tuple[WeatherProblem, ...]


def read_recipe(path: Path) -> Recipe:
    """Return the declaration in a file; raises DataError for invalid entries."""
    try:
        data = parse_toml(read_text(path))
        return Recipe.model_validate(data)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path} is not TOML: {error}") from None
    except ValidationError as error:
        raise DataError(explain(error, Recipe, data, lambda key: str(path), path, "the list of stations")) from None


def read_recipe_with_changes(
    folder: Path, declare: Path | None = None, given: Mapping[str, object] | None = None, years: str | None = None
) -> Recipe:
    """Return the declaration of the stations in a folder, with changes.

    declare  file to use instead of that in the folder
    given    settings that replace those of the file
    years    range such as "1957-2002", or "1996"
    raises   DataError for invalid entries
    """
    path = declare or folder / RECIPE
    found = read_recipe(path) if declare or path.is_file() else Recipe()
    changes = {**(given or {}), **({} if years is None else _span(years))}
    try:
        return Recipe.model_validate({**found.to_dict(), **changes})
    except ValidationError as error:
        raise DataError(explain(error, Recipe, changes, lambda key: "given", None, "the options")) from None


def _span(years: str) -> dict[str, str]:
    first, _, last = years.partition("-")
    last = last or first
    if not (first.isdecimal() and last.isdecimal() and len(first) == len(last) == 4):
        raise DataError(f"years {years!r} must be a range such as 1957-2002, or 1996")
    if first > last:
        raise DataError(f"years {years!r}: the first is after the last")
    return {"first": f"{first}-01-01", "last": f"{last}-12-31"}


def inputs_from_stations(folder: Path, recipe: Recipe | None = None) -> StationInputs:
    """Return the inputs from the stations in a folder.

    recipe  declaration, by default that in `stations.toml` of the folder, or the default one
    raises  DataError with all errors in the weather of stations, and for stations that are not sufficient
    """
    recipe = recipe or read_recipe_with_changes(folder)
    stations, problems = _stations(folder, recipe)
    errors = [str(each) for each in problems if each.kind == "error"]
    if errors:
        raise DataError(
            f"{folder}: {counted(len(errors), 'error')} in the weather of stations; correct or omit them "
            f"([stations.NAME] use = false):\n" + "\n".join(errors)
        )
    grid = land.land_grid(recipe.area, recipe.spacing)
    calendar = _calendar(stations, recipe)
    weather = StationWeather(stations, grid, calendar)
    inputs = Inputs(
        grid, calendar, land.NAMES, **land.synthetic_land(grid, recipe.seed), attributes=_attributes(recipe, stations),
        source=weather, where=str(folder),
    )  # fmt: skip
    return StationInputs(inputs, tuple(stations), tuple(problems))


def _attributes(recipe: Recipe, stations: list[Station]) -> dict[str, str]:
    entries = {Path(each.where).name: recipe.stations.get(Path(each.where).name, StationEntry()) for each in stations}
    sources = [f"{name}: {entry.source} ({entry.license})" for name, entry in entries.items()]
    return {
        "title": f"Inputs of the pasture model: {recipe.area}, {recipe.spacing:g} degree",
        "source": f"Weather of {counted(len(stations), 'station')}: {'; '.join(sources)}",
        "license": "; ".join(sorted({entry.license for entry in entries.values()})),
        "synthetic": f"{land.MAP_TEXT.format(seed=recipe.seed)} {land.GRADIENT_TEXT}",
    }


def _stations(folder: Path, recipe: Recipe) -> tuple[list[Station], list[WeatherProblem]]:
    """Read and check the stations; humidity is converted to vapour pressure."""
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}")
    files = {each.name: each for pattern in _FILES for each in sorted(folder.glob(pattern))}
    missing = sorted(set(recipe.stations) - set(files))
    if missing:
        raise DataError(f"{folder} has no file {missing[0]}, which {RECIPE} names")
    stations, problems, span = [], [], _days_given(recipe)
    for name, path in files.items():
        entry = recipe.stations.get(name, StationEntry())
        if entry.use:
            station = read_met(path, entry.humidity).at(entry.latitude, entry.longitude)
            if station.latitude is None or station.longitude is None:
                lacks = "longitude" if station.longitude is None else "latitude"
                raise DataError(f"{path} has no {lacks}; declare it: [stations.{name!r}] {lacks} = ..., or use = false")
            station = station.between(*span)
            if not station.days:
                continue
            found = check(station)
            problems += found
            stations.append(_with_pressure(without_missing(station, found)))
    if not stations:
        raise DataError(f"{folder} has no station with weather for these days: no used file {' or '.join(_FILES)}")
    return stations, problems


def _with_pressure(station: Station) -> Station:
    """Return the station with vapour pressure instead of its deficit."""
    if "vapour_pressure_deficit" not in station or "vapour_pressure" in station:
        return station
    deficit, high, low = (
        station[name] for name in ("vapour_pressure_deficit", "max_temperature", "min_temperature")
    )  # fmt: skip
    columns: dict[str, Any] = dict(station.columns)
    columns["vapour_pressure"] = Column(pressure_from_deficit(deficit, high, low), "hPa", "vpd")
    return replace(station, columns=columns)


def _days_given(recipe: Recipe) -> tuple[np.datetime64, np.datetime64]:
    """Return the first and the last day of a declaration; missing days are before or after all days."""
    try:
        return np.datetime64(recipe.first or "0001-01-01", "D"), np.datetime64(recipe.last or "9999-12-31", "D")
    except ValueError:
        raise DataError(f"first = {recipe.first!r} or last = {recipe.last!r} is not a day such as 1957-01-01") from None


def _calendar(stations: list[Station], recipe: Recipe) -> Calendar:
    """Return the days with complete weather; raises DataError if the declaration requires more days."""
    common, (first, last) = common_calendar(stations), _days_given(recipe)
    if (recipe.first and first < common.first) or (recipe.last and last > common.last):
        raise DataError(
            f"stations have complete weather from {common.first} to {common.last}, not from {first} to {last}"
        )
    return common


POWER: Final = 3.0
_SMOOTH: Final = 20.0  # [km] smoothing length: stations within this distance have similar weights


class StationWeather(WeatherSource):
    """Weather of packed cells from stations; see `WeatherSource`.

    stations  stations with vapour pressure, NaN for missing values

    Raises DataError for a day on which no station has a value of a field.
    """

    block_days = 64
    names = land.NAMES

    def __init__(self, stations: Sequence[Station], grid: LandGrid, calendar: Calendar) -> None:
        self.calendar, self.cells = calendar, grid.cells
        places = np.array([(each.latitude, each.longitude) for each in stations], np.float64)
        self._weights = _weights(places, grid)
        self._series = {name: _series(stations, name, calendar) for name in land.NAMES}
        ends = [(lat, land.coast_distance(lat, lon)) for lat, lon in (places.T, (grid.cell_lat, grid.cell_lon))]
        self._references = {name: [land.reference(name, *end) for end in ends] for name in land.NAMES}

    def numbers(self, first: int, days: int, cells: tuple[int, int]) -> Numbers:
        """Return the packed weather, as in a store; see `WeatherSource`."""
        self.calendar.check(first, days, "the stations")
        weeks = self.calendar.week([first, first + days - 1])
        rows = {True: slice(first, first + days), False: slice(int(weeks[0]), int(weeks[1]) + 1)}
        parts = {name: self._between(name, rows[name in DAILY], slice(*cells)) for name in land.NAMES}
        return Numbers(self.calendar, first, days, parts)

    def _between(self, name: str, rows: slice, cells: slice) -> AnyArray:
        """Return the packed numbers of a field (rows, cells)."""
        values, (of_station, of_cell) = self._series[name][rows], self._references[name]
        reference = of_cell[cells]
        if name in land.SHIFTED:
            found = reference + _mean(values - of_station, self._weights[:, cells])
        else:
            found = reference * _mean(values / of_station, self._weights[:, cells])
        return PACKINGS[name].packed(found, f"between stations {name}")


def _series(stations: Sequence[Station], name: str, calendar: Calendar) -> Array:
    """Return the values of stations (days or weeks, stations), NaN if missing; raises DataError if all are missing."""
    days = np.full((calendar.days, len(stations)), np.nan)
    for column, station in zip(days.T, stations, strict=True):
        if name in station:
            place = (station.dates - calendar.first).astype(np.int64)
            held = (place >= 0) & (place < calendar.days)
            column[place[held]] = station[name][held]
    rows = days if name in DAILY else _weekly(days, calendar)
    unknown = np.isnan(rows).all(axis=1)
    if unknown.any():
        first = int(np.argmax(unknown))
        at = first if name in DAILY else int(np.argmax(calendar.week(np.arange(calendar.days)) == first))
        span = "on" if name in DAILY else "in the week of"
        raise DataError(
            f"no station has {name} {span} {calendar.dates([at])[0]}; add a station, or choose years without that "
            "day (--years)"
        )
    return rows


def _weekly(days: Array, calendar: Calendar) -> Array:
    """Return the means over the known days of each week (weeks, stations)."""
    weeks = calendar.week(np.arange(calendar.days))
    known = np.isfinite(days)
    sums, counts = (np.zeros((calendar.weeks, days.shape[1])) for _ in range(2))
    np.add.at(sums, weeks, np.where(known, days, 0.0))
    np.add.at(counts, weeks, known)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _weights(places: Array, grid: LandGrid) -> Array:
    """Return the weights (stations, cells), without normalisation."""
    lat, lon = np.radians(grid.cell_lat), np.radians(grid.cell_lon)
    north, east = np.radians(places).T
    across = np.cos(lat) * np.cos(north)[:, None] * np.sin((lon - east[:, None]) / 2.0) ** 2
    angle = 2.0 * np.arcsin(np.sqrt(np.sin((lat - north[:, None]) / 2.0) ** 2 + across))
    distance = EARTH_RADIUS / 1000.0 * angle
    weights = (distance**2 + _SMOOTH**2) ** (-POWER / 2.0)
    return np.asarray(weights / weights.max(axis=0))


def _mean(values: Array, weights: Array) -> Array:
    """Return weighted means (rows, cells) of the known values (rows, stations).

    Stations are added sequentially, so that the value of a cell does not depend on the number of requested cells.
    """
    known = np.isfinite(values)
    patterns, of_row = np.unique(known, axis=0, return_inverse=True)
    result = np.zeros((len(values), weights.shape[1]))
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(of_row.ravel() == number)
        chosen = np.flatnonzero(pattern)
        total = np.zeros(weights.shape[1])
        for station in chosen:
            total += weights[station]
        sums = np.zeros((len(rows), weights.shape[1]))
        for station in chosen:
            sums += values[rows, station, None] * weights[station]
        result[rows] = sums / total
    return result


def common_calendar(stations: Sequence[Station], names: Sequence[str] = land.NAMES) -> Calendar:
    """Return the days between the first and the last with all fields at some station; raises DataError if none."""
    first, last = [], []
    for name in names:
        spans = [station.dates[np.isfinite(station[name])] for station in stations if name in station]
        spans = [each for each in spans if each.size]
        if not spans:
            raise DataError(f"no station has {name}; add one that has it, or declare the humidity of a station")
        first.append(min(each[0] for each in spans))
        last.append(max(each[-1] for each in spans))
    if max(first) > min(last):
        raise DataError("there is no day on which stations have all fields; add stations with common days")
    return Calendar.between(max(first), min(last))


def report(prepared: StationInputs, written: StoreSize | None) -> Report:
    """Return a report of stations and problems, and of the written store if there is one."""
    inputs = prepared.inputs
    facts: dict[str, str | int | float] = {
        "area": inputs.attributes["title"],
        "land cells": inputs.grid.cells,
        "grid": f"{len(inputs.grid.lon)} x {len(inputs.grid.lat)}",
        "days": f"{inputs.calendar.first} to {inputs.calendar.last}, {inputs.calendar.days}",
        "license": inputs.attributes["license"],
        "synthetic": inputs.attributes["synthetic"],
    }
    if written is not None:
        facts["written"] = str(written.path)
        facts["bytes"] = written.bytes
        facts["weather before compression"] = written.uncompressed
        facts["ratio"] = written.uncompressed / written.bytes
    stations = [_row(each) for each in prepared.stations]
    columns = ("station", "lat", "lon", "first", "last", "rain [mm/year]", "humidity")
    tables = [Table("Stations", columns, stations)]
    if prepared.problems:
        unknown = ["; treated as missing" if each.missing else "" for each in prepared.problems]
        rows = [(each.kind, each.rule, each.text + end) for each, end in zip(prepared.problems, unknown, strict=True)]
        tables.append(Table("Findings in the weather", ("kind", "rule", "finding"), rows))
    return Report("Inputs of the pasture model", tables, facts)


def _row(station: Station) -> tuple[str | float | None, ...]:
    rain = float(np.nanmean(station["rain"])) * 365.25 if "rain" in station else None
    known = [station.columns[name].label for name in HUMIDITY if name in station]
    dates = str(station.dates[0]), str(station.dates[-1])
    return station.name, station.latitude, station.longitude, *dates, rain, known[-1] if known else "none"
