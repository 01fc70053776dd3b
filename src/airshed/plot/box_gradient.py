"""The largest sensitivities of a box as bars, one colour for each kind of input."""

from io import BytesIO
from pathlib import Path
from typing import Final

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airshed.core.atomic import write_whole
from airshed.core.version import __version__
from airshed.inverse.receptors.box import KINDS, MOST, Ranked, ranked
from airshed.plot.limits import axis_of, format_number
from airshed.plot.page import footer, headline
from airshed.plot.style import DPI, GREY, INK, LINES, PALE, SIZE, axes_at, look, new_figure, text_at, text_size
from airshed.plot.units import COMMON

_WIDTH, _ROW = 4.6, 0.24  # inches
_ABOVE, _BELOW, _RIGHT, _MARGIN = 0.95, 1.05, 0.45, 0.35
_LONGEST: Final = 52  # characters of a reaction's equation
_COLOURS: Final = dict(zip(KINDS, (LINES[1], LINES[2], LINES[4], LINES[3]), strict=True))


def plot_gradient(found: xr.Dataset, path: Path) -> None:
    """Draw the largest sensitivities into a PNG file, which appears whole or not at all; raises OutputError."""
    with look():
        figure = draw_gradient(found)
        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi=figure.dpi, metadata={"Software": f"Airshed {__version__}"})
    with write_whole(path) as part:
        part.write_bytes(buffer.getvalue())


def draw_gradient(found: xr.Dataset) -> Figure:
    """Draw the sensitivities of :func:`airshed.inverse.box_sensitivity`, the largest on top."""
    bars = ranked(found)[:MOST]
    labels = [_label(each) for each in bars]
    left = _MARGIN + max((text_size(each, SIZE["small"], DPI)[0] / DPI for each in labels), default=0.0) + 0.15
    height = _ROW * max(len(bars), 4)
    figure = new_figure(left + _WIDTH + _RIGHT, _ABOVE + height + _BELOW, DPI)
    axes = axes_at(figure, left, _BELOW, _WIDTH, height)
    _draw(axes, bars, labels)
    species = found.attrs["gradient"]
    formula = COMMON[species].formula if species in COMMON else species
    many = f", mean of {found.sizes['cell']} cells" if "cell" in found.dims else ""
    title = f"What {formula} at {found.attrs['time'] / 3600.0:g} h depends on"
    headline(figure, _MARGIN, title, f"change in % by 1 % more of each{many}")
    _legend(figure, [kind for kind in KINDS if any(each.kind == kind for each in bars)])
    footer(figure, left + _WIDTH, f"mechanism {found.attrs.get('mechanism', '')}".strip())
    return figure


def _draw(axes: Axes, bars: list[Ranked], labels: list[str]) -> None:
    places = range(len(bars))
    values = [each.value for each in bars]
    axes.barh(places, values, 0.68, color=[_COLOURS[each.kind] for each in bars], zorder=3)
    ticks = axis_of(values)
    span = ticks[-1] - ticks[0]
    axes.set_xlim(ticks[0] - 0.09 * span * (ticks[0] < 0.0), ticks[-1] + 0.09 * span)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xticks(ticks, [format_number(each) for each in ticks])
    axes.set_yticks(places, labels, color=INK, fontsize=SIZE["small"])
    axes.tick_params(axis="y", length=0)
    for place, each in zip(places, bars, strict=True):
        side = 1.0 if each.value > 0.0 else -1.0
        axes.text(
            each.value + 0.008 * side * span, place, format_number(each.value, 2), fontsize=SIZE["tiny"], color=GREY,
            va="center", ha="left" if side > 0.0 else "right",
        )  # fmt: skip
    for tick in ticks:
        axes.axvline(tick, color=GREY if tick == 0.0 else PALE, linewidth=0.8 if tick == 0.0 else 0.5, zorder=1)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _label(each: Ranked) -> str:
    """Return what a bar is of: a reaction's equation, or a species and what of it."""
    if each.kind == "rate":
        return each.text if len(each.text) <= _LONGEST else f"{each.text[: _LONGEST - 1]}…"
    formula = COMMON[each.name].formula if each.name in COMMON else each.name
    return f"{KINDS[each.kind][1]} of {formula}"


def _legend(figure: Figure, kinds: list[str]) -> None:
    """Write the kinds of inputs in their colours below the bars."""
    x = _MARGIN
    for kind in kinds:
        text = text_at(figure, x, 0.42, f"■ {KINDS[kind][1]}", "small", va="center", color=_COLOURS[kind])
        x += text.get_window_extent().width / figure.dpi + 0.25
