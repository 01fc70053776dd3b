"""Time series at stations and the mean diurnal cycle: observed dots, lines of the runs, range of neighbouring cells."""

from itertools import cycle
from typing import Final

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airshed.core.arrays import Array
from airshed.evaluate.evaluation import Evaluation
from airshed.evaluate.score_table import hour_of_day
from airshed.plot.evaluation.frame import (
    COLOURS,
    formula,
    grid_lines,
    legend_below,
    observed_handle,
    one_panel,
    period_of,
    run_handles,
    station_label,
    stations_of,
    unit_of,
)
from airshed.plot.limits import axis_of
from airshed.plot.page import Panels, footer, headline
from airshed.plot.series import format_axes, minutes_of, shade_night
from airshed.plot.style import DPI, INK, SIZE

Numbers = npt.NDArray[np.intp]

MOST_STATIONS: Final = 12
_NIGHTS: Final = np.timedelta64(10, "D")


def draw_series(evaluation: Evaluation, species: str) -> Figure:
    """Draw up to :data:`MOST_STATIONS` stations, the scored ones first."""
    names = stations_of(evaluation, species)
    shown = names[:MOST_STATIONS]
    columns = 1 if len(shown) == 1 else 2 if len(shown) in (2, 4) else 3
    width = {1: 7.2, 2: 4.9, 3: 3.7}[columns]
    panels = Panels(len(shown), columns, width, 2.3 if columns == 1 else 1.7, gap_across=0.25, gap_up=0.45)
    figure = panels.figure(DPI)
    pairs = evaluation.matched
    mine = pairs.observations.species == species
    heights = axis_of(np.concatenate([pairs.observations.value[mine], pairs.modelled[:, mine].ravel()]))
    for name, axes in zip(shown, panels.axes(figure), strict=True):
        _station(axes, evaluation, np.flatnonzero(mine & (pairs.observations.station == name)), heights)
        axes.set_title(station_label(evaluation, name), loc="left", fontsize=SIZE["panel"], weight="bold", pad=4)
    more = f", {len(shown)} of {len(names)} stations" if len(names) > len(shown) else ""
    headline(
        figure,
        panels.start,
        f"{formula(species)} at stations",
        f"{period_of(evaluation)}, UTC{more}  [{unit_of(evaluation, species)}]",
    )
    legend_below(figure, panels.start, [observed_handle(), *run_handles(evaluation)])
    footer(figure, panels.start + panels.across, "band: cell and its neighbours")
    return figure


def _station(axes: Axes, evaluation: Evaluation, rows: Numbers, heights: tuple[float, ...]) -> None:
    pairs = evaluation.matched
    of = pairs.observations
    rows = rows[np.argsort(of.begin[rows], kind="stable")]
    start = pairs.start.astype("datetime64[s]")
    ends = np.array([start, pairs.end.astype("datetime64[s]")])
    middle = start + np.round(0.5 * (of.begin + of.end)[rows]).astype("timedelta64[s]")
    minutes = minutes_of(middle, start)
    if ends[1] - ends[0] <= _NIGHTS:
        moments = ends[0] + np.arange(0, (ends[1] - ends[0]) // np.timedelta64(1, "s") + 1, 60).astype("timedelta64[s]")
        shade_night(axes, moments, (float(of.lon[rows[0]]), float(of.lat[rows[0]])))
    spans = start + np.round([of.begin[rows], of.end[rows]]).astype("timedelta64[s]")
    _lines(axes, evaluation, rows, minutes_of(spans, start))
    size = 3.4 if rows.size < 200 else 1.6
    axes.plot(minutes, of.value[rows], linestyle="", marker="o", markersize=size, color=INK, zorder=4, clip_on=False)
    format_axes(axes, ends, heights)


def _lines(axes: Axes, evaluation: Evaluation, rows: Numbers, spans: Array) -> None:
    """Draw the runs, broken where observations are missing for more than three intervals.

    An interval without neighbours, such as the one day of a short run, is a level line.
    """
    pairs = evaluation.matched
    minutes = spans.mean(axis=0)
    breaks = np.zeros(0, np.intp)
    if rows.size > 2:
        breaks = np.flatnonzero(np.diff(minutes) > 3.5 * np.median(np.diff(minutes))) + 1
    for number, colour in zip(range(len(pairs.runs)), cycle(COLOURS), strict=False):
        for part in np.split(np.arange(rows.size), breaks):
            at = rows[np.repeat(part, 2)] if part.size == 1 else rows[part]
            across = spans[:, part[0]] if part.size == 1 else minutes[part]
            if number == 0:
                band = pairs.low[0, at], pairs.high[0, at]
                axes.fill_between(across, *band, color=colour, alpha=0.18, linewidth=0, zorder=2)
            axes.plot(across, pairs.modelled[number, at], color=colour, linewidth=1.6, zorder=3)


def draw_cycle(evaluation: Evaluation, species: str) -> Figure | None:
    """Draw the mean of all scored stations by hour of day; None without hourly values."""
    pairs = evaluation.matched
    of = pairs.observations
    mine = (of.species == species) & ~np.isin(of.station, list(evaluation.unscored)) & (hour_of_day(pairs) >= 0)
    mine &= np.isfinite(pairs.modelled).all(axis=0)
    hours = hour_of_day(pairs)[mine]
    there = np.unique(hours)
    if there.size < 6:
        return None

    def by_hour(values: Array, share: float | None = None) -> Array:
        groups = [values[mine][hours == hour] for hour in there]
        return np.array([group.mean() if share is None else np.quantile(group, share) for group in groups])

    number = len(np.unique(of.station[mine]))
    where = "1 station" if number == 1 else f"{number} stations"
    figure, axes = one_panel(
        f"{formula(species)} through the day", f"mean of {where} by hour, UTC  [{unit_of(evaluation, species)}]"
    )
    if (np.bincount(hours) > 3).any():
        axes.fill_between(
            there + 0.5, by_hour(of.value, 0.25), by_hour(of.value, 0.75), color=INK, alpha=0.1, linewidth=0
        )
    for run, colour in zip(range(len(pairs.runs)), cycle(COLOURS), strict=False):
        axes.plot(there + 0.5, by_hour(pairs.modelled[run]), color=colour, linewidth=1.8)
    axes.plot(there + 0.5, by_hour(of.value), color=INK, linewidth=0.8, marker="o", markersize=3.6)
    axes.set_xlim(0, 24)
    axes.set_xticks(range(0, 25, 3), [f"{hour:02d}:00" if hour % 6 == 0 else "" for hour in range(0, 25, 3)])
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    grid_lines(axes)
    legend_below(figure, 0.75, [observed_handle(), *run_handles(evaluation)])
    return figure
