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

TABLES = MappingProxyType(
    {
        "O3": ("haze", 0.0, 1.0), "NO2": ("matter", 0.0, 0.86), "NO": ("matter", 0.0, 0.86),
        "SO2": ("turbid", 0.0, 0.7), "standing_dry_matter": ("speed", 0.0, 0.92), "growth": ("algae", 0.0, 0.9),
        "soil_water_index": ("deep", 0.0, 0.78), "drought_percentile": ("tarn", 0.2, 0.8),
        SIGNED: ("balance", 0.12, 0.88),
    }
)  # fmt: skip
OWN = MappingProxyType(
    {
        "haze": (
            "ddeefa", "dfece2", "e6eaca", "ede7b3", "f2e199", "f7d97e", "fbd163", "fabb51", "f9a541", "f38e39",
            "ee7630", "e45e30", "d8442f", "c33132", "ae2035", "941933", "7a1231",
        ),
    }
)  # fmt: skip
"""Tables of Airshed, at equal distances in CIELAB: pale blue, yellow, orange, red, of falling lightness."""

OTHER = ("dense", 0.0, 0.8)
"""Colour tables by field, and the part of each that is used: where dark lines still show."""


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


@cache
def colours(field: str, count: int = 256) -> Colormap:
    """Return the perceptual colour table of a field, from light to dark, without its darkest ends.

    Most tables are cmocean's (Thyng et al. 2016, Oceanography 29, 9-13), read as data: importing that package would
    load all of pyplot.
    """
    name, first, last = TABLES.get(field, OTHER)
    if name in OWN:
        table = np.array([to_rgb(f"#{colour}") for colour in OWN[name]])
    else:
        table = np.loadtxt(str(distribution("cmocean").locate_file(f"cmocean/rgb/{name}-rgb.txt")))
    rows = np.linspace(first, last, count) * (len(table) - 1)
    rgb = np.stack([np.interp(rows, np.arange(len(table)), table[:, k]) for k in range(3)], axis=1)
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
