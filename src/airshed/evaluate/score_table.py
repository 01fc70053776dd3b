"""Table of statistics: by species and run, pooled, by class of station, by station and by hour of day."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.report import Cell, Table
from airshed.evaluate.aggregates import daily_mean, mda8
from airshed.evaluate.pairing import Pairs
from airshed.evaluate.statistics import PERCENT, Target, ninetieth, paired, scores, target

Rows = npt.NDArray[np.bool_]

Group = Literal["pooled", "class", "station", "hour"]

ENOUGH: Final = 0.75
"""Share of the period that a station must cover, as the EU's Directive 2008/50/EC and FAIRMODE require."""

LONGEST_OF_HOURS: Final = 3 * 3600.0
"""Observations over more than this [s] have no hour of day."""

HOUR: Final = 3600.0

BY_DAY: Final[Mapping[str, Callable[..., Any]]] = {"O3": mda8, "PM10": daily_mean, "PM2.5": daily_mean}
"""Daily values for FAIRMODE's indicator; for NO2 it is defined for hourly values."""

DAILY: Final = ("PM10", "PM2.5")
"""Species for which the indicator takes daily means as they are."""

SHOWN: Final = ("N", "MO", "MP", "MB", "NMB", "FB", "FE", "RMSE", "R", "IOA", "FAC2", "MQI")
"""Statistics in the report; the files have all."""

_COMPARED: Final = ("MB", "NMB", "FE", "RMSE", "R", "IOA", "FAC2", "MQI")


@dataclass(frozen=True)
class Score:
    """Statistics of one run and species for a group of pairs.

    name      station, class, or hour of day (UTC); "all" for pooled pairs
    coverage  share of the period with pairs [1]; NaN for groups other than a station
    values    statistics by name, see :mod:`airshed.evaluate.statistics`; MQI is NaN where it is not defined
    target    point of the target diagram, for stations
    scored    whether the pooled statistics contain the pairs
    """

    run: str
    species: str
    unit: str
    group: Group
    name: str
    coverage: float
    values: Mapping[str, float]
    target: Target | None = None
    scored: bool = True

    @property
    def is_complete(self) -> bool:
        """True if a station has enough data; True for other groups."""
        return not self.coverage < ENOUGH


def score_table(pairs: Pairs, classes: Mapping[str, str], unscored: frozenset[str]) -> list[Score]:
    """Return all statistics of pairs.

    classes   class of each station, such as "urban background"; "" where it is not known
    unscored  stations that are shown, but neither pooled nor part of a class or an hour
    """
    of, found = pairs.observations, []
    for run in range(len(pairs.runs)):
        for species in pairs.units:
            subject = _Subject(pairs, run, species)
            mine = of.species == species
            stations = [_station(subject, mine, name, name not in unscored) for name in _names(of.station[mine])]
            groups = _groups(pairs, mine & ~np.isin(of.station, list(unscored)), classes)
            found += [_pooled(subject, group, name, rows, stations) for group, name, rows in groups]
            found += stations
    return found


@dataclass(frozen=True)
class _Subject:
    """Run and species of a group of pairs."""

    pairs: Pairs
    run: int
    species: str

    @property
    def head(self) -> tuple[str, str, str]:
        """Names of run, species and unit."""
        return self.pairs.runs[self.run], self.species, self.pairs.units[self.species]

    def values(self, rows: Rows) -> tuple[Array, Array]:
        """Return the observed and the modelled values of some pairs."""
        return self.pairs.observations.value[rows], self.pairs.modelled[self.run, rows]


def _station(subject: _Subject, mine: Rows, name: str, scored: bool) -> Score:
    rows = mine & (subject.pairs.observations.station == name)
    o, m = subject.values(rows)
    there = np.isfinite(o) & np.isfinite(m)
    point = target(subject.species, *_for_indicator(subject, rows)) if subject.head[2] == "ug/m3" else None
    values = {**scores(o, m), "MQI": point.mqi if point else np.nan}
    covered = coverage(subject.pairs, np.flatnonzero(rows)[there])
    return Score(*subject.head, "station", name, covered, values, point, scored)


