"""Maps of a field at the ground: several hours side by side with one colour bar, or one hour alone."""

from collections.abc import Sequence
from math import ceil, log

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from airshed.core.arrays import Array
from airshed.plot.geography import MAP_CREDIT
from airshed.plot.limits import Scale, format_number
from airshed.plot.page import BOTTOM, RIGHT, TOP, Panels, colour_bar, footer, headline, hour_of, in_unit, period
from airshed.plot.panel import MapPanel, shape_of
from airshed.plot.results import Results, place_in_words
from airshed.plot.stations import Stations
from airshed.plot.style import DPI, GREY, SIZE

_WIDEST, _HIGHEST = 12.6, 9.6
_IDEAL = 1.7
_GAP = 0.1


def map_scale(results: Results, field: str, times: Sequence[int], stations: Stations | None = None) -> Scale:
    """Return the colour scale that suits a field, and the values of stations, at all of some times."""
    observed = [stations.dots(field, time).values for time in times] if stations is not None else []
    return results.scale(np.concatenate([results.ground(field)[list(times)].ravel(), *observed]))


def draw_maps(
    results: Results, field: str, times: Sequence[int], scale: Scale, stations: Stations | None = None
) -> Figure:
    """Draw a field at the ground at some times (indices) on one scale, with one colour bar and dots of stations."""
    panels = map_panels(len(times), shape_of(results.area))
    figure = panels.figure(DPI)
    winds = [wind for time in times if (wind := results.wind(time, results.layer(field))) is not None]
    strongest = max((float(np.nanmax(np.hypot(*wind), initial=0.0)) for wind in winds), default=0.0)
    fits = True
    for place, (time, axes) in enumerate(zip(times, panels.axes(figure), strict=True)):
        panel = MapPanel(axes, results.cells, results.palette(field), scale)
        panel.show(results.ground(field)[time])
        if winds:
            panel.show_wind(*winds[place], strongest)
        if stations is not None:
            dots = stations.dots(field, time)
            panel.show_stations(dots.x, dots.y, dots.values)
        fits &= _title(axes, results, field, time, alone=len(times) == 1)
    for axes in () if fits else figure.axes:
        axes.set_title(axes.get_title("right"), loc="right", fontsize=SIZE["tiny"] - 0.5, color=GREY, pad=4)
    quantity = results.quantity(field)
    when = period(results.times[list(times)])
    subtitle = f"{place_in_words(results, field)}, {when}{in_unit(quantity.unit)}"
    if winds:
        subtitle += f"; wind up to {format_number(strongest, 2)} m/s"
    if stations is not None:
        subtitle += "; dots: stations"
    headline(figure, panels.start, quantity.title, subtitle)
    colour_bar(figure, results.palette(field), scale, quantity.unit, panels)
    footer(figure, panels.start + panels.across, MAP_CREDIT, results.case)
    return figure


def map_panels(count: int, shape: float, widest: float = _WIDEST, highest: float = _HIGHEST) -> Panels:
    """Return the arrangement of maps of a shape (height over width) on a page of a size [inches] at most."""
    columns = _columns(count, shape)
    rows = ceil(count / columns)
    empty = Panels(count, columns, 0.0, 0.0)
    across = (widest - empty.left - RIGHT - empty.across) / columns
    up = (highest - TOP - BOTTOM - (rows - 1) * empty.gap_up) / rows / shape
    width = min(across, up)
    return Panels(count, columns, width, width * shape)


def area_mean(values: Array, weights: Array) -> float:
    """Return the weighted mean of values (rows, columns) over the cells that have one."""
    there = np.isfinite(values)
    return float(np.sum(values[there] * weights[there]) / np.sum(weights[there])) if there.any() else float("nan")


def statistics(values: Array, weights: Array) -> str:
    """Return the extremes and the mean of a map in a line."""
    there = values[np.isfinite(values)]
    if there.size == 0:
        return "no values"
    low, mean, high = (format_number(v, 2) for v in (there.min(), area_mean(values, weights), there.max()))
    return f"min {low}  mean {mean}  max {high}"


def _title(axes: Axes, results: Results, field: str, time: int, *, alone: bool) -> bool:
    """Write the hour of a map, unless the headline has it, and its statistics; return whether they fit."""
    hour = "" if alone else hour_of(results.times, time)
    left = axes.set_title(hour, loc="left", fontsize=SIZE["panel"], weight="bold", pad=4)
    numbers = statistics(results.ground(field)[time], results.cells.weights)
    right = axes.set_title(numbers, loc="right", fontsize=SIZE["small"] - 0.5, color=GREY, pad=4)
    return _length(left) + _length(right) <= axes.get_window_extent().width / axes.figure.dpi - _GAP


def _length(text: Text) -> float:
    """Return how long a text is [inches]."""
    return float(text.get_window_extent().width / text.figure.dpi) if text.get_text() else 0.0


def _columns(count: int, shape: float) -> int:
    """Return the number of columns, with no empty places, that brings the picture nearest to a pleasant shape."""
    even = [columns for columns in range(1, count + 1) if count % columns == 0 or count > 4]
    return min(even, key=lambda columns: abs(log(columns / (ceil(count / columns) * shape) / _IDEAL)))
