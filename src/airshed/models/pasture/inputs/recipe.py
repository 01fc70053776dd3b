"""Inputs that are made of stations: what `stations.toml` in their folder declares, and what becomes of it.

    area = "Queensland"                    # or "Australia"
    spacing = 0.1                          # degrees
    seed = 1994                            # of the synthetic maps
    [stations."roma.met"]
    source = "SILO, Queensland Government" # of its data
    license = "CC BY 4.0"
    humidity = "vapour_pressure"           # what its column vp or vpd is

Stations that it does not name are used as they are. Weather that checks find wrong is refused, or told.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import Field, ValidationError

from airshed.case.messages import explain
from airshed.core.errors import DataError
from airshed.core.files import read_text
from airshed.core.settings import Number, Section, Switch, Whole, setting
from airshed.core.text import counted
from airshed.core.toml_text import parse_toml
from airshed.grid.land import LandGrid
from airshed.models.pasture.inputs import gradients, maps
from airshed.models.pasture.inputs.area import coast_distance, land_grid
from airshed.models.pasture.inputs.contents import Contents, Inputs
from airshed.models.pasture.inputs.interpolation import NAMES, StationWeather, common_calendar
from airshed.models.pasture.weather.calendar import Calendar
from airshed.models.pasture.weather.checks import Finding, check, without_missing
from airshed.models.pasture.weather.humidity import pressure_from_deficit
from airshed.models.pasture.weather.met import read_met
from airshed.models.pasture.weather.station import Column, Humidity, Station

RECIPE: Final = "stations.toml"
_FILES: Final = ("*.met", "*.met.gz")
_UNKNOWN: Final = "not stated"


class StationEntry(Section):
    """What is declared of a station."""

    source: str = setting(_UNKNOWN, "Who made its data, and where they are from.")
    license: str = setting(_UNKNOWN, "Terms of its data.")
    humidity: Humidity = setting("as_labelled", "What its column vp or vpd is, whatever the label says.")
    latitude: Number | None = setting(None, "Where the file tells none, or another.", unit="deg", ge=-90.0, le=90.0)
    longitude: Number | None = setting(None, "Where the file tells none, or another.", unit="deg", ge=-360.0, le=360.0)
    use: Switch = setting(True, "Whether it is used.")


class Recipe(Section):
    """What inputs are made of stations."""

    area: str = setting("Queensland", "Queensland or Australia.")
    spacing: Number = setting(0.1, "Size of cells.", unit="deg", gt=0.0, le=5.0)
    seed: Whole = setting(1994, "Of the synthetic maps.", ge=0)
    first: str = setting("", "First day, as 1957-01-01; by default the first for which stations have all weather.")
    last: str = setting("", "Last day; by default the last for which stations have all weather.")
    stations: Mapping[str, StationEntry] = Field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Inputs that were made of stations, and what was found wrong with these."""

    inputs: Inputs
    stations: tuple[Station, ...]
    findings: tuple[Finding, ...]


def read_recipe(path: Path) -> Recipe:
    """Return what a file declares; raises DataError for what it cannot."""
    try:
        data = parse_toml(read_text(path))
        return Recipe.model_validate(data)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path} is no TOML: {error}") from None
    except ValidationError as error:
        raise DataError(explain(error, Recipe, data, lambda key: str(path), path, "the list of stations")) from None


def recipe_of(
    folder: Path, declare: Path | None = None, asked: Mapping[str, object] | None = None, years: str | None = None
) -> Recipe:
    """Return what is declared of the stations in a folder, with what is asked for in its place.

    declare  a file, unless the folder's own;  asked  settings;  years  such as "1957-2002" or "1996"
    raises   DataError for what cannot be
    """
    path = declare or folder / RECIPE
    found = read_recipe(path) if declare or path.is_file() else Recipe()
    changes = {**(asked or {}), **({} if years is None else _span(years))}
    try:
        return Recipe.model_validate({**found.to_dict(), **changes})
    except ValidationError as error:
        raise DataError(explain(error, Recipe, changes, lambda key: "given", None, "what is asked for")) from None


def _span(years: str) -> dict[str, str]:
    first, _, last = years.partition("-")
    last = last or first
    if not (first.isdecimal() and last.isdecimal() and len(first) == len(last) == 4):
        raise DataError(f"years {years!r} are no years such as 1957-2002, or 1996")
    if first > last:
        raise DataError(f"years {years!r}: the first is after the last")
    return {"first": f"{first}-01-01", "last": f"{last}-12-31"}