def _for_indicator(subject: _Subject, rows: Rows) -> tuple[Array, Array]:
    """Return the values of one station for which the MQI is defined, none where its pairs are means of other periods.

    Shorter means are made hourly; from hourly ones those of days of UTC are made, if the species has an aggregate.
    """
    o, m = paired(*subject.values(rows))
    aggregate = BY_DAY.get(subject.species)
    of, there = subject.pairs.observations, np.isfinite(subject.values(rows)).all(axis=0)
    begin, end = of.begin[rows][there], of.end[rows][there]
    daily = np.isclose(end - begin, 24.0 * HOUR)
    if subject.species in DAILY and daily.any():
        return o[daily], m[daily]
    end, o, m = _hourly(begin, end, o, m)
    if aggregate is None or not o.size:
        return o, m
    import xarray as xr

    times = subject.pairs.start.astype("datetime64[ns]") + np.round(end).astype("timedelta64[s]")
    series = xr.DataArray(np.stack([o, m], axis=1), {"time": times}, ("time", "series"))
    daily = aggregate(series).to_numpy()
    return paired(daily[:, 0], daily[:, 1])


def _hourly(begin: Array, end: Array, o: Array, m: Array) -> tuple[Array, Array, Array]:
    """Return ends [s] and means of the hours that means of an hour or less cover once, in order."""
    phase = float(end[0]) % HOUR if end.size and not np.ptp(end % HOUR) else 0.0
    number = np.ceil((end - phase) / HOUR - 1e-6)
    spans = end - begin
    short = (spans > 0.0) & (begin >= (number - 1.0) * HOUR + phase - 1.0)
    hours, of_hour = np.unique(number[short], return_inverse=True)
    covered = np.bincount(of_hour, spans[short], hours.size)
    whole = np.isclose(covered, HOUR)
    means = [np.bincount(of_hour, spans[short] * values[short], hours.size)[whole] / HOUR for values in (o, m)]
    return hours[whole] * HOUR + phase, means[0], means[1]


def _pooled(subject: _Subject, group: Group, name: str, rows: Rows, stations: Sequence[Score]) -> Score:
    """Return the statistics of pooled pairs; their MQI is the 90th percentile of the stations', not of hours."""
    members = set(subject.pairs.observations.station[rows].tolist()) if group != "hour" else set()
    indicators = np.array([each.values["MQI"] for each in stations if each.name in members], np.float64)
    values = {**scores(*subject.values(rows)), "MQI": ninetieth(indicators)}
    return Score(*subject.head, group, name, np.nan, values)


def coverage(pairs: Pairs, rows: npt.NDArray[np.intp]) -> float:
    """Return the share of the window that the intervals of some pairs of one station cover; NaN for instants."""
    of = pairs.observations
    spans = (of.end - of.begin)[rows]
    if not rows.size or not spans.max() or not pairs.length:
        return np.nan if rows.size else 0.0
    possible = np.floor(pairs.length / spans.max() + 1e-9) * spans.max()  # whole days of a run of 30 h
    return float(min(spans.sum() / possible, 1.0)) if possible else 0.0


def _groups(pairs: Pairs, pooled: Rows, classes: Mapping[str, str]) -> Iterator[tuple[Group, str, Rows]]:
    """Yield the groups of pooled pairs: all of them, those of each class, those of each hour of day."""
    of = pairs.observations
    yield "pooled", "all", pooled
    of_row = np.array([classes.get(name, "") for name in of.station.tolist()])
    for name in _names(of_row[pooled]):
        if name:
            yield "class", name, pooled & (of_row == name)
    hours = hour_of_day(pairs)
    for hour in np.unique(hours[pooled & (hours >= 0)]).tolist():
        yield "hour", f"{hour:02d}", pooled & (hours == hour)


def hour_of_day(pairs: Pairs) -> npt.NDArray[np.intp]:
    """Return the hour of day (UTC) of the middle of each interval, -1 for long intervals, (p,)."""
    of = pairs.observations
    midnight = pairs.start.astype("datetime64[D]")
    since = (pairs.start - midnight) / np.timedelta64(1, "s") + 0.5 * (of.begin + of.end)
    hours = np.floor(since / 3600.0 + 1e-9).astype(np.intp) % 24
    return np.where(of.end - of.begin > LONGEST_OF_HOURS, -1, hours)


