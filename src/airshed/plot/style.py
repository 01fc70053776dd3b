"""The look of all pictures in one place: sizes, type, colours and how a figure is laid out in inches."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import distribution
from types import MappingProxyType
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Colormap, ListedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogFormatter

from airshed.plot.scales import COLOUR_TABLES, DOCUMENT, FIELD_SCALES

DPI = 120
SIZE = MappingProxyType({"title": 15.0, "subtitle": 10.0, "panel": 9.5, "small": 8.0, "tiny": 6.5})
"""Type sizes [pt]."""

INK, GREY, PALE = "#1c1f26", "#5d6470", "#c9ced6"
COAST, BORDER = "#20242c", "#20242c"
NIGHT, NO_VALUE = "#edf0f5", "#e4e6ea"
LINES = ("#c8443c", "#2a6fad", "#3f8f5b", "#8858a6", "#c9852b", "#5f6b7a")
"""Colours of curves: distinct in hue and in lightness, for colour-blind readers."""

SIGNED = "signed"
"""Name for a field with values on both sides of zero, which is light."""

OWN = MappingProxyType(
    {
        "haze": (
            "ddeefa", "dfece2", "e6eaca", "ede7b3", "f2e199", "f7d97e", "fbd163", "fabb51", "f9a541", "f38e39",
            "ee7630", "e45e30", "d8442f", "c33132", "ae2035", "941933", "7a1231",
        ),
    }
)  # fmt: skip
"""Tables of Airshed, at equal distances in CIELAB: pale blue, yellow, orange, red, of falling lightness."""


@contextmanager
def look() -> Iterator[None]:
    """Draw in Airshed's style inside this context, whatever settings or files of settings Matplotlib has found."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "font.family": "DejaVu Sans",
                "font.size": SIZE["small"],
                "text.color": INK,
                "svg.hashsalt": "airshed",  # so that the same run gives the same bytes
                "text.parse_math": False,  # a title with two dollar signs is no formula
                "axes.edgecolor": GREY,
                "axes.linewidth": 0.6,
                "axes.labelcolor": GREY,
                "xtick.color": GREY,
                "ytick.color": GREY,
                "xtick.labelsize": SIZE["small"] - 0.5,
                "ytick.labelsize": SIZE["small"] - 0.5,
                "xtick.major.size": 2.5,
                "ytick.major.size": 2.5,
                "xtick.major.width": 0.6,
                "ytick.major.width": 0.6,
                "xtick.major.pad": 2.5,
                "ytick.major.pad": 2.5,
            }
        )
        yield


def plain_log_ticks(axis: Axis) -> None:
    """Label a logarithmic axis by plain numbers: Matplotlib's own labels are mathematics."""
    axis.set_major_formatter(LogFormatter())
    axis.set_minor_formatter(LogFormatter())


def halo(width: float = 1.6) -> list[Any]:
    """Return the light edge that keeps text readable on any colour."""
    return [withStroke(linewidth=width, foreground="#ffffffcc")]


def table_of(field: str) -> str:
    """Return the name of the colour table of a field."""
    defaults = DOCUMENT["defaults"]
    table = FIELD_SCALES[field].table if field in FIELD_SCALES else field if field == SIGNED else defaults["other"]
    return str(defaults["light"] if table == SIGNED else table)


@cache
def colours(field: str, count: int = 256) -> Colormap:
    """Return the perceptual colour table of a field, from low to high."""
    return table(table_of(field), count)


@cache
def table(name: str, count: int = 256) -> Colormap:
    """Return the used part of a colour table, from low to high.

    Most tables are cmocean's (Thyng et al. 2016, Oceanography 29, 9-13), read as data: importing that package would
    load all of pyplot.
    """
    rows = np.linspace(*COLOUR_TABLES[name].part, count)
    if name in matplotlib.colormaps:
        rgb = matplotlib.colormaps[name](rows)[:, :3]
    else:
        if name in OWN:
            known = np.array([to_rgb(f"#{colour}") for colour in OWN[name]])
        else:
            known = np.loadtxt(str(distribution("cmocean").locate_file(f"cmocean/rgb/{name}-rgb.txt")))
        at = np.arange(len(known)) / (len(known) - 1)
        rgb = np.stack([np.interp(rows, at, known[:, k]) for k in range(3)], axis=1)
    return ListedColormap(rgb, name=f"airshed.{name}").with_extremes(bad=NO_VALUE)


def new_figure(width: float, height: float, dpi: float = DPI) -> Figure:
    """Return an empty figure [inches] that draws to memory."""
    figure = Figure(figsize=(width, height), dpi=dpi, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def axes_at(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Add axes at a place given in inches from the lower left corner."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def text_at(figure: Figure, x: float, y: float, text: str, size: str, **options: Any) -> Any:
    """Write text at a place given in inches from the lower left corner."""
    across, up = figure.get_size_inches()
    return figure.text(x / across, y / up, text, fontsize=SIZE[size], **options)


@cache
def text_size(text: str, points: float, dpi: float) -> tuple[float, float]:
    """Return the width and height [pixel] of a line of text, with space for descenders."""
    font = get_font(findfont(FontProperties(family="DejaVu Sans")))
    font.set_size(points, dpi)
    font.set_text(text, 0.0)
    return font.get_width_height()[0] / 64, points * dpi / 72 * 1.2
