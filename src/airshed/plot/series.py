"""Time series of fields at the ground in the largest cities, night shaded."""

from collections.abc import Sequence
from math import ceil, cos, hypot, radians

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from airshed.air.solar import cos_zenith
from airshed.plot import wording
from airshed.plot.geography import CITY_CREDIT, Area, City, cities
from airshed.plot.limits import axis_of, format_number
from airshed.plot.maps import place_in_words
from airshed.plot.page import Panels, footer, headline, in_unit, period
from airshed.plot.results import Results
from airshed.plot.style import DPI, LINES, NIGHT, PALE, SIZE, text_at

MOST_CURVES = len(LINES)

_MOST_PLACES = 6
_APART = 0.08
_DAY = 1440.0
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14400, 43200)


def draw_series(results: Results, fields: Sequence[str]) -> Figure:
    """Draw fields of one unit, at most `MOST_CURVES`, in up to six cities that are far from each other."""
    places = places_of(results.area)
    columns = 2 if len(places) == 4 else min(3, len(places))
    panels = Panels(len(places), columns, 3.7 if columns > 1 else 6.0, 1.9, gap_across=0.25, gap_up=0.45)
    figure = panels.figure(DPI)
    curves = {colour: results.ground(field) for colour, field in zip(LINES, fields, strict=False)}
    heights = axis_of(np.concatenate([curve.ravel() for curve in curves.values()]))
    minutes = _minutes(results.times, results.times[0])
    for place, axes in zip(places, panels.axes(figure), strict=True):
        row = int(np.argmin(np.abs(results.latitude - place.latitude)))
        column = int(np.argmin(np.abs(results.longitude - place.longitude)))
        for colour, curve in curves.items():
            axes.plot(minutes, curve[:, row, column], color=colour, linewidth=1.7, zorder=3)
        _shade_night(axes, results.times, place)
        _dress(axes, results.times, place.name, heights)
    quantities = [results.quantity(field) for field in fields]
    names = " and ".join(q.short for q in quantities) if len(fields) < 3 else "Concentrations"
    level = place_in_words(results, fields[0])
    subtitle = f"{level}, {period(results.times)}, hours in UTC, nights shaded{in_unit(quantities[0].unit)}"
    where = "the largest cities" if places[0].population else "the middle of the area"
    headline(figure, panels.start, f"{names} in {where}", subtitle)
    _legend(figure, panels, [q.short for q in quantities])
    footer(figure, panels.start + panels.across, CITY_CREDIT)
    return figure


def places_of(area: Area) -> list[City]:
    """Return the largest cities of an area that are far from each other, or its middle where it has none."""
    narrowing = cos(radians(0.5 * (area.south + area.north)))
    apart = _APART * hypot((area.east - area.west) * narrowing, area.north - area.south)
    chosen: list[City] = []
    for city in cities(area):
        distances = (hypot((city.longitude - c.longitude) * narrowing, city.latitude - c.latitude) for c in chosen)
        if len(chosen) < _MOST_PLACES and all(distance >= apart for distance in distances):
            chosen.append(city)
    if chosen:
        return chosen
    x, y = 0.5 * (area.west + area.east), 0.5 * (area.south + area.north)
    return [City(f"{wording.latitude(round(y, 2))}, {wording.longitude(round(x, 2))}", x, y, 0)]


def _minutes(moments: NDArray[np.datetime64], first: np.datetime64) -> NDArray[np.float64]:
    """Return times as minutes since the midnight before the first one."""
    return np.asarray((moments - first.astype("datetime64[D]")) / np.timedelta64(1, "m"), dtype=np.float64)


def _shade_night(axes: Axes, times: NDArray[np.datetime64], place: City) -> None:
    """Shade the time from sunset to sunrise."""
    seconds = (times[-1] - times[0]) / np.timedelta64(1, "s")
    fine = times[0] + np.linspace(0, seconds, 600).astype("timedelta64[s]")
    dark = np.asarray(cos_zenith(fine, place.longitude, place.latitude)) < 0
    axes.fill_between(
        _minutes(fine, times[0]),
        0,
        1,
        where=dark.tolist(),
        transform=axes.get_xaxis_transform(),
        color=NIGHT,
        linewidth=0,
        zorder=0,
    )


def _dress(axes: Axes, times: NDArray[np.datetime64], title: str, heights: Sequence[float]) -> None:
    """Set limits, ticks at round hours or days, and the title."""
    first, last = _minutes(times[[0, -1]], times[0])
    axes.set_xlim(first, last)
    axes.set_ylim(heights[0], heights[-1])
    step = next((s for s in _STEPS if (last - first) / s <= 8), _STEPS[-1])
    ticks = np.arange(ceil(first / step) * step, last - 0.05 * (last - first), step)  # the end is the next one's start
    moments = times[0].astype("datetime64[D]") + ticks.astype("timedelta64[m]")
    if axes.xaxis.get_visible():
        axes.set_xticks(ticks, [_moment(m, last - first > _DAY) for m in moments])
    if axes.yaxis.get_visible():
        axes.set_yticks(heights, [format_number(height) for height in heights])
    for height in heights:
        axes.axhline(height, color=PALE, linewidth=0.5, zorder=1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, loc="left", fontsize=SIZE["panel"], weight="bold", pad=4)


def _moment(moment: np.datetime64, days: bool) -> str:
    """Return the hour, or where several days are shown the date at midnight."""
    hour = wording.clock(moment)
    return wording.short_date(moment) if days and hour == "00:00" else hour


def _legend(figure: Figure, panels: Panels, names: Sequence[str]) -> None:
    """Write the names of the curves in their colours below the panels."""
    x = panels.start
    for name, colour in zip(names, LINES, strict=False):
        text = text_at(figure, x, 0.42, f"— {name}", "panel", va="center", weight="bold", color=colour)
        x += text.get_window_extent().width / figure.dpi + 0.3