def inputs_of_stations(folder: Path, recipe: Recipe | None = None) -> Prepared:
    """Return inputs made of the stations in a folder.

    recipe  unless that of the folder's `stations.toml`, or the default where there is none
    raises  DataError for stations whose weather has errors, with all of them, and where nothing can be made
    """
    recipe = recipe or recipe_of(folder)
    stations, findings = _stations(folder, recipe)
    errors = [str(each) for each in findings if each.kind == "error"]
    if errors:
        raise DataError(
            f"{folder}: {counted(len(errors), 'error')} in the weather of stations; mend or leave out ([stations.NAME] "
            f"use = false):\n" + "\n".join(errors)
        )
    grid = land_grid(recipe.area, recipe.spacing)
    calendar = _calendar(stations, recipe)
    weather = StationWeather(stations, grid, calendar)
    contents = _contents(recipe, grid, calendar, stations)
    return Prepared(Inputs(str(folder), contents, weather), tuple(stations), tuple(findings))


def _contents(recipe: Recipe, grid: LandGrid, calendar: Calendar, stations: list[Station]) -> Contents:
    made = maps.synthetic_maps(grid, coast_distance(grid), recipe.seed)
    soils, pastures = maps.classes("soil", maps.SOILS), maps.classes("pasture", maps.PASTURES)
    return Contents(
        grid, calendar, NAMES, soils, pastures, made, maps.initial_state(made), _attributes(recipe, stations)
    )


def _attributes(recipe: Recipe, stations: list[Station]) -> dict[str, str]:
    entries = {Path(each.where).name: recipe.stations.get(Path(each.where).name, StationEntry()) for each in stations}
    told = [f"{name}: {entry.source} ({entry.license})" for name, entry in entries.items()]
    return {
        "title": f"Inputs of the pasture model: {recipe.area}, {recipe.spacing:g} degree",
        "source": f"Weather of {counted(len(stations), 'station')}: {'; '.join(told)}",
        "license": "; ".join(sorted({entry.license for entry in entries.values()})),
        "synthetic": f"{maps.TEXT.format(seed=recipe.seed)} {gradients.TEXT}",
    }


def _stations(folder: Path, recipe: Recipe) -> tuple[list[Station], list[Finding]]:
    """Read and check the stations that are to be used; their humidity becomes a pressure."""
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}")
    files = {each.name: each for pattern in _FILES for each in sorted(folder.glob(pattern))}
    missing = sorted(set(recipe.stations) - set(files))
    if missing:
        raise DataError(f"{folder} has no file {missing[0]}, which its stations name")
    stations, findings, span = [], [], _asked(recipe)
    for name, path in files.items():
        entry = recipe.stations.get(name, StationEntry())
        if entry.use:
            station = read_met(path, entry.humidity).at(entry.latitude, entry.longitude)
            if station.latitude is None or station.longitude is None:
                lacks = "longitude" if station.longitude is None else "latitude"
                raise DataError(
                    f"{path} tells no {lacks}; declare it: [stations.{name!r}] {lacks} = ..., or use = false"
                )
            station = station.between(*span)
            if not station.days:
                continue
            found = check(station)
            findings += found
            stations.append(_with_pressure(without_missing(station, found)))
    if not stations:
        raise DataError(f"{folder} has no station of these days: no file {' or '.join(_FILES)} that is used")
    return stations, findings


def _with_pressure(station: Station) -> Station:
    """Return the station with vapour pressure in place of its deficit."""
    if "vapour_pressure_deficit" not in station or "vapour_pressure" in station:
        return station
    deficit, high, low = (
        station[name] for name in ("vapour_pressure_deficit", "max_temperature", "min_temperature")
    )  # fmt: skip
    columns: dict[str, Any] = dict(station.columns)
    columns["vapour_pressure"] = Column(pressure_from_deficit(deficit, high, low), "hPa", "vpd")
    return replace(station, columns=columns)


def _asked(recipe: Recipe) -> tuple[np.datetime64, np.datetime64]:
    """Return the first and the last day that are asked for; what is not asked for is before or after all days."""
    try:
        return np.datetime64(recipe.first or "0001-01-01", "D"), np.datetime64(recipe.last or "9999-12-31", "D")
    except ValueError:
        raise DataError(f"first = {recipe.first!r} or last = {recipe.last!r} is no day such as 1957-01-01") from None


def _calendar(stations: list[Station], recipe: Recipe) -> Calendar:
    """Return the days for which stations have all weather; raises DataError where more were asked for."""
    common, (first, last) = common_calendar(stations), _asked(recipe)
    if (recipe.first and first < common.first) or (recipe.last and last > common.last):
        raise DataError(f"stations have all weather from {common.first} to {common.last}, not from {first} to {last}")
    return common
