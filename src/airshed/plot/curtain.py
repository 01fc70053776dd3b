"""Curtains: a field over height along one row of cells, with the air near the ground drawn large."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airshed.core.errors import CaseError
from airshed.plot import units
from airshed.plot.geography import CITY_CREDIT, Area, cities
from airshed.plot.graticule import degree_ticks
from airshed.plot.page import Panels, colour_bar, footer, headline, hour_of, in_unit, norm_of, period
from airshed.plot.results import Results
from airshed.plot.style import DPI, GREY, INK, SIZE, colours, halo, text_at, text_size

_NEAR = 0.35
_REACH = 0.5
_HEIGHTS = (
    0.0,
    10.0,
    30.0,
    100.0,
    300.0,
    1000.0,
    2000.0,
    3000.0,
    5000.0,
    8000.0,
    12000.0,
    20000.0,
    30000.0,
    50000.0,
    80000.0,
)


def draw_curtain(results: Results, field: str, times: Sequence[int], latitude: float | None = None) -> Figure:
    """Draw a field over height at some times (indices) along the row of cells nearest to a latitude.

    The height axis is a square-root one: a layer at the ground is drawn larger than a layer of equal depth aloft.
    """
    row = row_of(results, latitude, field, times)
    values = results.section(field, row, times)
    scale = results.scale(values)
    columns = 1 if len(times) == 1 else 2
    panels = Panels(len(times), columns, 5.7 if columns == 2 else 8.0, 2.3, left=0.75)
    figure = panels.figure(DPI)
    drawn = False
    edges, heights = results.cells.x_edges, np.sqrt(results.height_edges)
    for time, part, axes in zip(times, values, panels.axes(figure), strict=True):
        axes.pcolormesh(
            edges,
            heights,
            np.ma.masked_invalid(part),
            cmap=colours(results.palette(field)),
            norm=norm_of(scale),
        )
        _dress(axes, results)
        _name_cities(axes, results, float(results.cells.y[row]))
        depth = None if results.is_difference else results.boundary_layer(row, time)
        if depth is not None:
            axes.stairs(np.sqrt(depth), edges, baseline=None, color=INK, linewidth=1.4, zorder=3, path_effects=halo())
            drawn = True
        if len(times) > 1:
            axes.set_title(hour_of(results.times, time), loc="left", fontsize=SIZE["panel"], weight="bold", pad=4)
    if drawn:
        text_at(
            figure, panels.start + panels.across, panels.figure_height - 0.60, "line: top of the boundary layer",
            "subtitle", ha="right", va="baseline", color=GREY,
        )  # fmt: skip
    quantity = results.quantity(field)
    over = "height above ground" + (" over x of the map" if results.cells.is_projected else "")
    subtitle = f"{over}, {period(results.times[list(times)])}{in_unit(quantity.unit)}"
    headline(figure, panels.start, f"{quantity.title} along {_row_in_words(results, row)}", subtitle)
    colour_bar(figure, results.palette(field), scale, quantity.unit, panels)
    footer(figure, panels.start + panels.across, CITY_CREDIT, results.case)
    return figure


def check_latitude(results: Results, latitude: float | None) -> None:
    """Raise CaseError for a latitude outside the area."""
    _, _, south, north = results.area.bounds
    if latitude is not None and not south <= latitude <= north:
        raise CaseError(f"latitude {latitude:g} of the curtain is outside the run's area, {south:g} to {north:g}")


def row_of(results: Results, latitude: float | None, field: str, times: Sequence[int]) -> int:
    """Return the row of cells that a latitude crosses, by default one that suits the field.

    A field from point sources has its maximum of some times (indices) there, any other field the most people.
    """
    cells = results.cells
    if latitude is not None:
        return int(np.argmin(np.abs(cells.places[1][:, cells.x.size // 2] - latitude)))
    if results.is_plume(field) and (row := results.fullest_row(field, times)) is not None:
        return row
    found = cities(results.area)
    if not found:
        return cells.y.size // 2
    reach = _REACH * results.area.per_degree
    people = [sum(c.population for c in found if abs(c.y - row) <= reach) for row in cells.y]
    best = np.flatnonzero(np.asarray(people) == max(people))
    return int(best[(best.size - 1) // 2])


def _row_in_words(results: Results, row: int) -> str:
    """Return a row as its latitude, or on a projection by the place of its middle."""
    lon, lat = (float(each[row, each.shape[1] // 2]) for each in results.cells.places)
    if not results.cells.is_projected:
        return units.latitude(round(lat, 3))
    return f"the row of cells through {units.latitude(round(lat, 1))}, {units.longitude(round(lon, 1))}"


def _dress(axes: Axes, results: Results) -> None:
    """Set the limits, and ticks at round positions and at heights with some distance."""
    area = results.area
    bottom, top = (float(height) for height in results.height_edges[[0, -1]])
    axes.set_xlim(area.west, area.east)
    axes.set_ylim(np.sqrt(bottom), np.sqrt(top))
    if axes.xaxis.get_visible():
        values = degree_ticks(area.west, area.east)
        axes.set_xticks(values, [_along(area, value) for value in values])
    if axes.yaxis.get_visible():
        heights = _apart([height for height in _HEIGHTS if bottom <= height <= top], 0.07 * np.sqrt(top))
        axes.set_yticks(np.sqrt(heights), [units.height(height) for height in heights])


def _along(area: Area, x: float) -> str:
    """Return a position along a row in words: a longitude, or x of a projection."""
    if not area.is_projected:
        return units.longitude(x)
    return f"{x / 1e3:,.0f} km".replace("-", "−") if area.mapping.unit == "m" else f"{x:g}°".replace("-", "−")


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """Select from rising heights those whose square roots differ enough."""
    kept: list[float] = []
    for height in heights:
        if not kept or np.sqrt(height) - np.sqrt(kept[-1]) >= least:
            kept.append(height)
    return kept


def _name_cities(axes: Axes, results: Results, y: float) -> None:
    """Mark the cities near the row of cells by a line, and name them below the upper edge, the largest first."""
    area, width = results.area, axes.get_window_extent().width
    taken: list[tuple[float, float]] = []
    for city in (c for c in cities(area) if abs(c.y - y) <= _NEAR * area.per_degree):
        half = text_size(city.name, SIZE["small"], axes.figure.dpi)[0] / 2 + 4
        x = (city.x - area.west) / (area.east - area.west) * width
        free = half <= x <= width - half and all(x + half < left or x - half > right for left, right in taken)
        if not free:
            continue
        taken.append((x - half, x + half))
        axes.axvline(city.x, ymax=0.91, color=INK, linewidth=0.5, alpha=0.35)
        axes.text(
            city.x, 0.95, city.name, transform=axes.get_xaxis_transform(), ha="center", va="center",
            fontsize=SIZE["small"] - 0.5, color=INK, path_effects=halo(),
        )  # fmt: skip
