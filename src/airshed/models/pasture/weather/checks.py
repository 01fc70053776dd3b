"""Checks of the weather of a station: each finding names the station, the day and the value.

Errors are impossible weather; warnings are improbable weather, with the evidence. Rules check the columns that a
station has. Missing columns are reported where they are needed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.text import counted
from airshed.models.pasture.fields import WEATHER
from airshed.models.pasture.forms import saturation_pressure
from airshed.models.pasture.weather.calendar import day_of_year
from airshed.models.pasture.weather.station import HUMIDITY, UNITS, Station, humidity_evidence

Mask = npt.NDArray[np.bool_]
RANGES: Final = {spec.name: spec.valid for spec in WEATHER if spec.name in UNITS and spec.valid is not None}
"""Minimum and maximum of daily values."""
CODES: Final = (-9999.0, -999.9, -999.0, -99.9, -99.0, 99.9, 999.0, 999.9, 9999.0, 9999.9)
"""Codes of missing values, if they are out of range."""

_SUNNY: Final = 5.0  # [MJ m-2]
_SUPERSATURATED: Final = 1.1
_FEW: Final = 0.02


@dataclass(frozen=True)
class WeatherProblem:
    """Error or warning about the weather of a station.

    rule     name of the rule
    missing  column whose values on `days` are treated as missing; "" for none
    """

    kind: Literal["error", "warning"]
    rule: str
    text: str
    missing: str = ""
    days: Mask | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def check(station: Station) -> list[WeatherProblem]:
    """Return the problems on the weather of a station, errors first."""
    notes = [WeatherProblem("warning", "place", f"{station.where}: {note}") for note in station.notes]
    found = [*notes, *(each for rule in RULES for each in rule(station))]
    return sorted(found, key=lambda each: each.kind)


def without_missing(station: Station, problems: list[WeatherProblem]) -> Station:
    """Return the weather with NaN for all values that the problems mark as missing."""
    columns = dict(station.columns)
    for each in problems:
        if each.missing and each.days is not None:
            column = columns[each.missing]
            columns[each.missing] = replace(column, values=np.where(each.days, np.nan, column.values))
    return replace(station, columns=columns)


def days_in_order(station: Station) -> Iterator[WeatherProblem]:
    """Find missing, duplicate and decreasing dates."""
    steps = np.diff(station.dates).astype(np.int64)
    gaps = np.flatnonzero(steps > 1)
    if gaps.size:
        before, after = station.dates[gaps[0]], station.dates[gaps[0] + 1]
        total = int((steps[gaps] - 1).sum())
        text = f"{_at(station)}: {counted(total, 'day')} missing, the first between {before} and {after}"
        yield WeatherProblem("error", "missing days", text)
    back = np.flatnonzero(steps < 1)
    if back.size:
        before, after = station.dates[back[0]], station.dates[back[0] + 1]
        yield WeatherProblem("error", "order of days", f"{_at(station)}: the day {after} follows {before}")


def values_known(station: Station) -> Iterator[WeatherProblem]:
    """Find missing values."""
    for name in station:
        if (unknown := ~np.isfinite(station[name])).any():
            yield _finding(station, "warning", "no value", name, unknown, "has no value", missing=name)


def codes(station: Station) -> Iterator[WeatherProblem]:
    """Find numbers such as 999 that are codes of missing values."""
    for name in station:
        if (coded := _coded(station, name)).any():
            why = "is a code for a missing value"
            yield _finding(station, "error", "code", name, coded, why, missing=name)


def possible(station: Station) -> Iterator[WeatherProblem]:
    """Find impossible values: out of range, radiation above that at the top of the atmosphere, supersaturation."""
    for name in station:
        low, high = RANGES[name]
        values = station[name]
        wrong = ((values < low) | (values > high)) & ~_coded(station, name)
        if wrong.any():
            why = f"is not between {low:g} and {high:g} {UNITS[name]}"
            yield _finding(station, "error", "impossible value", name, wrong, why, missing=name)
    if "radiation" in station and station.latitude is not None:
        top = extraterrestrial(station.latitude, day_of_year(station.dates))
        beyond = (station["radiation"] > top) & (station["radiation"] <= RANGES["radiation"][1])
        if beyond.any():
            yield _finding(
                station, "error", "impossible value", "radiation", beyond, "exceeds the extraterrestrial radiation"
            )
    if {"vapour_pressure", "max_temperature"} <= set(station):
        limit = _SUPERSATURATED * saturation_pressure(np.clip(station["max_temperature"], -40.0, 60.0))
        beyond = station["vapour_pressure"] > limit
        beyond &= station["vapour_pressure"] <= RANGES["vapour_pressure"][1]
        if beyond.any():
            why = "is above saturation at the maximum temperature of the day"
            yield _finding(station, "warning", "saturation", "vapour_pressure", beyond, why)


def swapped(station: Station) -> Iterator[WeatherProblem]:
    """Find columns whose names seem to be exchanged."""
    if {"max_temperature", "min_temperature"} <= set(station):
        low, high = station["min_temperature"], station["max_temperature"]
        turned = (low > high) & ~_coded(station, "min_temperature") & ~_coded(station, "max_temperature")
        if turned.any():
            day = int(np.argmax(turned))
            share = turned.mean()
            why = f"is above max_temperature {high[day]:g} degC"
            why += "; the columns seem to be swapped" if share > 0.5 else ""
            yield _finding(station, "error", "swapped columns", "min_temperature", turned, why)
    yield from _swapped_means(station)
    yield from _swapped_rain(station)


def _swapped_means(station: Station) -> Iterator[WeatherProblem]:
    """Find a pan evaporation above radiation: in any climate radiation in MJ is three to four times as large."""
    if {"pan_evaporation", "radiation"} <= set(station):
        pan, light = (float(np.nanmedian(station[name])) for name in ("pan_evaporation", "radiation"))
        if pan > light:
            text = f"the median of pan_evaporation is {pan:.1f} mm, that of radiation {light:.1f} MJ m-2"
            yield WeatherProblem("error", "swapped columns", f"{_at(station)}: {text}; the columns seem to be swapped")


def _swapped_rain(station: Station) -> Iterator[WeatherProblem]:
    """Find another column with the many zeros that are typical of rain."""
    if "rain" not in station or station.days < 30:
        return
    dry = float((station["rain"] == 0.0).mean())
    for name in (name for name in station if name != "rain"):
        zero = float((station[name] == 0.0).mean())
        if dry < _FEW and zero > 0.2:
            text = f"{dry:.0%} of the days have no rain, and {zero:.0%} have {name} 0; the columns seem to be swapped"
            yield WeatherProblem("error", "swapped columns", f"{_at(station)}: {text}")


def dry_pan(station: Station) -> Iterator[WeatherProblem]:
    """Find days with radiation but without pan evaporation, on which the pan was not read."""
    if {"pan_evaporation", "radiation"} <= set(station):
        empty = (station["pan_evaporation"] == 0.0) & (station["radiation"] > _SUNNY)
        if empty.any():
            light = station["radiation"][int(np.argmax(empty))]
            why = f"with radiation of {light:g} MJ m-2 seems not to have been read"
            yield _finding(station, "warning", "pan", "pan_evaporation", empty, why, missing="pan_evaporation")


def humidity(station: Station) -> Iterator[WeatherProblem]:
    """Find a vapour pressure deficit that is labelled as pressure, or vice versa."""
    for name in (name for name in HUMIDITY if name in station):
        evidence = humidity_evidence(station, name)
        if evidence is None or evidence.verdict in ("", name):
            continue
        label = station.columns[name].label
        yield WeatherProblem(
            "warning", "humidity",
            f"{_at(station)}: the column {label} is read as {name}, but is probably {evidence.verdict}: {evidence}, "
            f"as on {station.dates[0]}, {station[name][0]:g} hPa; declare humidity = {evidence.verdict!r} if so",
        )  # fmt: skip


RULES: Final[tuple[Callable[[Station], Iterator[WeatherProblem]], ...]] = (
    days_in_order, values_known, codes, possible, swapped, dry_pan, humidity,
)  # fmt: skip


def extraterrestrial(latitude: float, day: npt.ArrayLike) -> Array:
    """Return the daily radiation at the top of the atmosphere [MJ m-2] at a latitude [degrees], by day of the year.

    Source: Allen et al. (1998), FAO Irrigation and Drainage Paper 56, equation 21.
    """
    angle = 2.0 * np.pi * np.asarray(day) / 365.0
    distance, declination, place = 1.0 + 0.033 * np.cos(angle), 0.409 * np.sin(angle - 1.39), np.radians(latitude)
    sunset = np.arccos(np.clip(-np.tan(place) * np.tan(declination), -1.0, 1.0))
    height = sunset * np.sin(place) * np.sin(declination) + np.cos(place) * np.cos(declination) * np.sin(sunset)
    return np.asarray(24.0 * 60.0 / np.pi * 0.0820 * distance * height)


def _coded(station: Station, name: str) -> Mask:
    low, high = RANGES[name]
    values = station[name]
    return np.isin(values, CODES) & ((values < low) | (values > high))


def _at(station: Station) -> str:
    return f"{station.name} ({station.where})"


def _finding(
    station: Station, kind: Literal["error", "warning"], rule: str, name: str, days: Mask, why: str, missing: str = ""
) -> WeatherProblem:
    """Return a finding about a column on some days; the message names the first day."""
    first, count = int(np.argmax(days)), int(days.sum())
    more = f" (and {counted(count - 1, 'more day')})" if count > 1 else ""
    value = station[name][first]
    shown = "" if np.isnan(value) else f" {value:g} {UNITS[name]}"
    return WeatherProblem(
        kind, rule, f"{_at(station)}, {station.dates[first]}: {name}{shown} {why}{more}", missing, days
    )
