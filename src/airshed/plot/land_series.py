"""Time series of fields on land: the mean over the land, and the range of most of its cells."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from airshed.plot.limits import axis_of
from airshed.plot.page import Panels, footer, headline, in_unit, period
from airshed.plot.results import Results
from airshed.plot.series import draw_legend, format_axes, minutes_of, names_of
from airshed.plot.style import DPI, LINES

_WIDTH, _HEIGHT = 9.0, 3.2
_RANGE: Final = (10.0, 90.0)


def draw_land_series(results: Results, fields: Sequence[str]) -> Figure:
    """Draw the mean of fields of one unit over the land, with the range from the 10th to the 90th percentile."""
    panels = Panels(1, 1, _WIDTH, _HEIGHT)
    figure = panels.figure(DPI)
    (axes,) = panels.axes(figure)
    minutes = minutes_of(results.times, results.times[0])
    weights = results.cells.weights
    means, ranges = [], []
    for field in fields:
        values = results.ground(field)
        there = np.isfinite(values[0])
        means.append(values[:, there] @ weights[there] / weights[there].sum())
        ranges.append(np.percentile(values[:, there], _RANGE, axis=1))
    for colour, mean, (low, high) in zip(LINES, means, ranges, strict=False):
        axes.fill_between(minutes, low, high, color=colour, alpha=0.18, linewidth=0, zorder=2)
        axes.plot(minutes, mean, color=colour, linewidth=1.7, zorder=3)
    format_axes(axes, results.times, axis_of(np.concatenate([np.ravel(each) for each in (*means, *ranges)])))

    quantities = [results.quantity(field) for field in fields]
    subtitle = f"mean over the land, shaded: 10th to 90th percentile of cells, {period(results.times)}"
    headline(figure, panels.start, names_of(quantities), subtitle + in_unit(quantities[0].unit))
    draw_legend(figure, panels, [quantity.short for quantity in quantities])
    footer(figure, panels.start + panels.across, "", results.case)
    return figure
