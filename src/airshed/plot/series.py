"""Time series of fields at the ground in the largest cities, night shaded."""

from collections.abc import Sequence
from math import ceil, hypot

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from airshed.models.air.light import cos_zenith
from airshed.plot import units
from airshed.plot.geography import CITY_CREDIT, Area, City, cities
from airshed.plot.limits import axis_of, format_number
from airshed.plot.page import Panels, footer, headline, in_unit, period
from airshed.plot.results import Quantity, Results, place_in_words
from airshed.plot.scales import limit_values
from airshed.plot.style import DPI, LINES, NIGHT, PALE, SIZE, text_at
from airshed.plot.units import COMMON, daily

MOST_CURVES = len(LINES)

_MOST_PLACES = 6
_APART = 0.08
_DAY = 1440.0
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14400)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240)
_MOST_TICKS = 8


def draw_series(results: Results, fields: Sequence[str]) -> Figure:
    """Draw fields of one unit, at most `MOST_CURVES`, in up to six cities that are far from each other."""
    plume = results.is_plume(fields[0])
    places = [*([_maximum(results, fields[0])] if plume else []), *places_of(results.area)][:_MOST_PLACES]
    places = places[:1] if plume and not places[-1].population else places
    columns = 2 if len(places) == 4 else min(3, len(places))
    panels = Panels(len(places), columns, 3.7 if columns > 1 else 6.0, 1.9, gap_across=0.25, gap_up=0.45)
    figure = panels.figure(DPI)
    curves = {colour: results.ground(field) for colour, field in zip(LINES, fields, strict=False)}
    heights = axis_of(np.concatenate([curve.ravel() for curve in curves.values()]))
    minutes = minutes_of(results.times, results.times[0])
    for place, axes in zip(places, panels.axes(figure), strict=True):
        row, column = results.nearest(fields[0], place.longitude, place.latitude)
        for colour, curve in curves.items():
            axes.plot(minutes, curve[:, row, column], color=colour, linewidth=1.7, zorder=3)
        if not daily(results.times):
            shade_night(axes, results.times, (place.longitude, place.latitude))
        format_axes(axes, results.times, heights)
        for colour, field in () if results.is_difference else zip(LINES, fields, strict=False):
            mark_limits(axes, field, results.quantity(field).unit, colour)
        axes.set_title(place.name, loc="left", fontsize=SIZE["panel"], weight="bold", pad=4)
    quantities = [results.quantity(field) for field in fields]
    when = period(results.times) + ("" if daily(results.times) else ", hours in UTC, nights shaded")
    subtitle = f"{place_in_words(results, fields[0])}, {when}{in_unit(quantities[0].unit)}"
    where = "in the largest cities" if places[-1].population else "in the middle of the area"
    if plume:
        where = "at the maximum" + (" and in the largest cities" if places[-1].population else "")
    headline(figure, panels.start, f"{names_of(quantities)} {where}", subtitle)
    draw_legend(figure, panels, [q.short for q in quantities])
    footer(figure, panels.start + panels.across, CITY_CREDIT, results.case)
    return figure


def mark_limits(axes: Axes, field: str, unit: str, colour: str) -> None:
    """Mark the limit values of a field by thin lines with labels, in the colour of its curve."""
    for limit in limit_values(field, unit, *axes.get_ylim()):
        axes.axhline(limit.value, color=colour, linewidth=0.8, linestyle=(0, (4, 3)), zorder=2)
        axes.annotate(
            limit.label, (0.99, limit.value), (0, 1.5), xycoords=axes.get_yaxis_transform(),
            textcoords="offset points", ha="right", va="bottom", fontsize=SIZE["tiny"], color=colour,
        )  # fmt: skip


def names_of(quantities: Sequence[Quantity]) -> str:
    """Return the names of some fields for a headline."""
    if len(quantities) == 1:
        return quantities[0].title
    return " and ".join(q.short for q in quantities) if len(quantities) < 3 else together(quantities)


def together(quantities: Sequence[Quantity]) -> str:
    """Return the common name of several fields of one unit."""
    return "Concentrations" if all(each.field in COMMON for each in quantities) else "Fields"


def places_of(area: Area) -> list[City]:
    """Return the largest cities of an area that are far from each other, or its middle where it has none."""
    middle = 0.5 * (area.west + area.east), 0.5 * (area.south + area.north)
    narrowing = area.squeeze(middle[1])
    apart = _APART * hypot((area.east - area.west) * narrowing, area.north - area.south)
    chosen: list[City] = []
    for city in cities(area):
        distances = (hypot((city.x - c.x) * narrowing, city.y - c.y) for c in chosen)
        if len(chosen) < _MOST_PLACES and all(distance >= apart for distance in distances):
            chosen.append(city)
    if chosen:
        return chosen
    return [_location(area, *middle)]


