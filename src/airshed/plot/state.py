"""Map of one field at one time from memory, for the live server."""

from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.plot.geography import MAP_CREDIT, Area
from airshed.plot.limits import scale_around_zero, scale_of
from airshed.plot.maps import map_panels, statistics
from airshed.plot.page import colour_bar, footer, headline, in_unit
from airshed.plot.panel import MapPanel, shape_of
from airshed.plot.style import DPI, GREY, SIGNED, SIZE, look
from airshed.plot.units import MIXING_RATIO_UNITS, Unit, mixing_ratio_unit

_ONE: Final = Lock()
"""Matplotlib's settings are those of the process: one picture is drawn at a time."""


@dataclass(frozen=True)
class Cells:
    """The centres of a map's cells [degrees], rising."""

    longitude: Array
    latitude: Array

    @property
    def longitude_edges(self) -> Array:
        """Western and eastern edges [degrees]."""
        return _edges(self.longitude)

    @property
    def latitude_edges(self) -> Array:
        """Southern and northern edges [degrees]."""
        return _edges(self.latitude)

    @property
    def area(self) -> Area:
        """The box that the cells cover."""
        (west, *_, east), (south, *_, north) = self.longitude_edges, self.latitude_edges
        return Area(float(west), float(east), float(south), float(north))


@dataclass(frozen=True)
class Words:
    """Text of a picture: the name of the field, which selects its colours, its unit, and two lines."""

    field: str
    unit: str
    title: str
    subtitle: str


def draw_state(cells: Cells, values: Array, words: Words) -> bytes:
    """Return a map of values (lat, lon) as PNG; mixing ratios in ppb, differences in colours around zero."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    mixing = words.unit in MIXING_RATIO_UNITS
    unit = mixing_ratio_unit(largest) if mixing else Unit("" if words.unit == "1" else words.unit, 1.0)
    shown = values * unit.factor
    signed = bool(np.nanmin(shown, initial=0.0) < 0.0)
    scale, field = (scale_around_zero(shown), SIGNED) if signed else (scale_of(shown), words.field)
    with _ONE, look():
        panels = map_panels(1, shape_of(cells.area))
        figure = panels.figure(DPI)
        (axes,) = panels.axes(figure)
        MapPanel(axes, cells, field, scale).show(shown)
        axes.set_title(statistics(shown, cells.latitude), loc="right", fontsize=SIZE["small"] - 0.5, color=GREY, pad=4)
        headline(figure, panels.start, words.title, f"{words.subtitle}{in_unit(unit.label)}")
        colour_bar(figure, field, scale, unit.label, panels)
        footer(figure, panels.start + panels.across, MAP_CREDIT)
        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi=figure.dpi, metadata={"Software": "Airshed"})
    return buffer.getvalue()


def _edges(centres: Array) -> Array:
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    between = 0.5 * (centres[1:] + centres[:-1])
    return np.concatenate([[2.0 * centres[0] - between[0]], between, [2.0 * centres[-1] - between[-1]]])
