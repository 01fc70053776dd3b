"""Map of one field at one time from memory, for the live server."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.plot.cells import MapCells
from airshed.plot.geography import MAP_CREDIT
from airshed.plot.limits import scale_around_zero, scale_of
from airshed.plot.maps import map_panels, statistics
from airshed.plot.page import colour_bar, footer, headline, in_unit
from airshed.plot.panel import MapPanel, shape_of
from airshed.plot.style import DPI, GREY, SIGNED, SIZE, look
from airshed.plot.units import MIXING_RATIO_UNITS, Unit, mixing_ratio_unit

if TYPE_CHECKING:
    import xarray as xr

_ONE: Final = Lock()
"""Matplotlib's settings are those of the process: one picture is drawn at a time."""


@dataclass(frozen=True)
class Words:
    """Text of a picture: the name of the field, which selects its colours, its unit, and two lines."""

    field: str
    unit: str
    title: str
    subtitle: str


def cells_of(field: "xr.DataArray") -> MapCells:
    """Return the cells of a field on rows and columns of a map."""
    return MapCells.of(field.coords.to_dataset(), Path(str(field.name)))[1]


def draw_state(cells: MapCells, values: Array, words: Words) -> bytes:
    """Return a map of values (rows, columns) as PNG; mixing ratios in ppb, differences in colours around zero."""
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
        axes.set_title(statistics(shown, cells.weights), loc="right", fontsize=SIZE["small"] - 0.5, color=GREY, pad=4)
        headline(figure, panels.start, words.title, f"{words.subtitle}{in_unit(unit.label)}")
        colour_bar(figure, field, scale, unit.label, panels)
        footer(figure, panels.start + panels.across, MAP_CREDIT)
        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi=figure.dpi, metadata={"Software": "Airshed"})
    return buffer.getvalue()
