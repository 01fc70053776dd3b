"""Common elements of the figures of an evaluation: names, units, colours of runs, a figure with one pair of axes."""

from collections.abc import Sequence
from itertools import cycle
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from airshed.evaluate.evaluation import Evaluation
from airshed.plot.page import headline, period
from airshed.plot.style import DPI, GREY, INK, LINES, PALE, SIZE, axes_at, new_figure, text_at
from airshed.plot.units import COMMON

FORMULAS: Final = {"NOx": "NOₓ", "PM10": "PM₁₀", "PM2.5": "PM₂.₅"}
COLOURS: Final = (LINES[1], LINES[0], LINES[4], LINES[2], LINES[3], LINES[5])
"""Colours of runs, the first one blue; they and the black of observations differ in lightness and in hue."""

MARKS: Final = ("o", "s", "^", "D", "v", "P")
"""Marks of runs, so that runs differ by more than colour."""

_LONGEST_NAME: Final = 32
_LEFT, _BELOW, _ABOVE, _RIGHT = 0.75, 0.95, 0.95, 0.3


def formula(species: str) -> str:
    """Return a species as it is printed, such as "O₃"."""
    return COMMON[species].formula if species in COMMON else FORMULAS.get(species, species)


def unit_of(evaluation: Evaluation, species: str) -> str:
    """Return the unit of a species as it is printed."""
    return evaluation.matched.units[species].replace("ug/m3", "µg/m³")


def stations_of(evaluation: Evaluation, species: str) -> list[str]:
    """Return the stations that have pairs of a species, the scored ones first."""
    of = evaluation.matched.observations
    names = [str(name) for name in np.unique(of.station[of.species == species])]
    return sorted(names, key=lambda name: (name in evaluation.unscored, name))


def station_label(evaluation: Evaluation, name: str) -> str:
    """Return a station with its class, such as "DENW095, urban background"."""
    return ", ".join(part for part in (name, evaluation.classes.get(name, "")) if part)


def period_of(evaluation: Evaluation) -> str:
    """Return the dates that the evaluation covers."""
    pairs = evaluation.matched
    start, end = pairs.start.astype("datetime64[s]"), pairs.end.astype("datetime64[s]")
    return period(np.array([start, start + (end - start) // 2, start + (end - start) // 2 + 1, end]))


def one_panel(title: str, subtitle: str, width: float = 4.2, height: float = 3.7) -> tuple[Figure, Axes]:
    """Return a figure with a headline and one pair of axes of a size [inches]."""
    figure = new_figure(_LEFT + width + _RIGHT, _BELOW + height + _ABOVE, DPI)
    axes = axes_at(figure, _LEFT, _BELOW, width, height)
    axes.spines[["top", "right"]].set_visible(False)
    headline(figure, _LEFT, title, subtitle)
    return figure, axes


def legend_below(figure: Figure, left: float, handles: Sequence[tuple[str, Line2D]]) -> None:
    """Write names next to their marks in one or two rows at the bottom of a figure."""
    across, up = figure.get_size_inches()
    x, y = left, 0.38
    for name, handle in handles:
        text = text_at(figure, x + 0.28, y, _short(name), "small", va="center_baseline", color=INK)
        width = 0.28 + text.get_window_extent().width / figure.dpi
        if x > left and x + width > across - 0.1:
            x, y = left, y - 0.2
            text.set_position(((x + 0.28) / across, y / up))
        handle.set_transform(figure.transFigure)
        is_line = handle.get_linestyle() != "None"
        places = [x, x + 0.22] if is_line else [x + 0.12]
        handle.set_data([place / across for place in places], [y / up for _ in places])
        figure.add_artist(handle)
        x += width + 0.25


def _short(name: str) -> str:
    """Return a name without its middle where it is too long for a legend."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME // 2]}…{name[-_LONGEST_NAME // 2 :]}"


def run_handles(evaluation: Evaluation, *, points: bool = False) -> list[tuple[str, Line2D]]:
    """Return the entry of each run in a legend, and of stations that are not scored where there are such points."""
    found = [
        (run.label, Line2D([], [], color=colour, linewidth=0 if points else 1.8, linestyle="None" if points else "-",
                           marker=mark if points else "", markersize=5.5, markeredgecolor="white", markeredgewidth=0.5))
        for run, colour, mark in zip(evaluation.runs, cycle(COLOURS), cycle(MARKS), strict=False)
    ]  # fmt: skip
    if points and evaluation.unscored:
        hollow = Line2D([], [], color="white", linestyle="None", marker="o", markersize=5.5, markeredgecolor=GREY)
        found.append(("not scored", hollow))
    return found


def observed_handle() -> tuple[str, Line2D]:
    """Return the entry of the observations in a legend."""
    return "observed", Line2D([], [], color=INK, linestyle="None", marker="o", markersize=3.6)


def grid_lines(axes: Axes) -> None:
    """Draw thin lines behind the values."""
    axes.grid(color=PALE, linewidth=0.5)
    axes.set_axisbelow(True)


def note(axes: Axes, x: float, y: float, text: str, **options: object) -> None:
    """Write a small grey note at a place of the axes (0 to 1)."""
    axes.text(x, y, text, transform=axes.transAxes, fontsize=SIZE["tiny"] + 0.5, color=GREY, **options)  # type: ignore[arg-type]
