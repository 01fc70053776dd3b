"""Bars of what cuts of a tenth change: by country, and by sector."""

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airshed.plot.page import BOTTOM, Panels
from airshed.plot.style import GREY, INK, LINES, PALE, SIZE, axes_at

RANKING_WIDTH: Final = 4.3
"""What the bars take of a page [inches]."""

Row = Mapping[str, str | float]

_MOST: Final = 8
_LEAST: Final = 0.01
_CUT: Final = 0.1
_PPB: Final = 1e9
_GROUPS: Final = (("NOx", LINES[1]), ("others", LINES[4]))


def draw_ranking(figure: Figure, panels: Panels, rows: Sequence[Row], unit: str) -> None:
    """Draw the ranking to the right of maps: what a cut of a tenth changes, nitrogen oxides and others apart."""
    left = panels.page_width + 1.15
    height = panels.rows * panels.height + (panels.rows - 1) * panels.gap_up
    each = (height - 0.75) / 2
    for place, key in enumerate(("country", "sector")):
        axes = axes_at(figure, left, BOTTOM + (1 - place) * (each + 0.75), RANKING_WIDTH - 1.6, each)
        title = f"A 10 % cut by {key} changes it by [{unit}]"
        axes.set_title(title, loc="right", fontsize=SIZE["panel"], weight="bold")
        _bars(axes, _sums(rows, key))
        if place == 0:
            _legend(axes)


def _sums(rows: Sequence[Row], key: str) -> list[tuple[str, list[float]]]:
    """By country or sector the changes by each group of pollutants, the greatest first."""
    sums: dict[str, list[float]] = {}
    for row in rows:
        group = 0 if row["species"] == "NOx" else 1
        sums.setdefault(str(row[key] or row["source"]), [0.0, 0.0])[group] += -_CUT * _PPB * float(row["value"])
    ranked = sorted(sums.items(), key=lambda item: -max(map(abs, item[1])))[:_MOST]
    return [(name, values) for name, values in ranked if max(map(abs, values)) > _LEAST * max(map(abs, ranked[0][1]))]


def _bars(axes: Axes, sums: Sequence[tuple[str, list[float]]]) -> None:
    for group, (_, colour) in enumerate(_GROUPS):
        places = [place + (group - 0.5) * 0.36 for place in range(len(sums))]
        axes.barh(places, [values[group] for _, values in sums], height=0.34, color=colour, zorder=3)
    axes.set_yticks(range(len(sums)), [_readable(name) for name, _ in sums], color=INK)
    axes.set_ylim(max(len(sums), 4) - 0.4, -0.6)
    axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=4)
    axes.grid(axis="x", color=PALE, linewidth=0.5, zorder=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _readable(name: str) -> str:
    """The name of a sector without the letter of its code: F_RoadTransport is RoadTransport."""
    return name.partition("_")[2] or name


def _legend(axes: Axes) -> None:
    for number, (name, colour) in enumerate(_GROUPS):
        axes.text(0.98, 0.06 + 0.12 * (1 - number), name, transform=axes.transAxes, ha="right", color=colour,
                  weight="bold", fontsize=SIZE["small"])  # fmt: skip
