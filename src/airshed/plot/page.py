"""Layout of all pictures: a headline, a grid of panels, and a colour bar with the model's name below."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import FuncNorm, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

from airshed.plot import units
from airshed.plot.limits import Scale, format_number
from airshed.plot.scales import limit_values
from airshed.plot.style import GREY, INK, SIZE, axes_at, colours, new_figure, text_at
from airshed.plot.units import daily

TOP, BOTTOM, RIGHT = 1.0, 0.95, 0.3
"""Margins [inches] for the headline, the colour bar, and half a tick label."""

_NARROWEST = 6.4
_EDGE = 0.1
_SMALLEST = 0.6
"""Least ratio of the letters of a long title to those of a short one."""


@dataclass(frozen=True)
class Panels:
    """A grid of equal panels on a page, lengths in inches; `left` is the margin that the vertical axis needs."""

    count: int
    columns: int
    width: float
    height: float
    left: float = 0.55
    gap_across: float = 0.22
    gap_up: float = 0.42

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return ceil(self.count / self.columns)

    @property
    def across(self) -> float:
        """Return the width of all panels together."""
        return self.columns * self.width + (self.columns - 1) * self.gap_across

    @property
    def page_width(self) -> float:
        """Return the width of the page, with space for the headline."""
        return max(_NARROWEST, self.left + self.across + RIGHT)

    @property
    def start(self) -> float:
        """Return where the first column begins: panels narrower than the page are centred."""
        return self.left + (self.page_width - self.left - self.across - RIGHT) / 2

    @property
    def figure_height(self) -> float:
        """Return the height of the page."""
        return TOP + self.rows * self.height + (self.rows - 1) * self.gap_up + BOTTOM

    def figure(self, dpi: float) -> Figure:
        """Return an empty figure that the panels fit on."""
        return new_figure(self.page_width, self.figure_height, dpi)

    def axes(self, figure: Figure) -> Iterator[Axes]:
        """Add the panels to a figure, row by row from the top; tick labels are on the left and at the bottom only."""
        for place in range(self.count):
            row, column = divmod(place, self.columns)
            x = self.start + column * (self.width + self.gap_across)
            y = BOTTOM + (self.rows - 1 - row) * (self.height + self.gap_up)
            axes = axes_at(figure, x, y, self.width, self.height)
            axes.xaxis.set_visible(place + self.columns >= self.count)
            axes.yaxis.set_visible(column == 0)
            yield axes


def norm_of(scale: Scale) -> Normalize:
    """Return Matplotlib's form of a scale."""
    if scale.power == 1:
        return Normalize(scale.low, scale.high)
    if scale.low < 0.0:
        power = scale.power
        return FuncNorm(
            (lambda x: np.sign(x) * np.abs(x) ** power, lambda x: np.sign(x) * np.abs(x) ** (1.0 / power)),
            scale.low, scale.high,
        )  # fmt: skip
    return PowerNorm(scale.power, scale.low, scale.high)


def headline(figure: Figure, left: float, title: str, subtitle: str) -> None:
    """Write the title of the picture, and below it location, time and unit; long lines in smaller letters."""
    across, up = figure.get_size_inches()
    lines = (
        text_at(figure, left, up - 0.36, title, "title", weight="bold", va="baseline", color=INK),
        text_at(figure, left, up - 0.60, subtitle, "subtitle", va="baseline", color=GREY),
    )
    for line in lines:
        _fit(line, across - left - _EDGE)


def _fit(line: Text, length: float) -> None:
    """Fit a line of text into a length [inches]: smaller letters, and at the least size fewer."""
    words, written = line.get_text(), _length(line)
    if written > length:
        line.set_fontsize(float(line.get_fontsize()) * max(length / written, _SMALLEST))
    while _length(line) > length and len(words) > 1:
        words = words[: min(len(words) - 1, int(len(words) * length / _length(line)))]
        line.set_text(f"{words.rstrip()}...")


def _length(line: Text) -> float:
    """Return the length of a line of text [inches]."""
    return float(line.get_window_extent().width / line.figure.dpi)


def in_unit(unit: str) -> str:
    """Return a unit as it ends a subtitle; nothing for a plain number."""
    return f"  [{unit}]" if unit not in ("", "1") else ""


def period(moments: NDArray[np.datetime64]) -> str:
    """Return the date or dates of some times, with the hour when there is but one."""
    first, last = units.date(moments[0]), units.date(moments[-1])
    if len(moments) == 1:
        return f"{first}, {units.clock(moments[0])} UTC"
    ends_at_midnight = units.clock(moments[-1]) == "00:00"
    if ends_at_midnight and not daily(moments):
        last = units.date(moments[-1] - np.timedelta64(1, "s"))
    return first if first == last else f"{first} to {last}"


def hour_of(times: NDArray[np.datetime64], index: int) -> str:
    """Return the hour of one of a run's times, with its date when the run is longer than a day."""
    if daily(times):
        return f"{units.short_date(times[index])} {times[index].astype('datetime64[Y]')}"
    hour = f"{units.clock(times[index])} UTC"
    return f"{units.short_date(times[index])} {hour}" if times[-1] - times[0] > np.timedelta64(1, "D") else hour


def footer(figure: Figure, right: float, credit: str, case: str = "") -> None:
    """Write the model's name, the sources of the map, and the case with its settings into the lower right corner."""
    text_at(figure, right, 0.50, "Airshed", "small", ha="right", va="center", color=GREY, weight="bold")
    text_at(figure, right, 0.33, credit, "tiny", ha="right", va="center", color=GREY)
    text_at(figure, right, 0.16, case, "tiny", ha="right", va="center", color=GREY)


def colour_bar(figure: Figure, field: str, scale: Scale, unit: str, panels: Panels) -> None:
    """Add the colour bar that all panels share, with its unit."""
    colour_bar_at(figure, field, scale, unit, panels.start, min(0.55 * panels.across, 5.5))


def colour_bar_at(figure: Figure, field: str, scale: Scale, unit: str, left: float, length: float) -> None:
    """Add a colour bar that begins at a place and has a length [inches], with its unit."""
    axes = axes_at(figure, left, 0.42, length, 0.13)
    mappable = ScalarMappable(norm_of(scale), colours(field))
    options: dict[str, Any] = {"orientation": "horizontal", "extend": scale.extend, "extendfrac": 0.03}
    figure.colorbar(mappable, cax=axes, **options)
    axes.set_xticks(scale.ticks, _labels(scale.ticks))
    axes.minorticks_off()
    for limit in limit_values(field, unit, scale.low, scale.high):
        axes.axvline(limit.value, color=INK, linewidth=1.2)
        axes.annotate(
            limit.set_by, (limit.value, 1.0), (0, 2), xycoords=axes.get_xaxis_transform(), textcoords="offset points",
            ha="center", va="bottom", fontsize=SIZE["tiny"], color=INK, annotation_clip=False,
        )  # fmt: skip
    words = [*([] if unit == "1" else [unit]), *(["(square-root scale)"] if scale.power != 1 else [])]
    text_at(figure, left + length + 0.15, 0.485, " ".join(words), "small", va="center", color=GREY)


def _labels(ticks: Sequence[float]) -> list[str]:
    return [format_number(tick) for tick in ticks]
