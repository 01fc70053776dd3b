"""Map panel: cells, coasts, borders, cities and wind on axes of the right aspect for their latitude."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, QuadMesh

from airshed.core.arrays import Array
from airshed.plot import units
from airshed.plot.cells import MapCells
from airshed.plot.geography import Area, City, cities, coasts_and_borders
from airshed.plot.graticule import degree_ticks, draw_graticule
from airshed.plot.labels import Box, Label, place_labels
from airshed.plot.limits import Scale
from airshed.plot.page import norm_of
from airshed.plot.style import BORDER, COAST, DPI, INK, SIZE, colours, halo, text_size

_FLATTEST = 75.0
_DOT = 0.022
_SEPARATION = 0.34
_AREA_PER_NAME = 1.1
_ARROWS = 13
_STATION = 42.0
_CANDIDATES = 150


def shape_of(area: Area) -> float:
    """Return height over width of a map on which distances in its middle are alike in both directions."""
    middle = min(abs(0.5 * (area.south + area.north)), _FLATTEST * area.per_degree)
    return (area.north - area.south) / ((area.east - area.west) * area.squeeze(middle))


class MapPanel:
    """Map of one field on given axes; `show` changes the field only."""

    def __init__(self, axes: Axes, cells: MapCells, field: str, scale: Scale, *, names: bool = True) -> None:
        """Draw everything but the values; the axes must have the shape of `shape_of`."""
        self.axes = axes
        self._cells = cells
        area = cells.area
        axes.set_xlim(area.west, area.east)
        axes.set_ylim(area.south, area.north)
        self._norm = norm_of(scale)
        self.mesh: QuadMesh = axes.pcolormesh(
            cells.x_edges, cells.y_edges, np.full(cells.shape, np.nan), cmap=colours(field), norm=self._norm,
            zorder=1,
        )  # fmt: skip
        axes.set_xlim(area.west, area.east)
        axes.set_ylim(area.south, area.north)
        self._draw_lines(area)
        if area.is_projected:
            draw_graticule(axes, area)
        else:
            _degrees(axes, area)
        if names:
            self._draw_cities(area)

    def show(self, values: Array) -> None:
        """Colour the cells by values (rows, columns)."""
        self.mesh.set_array(np.ma.masked_invalid(values))

    def show_wind(self, east: Array, north: Array, strongest: float) -> None:
        """Add arrows of the wind [m/s], each (rows, columns), on a dozen columns; the strongest spans one of them."""
        x, y = np.meshgrid(self._cells.x, self._cells.y)
        along_x, along_y = self._cells.along_axes(east, north)
        skip = max(1, round(x.shape[1] / _ARROWS))
        pick = (slice(skip // 2, None, skip), slice(skip // 2, None, skip))
        across = x.shape[1] / skip
        self.axes.quiver(
            x[pick], y[pick], along_x[pick], along_y[pick], scale=max(strongest, 1e-9) * across, pivot="mid",
            width=0.004, color=INK, edgecolor="white", linewidth=0.3, zorder=3,
        )  # fmt: skip

    def show_stations(self, x: Array, y: Array, values: Array) -> None:
        """Add dots in the colours of the field at positions on the map."""
        mesh = self.mesh
        self.axes.scatter(
            x, y, _STATION, values, cmap=mesh.cmap, norm=self._norm, edgecolors="black", linewidths=0.9, zorder=6
        )

    def _draw_lines(self, area: Area) -> None:
        coasts, borders = coasts_and_borders(area)
        widths = {"rasterized": True, "capstyle": "round"}
        self.axes.add_collection(
            LineCollection([*coasts, *borders], colors="#ffffff59", linewidths=1.5, zorder=2, **widths), autolim=False
        )
        self.axes.add_collection(
            LineCollection(borders, colors=BORDER, linewidths=0.6, alpha=0.8, zorder=2.1, **widths), autolim=False
        )
        self.axes.add_collection(
            LineCollection(coasts, colors=COAST, linewidths=0.75, zorder=2.2, **widths), autolim=False
        )

    def _draw_cities(self, area: Area) -> None:
        box = self.axes.get_window_extent()
        found, labels = cities_on(area, (box.width, box.height), SIZE["small"] - 0.5, self.axes.figure.dpi)
        self.axes.plot(
            [found[label.index].x for label in labels],
            [found[label.index].y for label in labels],
            linestyle="",
            marker="o",
            markersize=3.2,
            color=INK,
            markeredgecolor="white",
            markeredgewidth=0.6,
            zorder=4,
        )
        for label in labels:
            self.axes.text(
                label.box.left / box.width,
                (label.box.bottom + label.box.top) / 2 / box.height,
                found[label.index].name,
                transform=self.axes.transAxes,
                fontsize=SIZE["small"] - 0.5,
                va="center_baseline",
                color=INK,
                path_effects=halo(),
                zorder=5,
            )


def cities_on(
    area: Area, size: tuple[float, float], points: float, dpi: float = DPI
) -> tuple[tuple[City, ...], list[Label]]:
    """Return the cities of an area and the labels of those to name on a map of a size [pixel], largest first."""
    found = cities(area)[:_CANDIDATES]
    width, height = size
    places = [
        (
            (city.x - area.west) / (area.east - area.west) * width,
            (city.y - area.south) / (area.north - area.south) * height,
        )
        for city in found
    ]
    sizes = [text_size(city.name, points, dpi) for city in found]
    most = 3 + round(width * height / dpi**2 / _AREA_PER_NAME)
    frame = Box(0.02 * dpi, 0.02 * dpi, width - 0.02 * dpi, height - 0.02 * dpi)
    return found, place_labels(places, sizes, frame, most=most, dot=_DOT * dpi, separation=_SEPARATION * dpi)


def _degrees(axes: Axes, area: Area) -> None:
    """Write round degrees along the axes that show."""
    west_east, south_north = degree_ticks(area.west, area.east), degree_ticks(area.south, area.north)
    if axes.xaxis.get_visible():
        axes.set_xticks(west_east, [units.longitude(value) for value in west_east])
    if axes.yaxis.get_visible():
        axes.set_yticks(south_north, [units.latitude(value) for value in south_north])