def _maximum(results: Results, field: str) -> City:
    """Return the location of the maximum of a field."""
    greatest = results.greatest(field)
    return _location(results.area, float(results.cells.x[greatest.column]), float(results.cells.y[greatest.row]))


def _location(area: Area, x: float, y: float) -> City:
    """Return a location of a map without inhabitants, named by its degrees."""
    lon, lat = (float(each) for each in area.mapping.to_lonlat(np.asarray(x), np.asarray(y)))
    return City(f"{units.latitude(round(lat, 2))}, {units.longitude(round(lon, 2))}", lon, lat, 0, x, y)


def minutes_of(moments: NDArray[np.datetime64], first: np.datetime64) -> NDArray[np.float64]:
    """Return times as minutes since the midnight before the first one."""
    return np.asarray((moments - first.astype("datetime64[D]")) / np.timedelta64(1, "m"), dtype=np.float64)


def shade_night(axes: Axes, times: NDArray[np.datetime64], place: tuple[float, float]) -> None:
    """Shade the time from sunset to sunrise at a longitude and latitude [degrees]."""
    seconds = (times[-1] - times[0]) / np.timedelta64(1, "s")
    fine = times[0] + np.linspace(0, seconds, 600).astype("timedelta64[s]")
    dark = np.asarray(cos_zenith(fine, *place)) < 0
    axes.fill_between(
        minutes_of(fine, times[0]),
        0,
        1,
        where=dark.tolist(),
        transform=axes.get_xaxis_transform(),
        color=NIGHT,
        linewidth=0,
        zorder=0,
    )


def format_axes(axes: Axes, times: NDArray[np.datetime64], heights: Sequence[float]) -> None:
    """Set the limits, ticks at round hours or days, and lines at the heights of a time series."""
    first, last = minutes_of(times[[0, -1]], times[0])
    axes.set_xlim(first, last)
    axes.set_ylim(heights[0], heights[-1])
    if axes.xaxis.get_visible():
        axes.set_xticks(*time_ticks(times, first, last))
    if axes.yaxis.get_visible():
        axes.set_yticks(heights, [format_number(height) for height in heights])
    for height in heights:
        axes.axhline(height, color=PALE, linewidth=0.5, zorder=1)
    axes.spines[["top", "right"]].set_visible(False)


def time_ticks(times: NDArray[np.datetime64], first: float, last: float) -> tuple[Sequence[float], Sequence[str]]:
    """Return positions [minutes] and labels of ticks: hours, days, or for long runs months and years."""
    midnight = times[0].astype("datetime64[D]")
    step = next((s for s in _STEPS if (last - first) / s <= _MOST_TICKS), None)
    if step is not None:
        ticks = np.arange(ceil(first / step) * step, last - 0.05 * (last - first), step)  # the end is the next's start
        moments = midnight + ticks.astype("timedelta64[m]")
        return ticks.tolist(), [_moment(moment, last - first > _DAY) for moment in moments]
    months = np.arange(times[0].astype("datetime64[M]"), times[-1].astype("datetime64[M]") + 1)
    months = months[months >= midnight]
    each = next((count for count in _MONTHS if months.size / count <= _MOST_TICKS), _MONTHS[-1])
    chosen = months[months.astype(int) % each == 0]
    return minutes_of(chosen, midnight).tolist(), [_month(month) for month in chosen]


def _moment(moment: np.datetime64, days: bool) -> str:
    """Return the hour, or where several days are shown the date at midnight."""
    hour = units.clock(moment)
    return units.short_date(moment) if days and hour == "00:00" else hour


def _month(month: np.datetime64) -> str:
    """Return the name of a month such as "Mar", or where it begins a year the year."""
    year = str(month.astype("datetime64[Y]"))
    return year if str(month).endswith("-01") else units.short_date(month).split(" ")[1]


def draw_legend(figure: Figure, panels: Panels, names: Sequence[str]) -> None:
    """Write the names of the curves in their colours below the panels."""
    x = panels.start
    for name, colour in zip(names, LINES, strict=False):
        text = text_at(figure, x, 0.42, f"— {name}", "panel", va="center", weight="bold", color=colour)
        x += text.get_window_extent().width / figure.dpi + 0.3