def _names(names: npt.NDArray[np.str_]) -> list[str]:
    return [str(name) for name in np.unique(names)]


def columns(scores: Sequence[Score]) -> tuple[list[str], list[tuple[Cell, ...]]]:
    """Return all statistics as the columns and rows of one long table."""
    names = list(scores[0].values) if scores else []
    head = ["run", "species", "unit", "group", "name", "scored", "coverage", "complete"]
    rows: list[tuple[Cell, ...]] = [
        (each.run, each.species, each.unit, each.group, each.name, each.scored, each.coverage, each.is_complete,
         *(int(value) if name == "N" else value for name, value in each.values.items()),
         *((each.target.x, each.target.y) if each.target else (np.nan, np.nan)))
        for each in scores
    ]  # fmt: skip
    return [*head, *names, "target_x", "target_y"], rows


def report_tables(scores: Sequence[Score]) -> list[Table]:
    """Return the tables of the report: for each species pooled, classes and stations, for all runs."""
    found = []
    several = len({each.run for each in scores}) > 1
    for species in dict.fromkeys(each.species for each in scores):
        mine = [each for each in scores if each.species == species and each.group != "hour"]
        order = list(dict.fromkeys((each.group, each.name) for each in mine))
        ordered = [each for key in order for each in mine if (each.group, each.name) == key]
        shown = [name for name in SHOWN if name != "MQI" or any(np.isfinite(each.values["MQI"]) for each in mine)]
        head = ("stations", *(("run",) if several else ()), "data [%]")
        rows = [
            (
                _label(each),
                *((each.run,) if several else ()),
                (None if np.isnan(each.coverage) else round(100.0 * each.coverage)),
                *(_cell(each, name) for name in shown),
            )
            for each in ordered
        ]
        names = [f"{name} [%]" if name in PERCENT else name for name in shown]
        found.append(Table(f"{species} [{mine[0].unit}]", [*head, *names], rows, _note(mine)))
    return found


def difference_table(scores: Sequence[Score]) -> list[Table]:
    """Return the change of pooled statistics from the first run to each other one; nothing for a single run."""
    pooled = {(each.run, each.species): each for each in scores if each.group == "pooled"}
    first, *others = dict.fromkeys(run for run, _ in pooled)
    rows: list[tuple[Cell, ...]] = [
        (species, pooled[run, species].unit, run, *(_change(pooled[first, species], pooled[run, species], name)
                                                    for name in _COMPARED))
        for run in others
        for species in dict.fromkeys(each.species for each in scores)
    ]  # fmt: skip
    columns = ("species", "unit", "run", *(f"{name} [%]" if name in PERCENT else name for name in _COMPARED))
    note = "MB and NMB by absolute value; a negative change is an improvement of MB, NMB, FE, RMSE and MQI"
    return [Table(f"Change from {first}", columns, rows, note)] if rows else []


def _change(before: Score, after: Score, name: str) -> float:
    sizes = [abs(value) if name in ("MB", "NMB") else value for value in (before.values[name], after.values[name])]
    change = sizes[1] - sizes[0]
    return float(f"{change:.3g}") if np.isfinite(change) else np.nan


def _label(each: Score) -> str:
    if each.group == "pooled":
        return "all scored stations"
    if each.group == "class":
        return f"all {each.name}"
    return each.name + ("" if each.scored else " (not scored)") + ("" if each.is_complete else " *")


def _note(scores: Sequence[Score]) -> str:
    notes = []
    if any(not each.is_complete for each in scores):
        notes.append(f"* has less than {ENOUGH:.0%} of the data")
    if any(np.isfinite(each.values["MQI"]) for each in scores):
        notes.append(
            "MQI of several stations: 90th percentile; 1 or less meets FAIRMODE's objective, defined for a year"
        )
    return "; ".join(notes)


def _cell(each: Score, name: str) -> Cell:
    value = each.values[name]
    if name == "N":
        return int(value)
    return float(f"{value:.3g}") if np.isfinite(value) else np.nan
