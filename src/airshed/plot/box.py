"""Pictures of a box: time series by species with nights shaded, and its largest sensitivities as bars."""

from collections.abc import Sequence
from io import BytesIO
from math import ceil, floor, log10
from pathlib import Path
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airshed.core.arrays import Array
from airshed.core.atomic import write_whole
from airshed.core.text import duration
from airshed.core.version import __version__
from airshed.inverse.receptors.box import KINDS, MOST, RankedSensitivity, ranked
from airshed.plot.limits import axis_of, format_number, round_step
from airshed.plot.page import Panels, footer, headline
from airshed.plot.style import DPI, GREY, INK, LINES, NIGHT, PALE, SIZE, axes_at, look, new_figure, text_at, text_size
from airshed.plot.units import COMMON, mixing_ratio_unit

MOST_PANELS: Final = 24

_BANDS: Final = ((0, 100, 0.12), (10, 90, 0.22))  # percentiles of cells, and how dense they are drawn
_CLOCKS: Final = (("s", 1.0, 300.0), ("min", 60.0, 3.0 * 3600.0), ("h", 3600.0, 4.0 * 86400.0), ("d", 86400.0, np.inf))
_HOURS: Final = (1.0, 2.0, 3.0, 4.0, 6.0, 12.0, 24.0)
_RAISED: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def plot_box(series: xr.Dataset, species: Sequence[str], path: Path) -> None:
    """Draw species of a time series into a PNG file, which appears whole or not at all; raises OutputError."""
    with look():
        figure = draw_box(series, species)
        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi=figure.dpi, metadata={"Software": f"Airshed {__version__}"})
    with write_whole(path) as part:
        part.write_bytes(buffer.getvalue())


def draw_box(series: xr.Dataset, species: Sequence[str]) -> Figure:
    """Draw the first species, at most :data:`MOST_PANELS`: mixing ratios where the density of air is known.

    Of many cells the median is drawn, on a band from the tenth to the ninetieth percentile and one from least to most.
    """
    names = list(species)[:MOST_PANELS]
    columns = 1 if len(names) == 1 else 2 if len(names) in (2, 4) else 3
    panels = Panels(len(names), columns, 5.6 if columns == 1 else 3.2, 1.7, gap_across=0.62, gap_up=0.5)
    figure = panels.figure(DPI)
    times = series["time"].values
    unit, seconds = next((name, length) for name, length, most in _CLOCKS if times[-1] - times[0] <= most)
    for number, (name, axes) in enumerate(zip(names, panels.axes(figure), strict=True)):
        axes.yaxis.set_visible(True)
        _draw_species(axes, series, name, times / seconds, LINES[number % len(LINES)])
        _dress(axes, times / seconds, unit)
        _shade_night(axes, series, times / seconds)
    title = str(series.attrs.get("title") or "Box of air")
    headline(figure, panels.start, title, _subtitle(series, unit))
    footer(figure, panels.start + panels.across, f"mechanism {series.attrs.get('mechanism', '')}".strip())
    return figure


def _draw_species(axes: Axes, series: xr.Dataset, name: str, times: Array, colour: str) -> None:
    values, unit = _in_unit(series, name)
    for low, high, alpha in _BANDS if values.shape[1] > 1 else ():
        edges = np.percentile(values, (low, high), axis=1)
        axes.fill_between(times, *edges, color=colour, alpha=alpha, linewidth=0, zorder=2)
    axes.plot(times, np.median(values, axis=1), color=colour, linewidth=1.7, zorder=3)
    heights = axis_of(values)
    axes.set_ylim(heights[0], heights[-1])
    marked = heights[:: ceil(len(heights) / 5)]
    axes.set_yticks(marked, [format_number(each) for each in marked])
    for height in heights:
        axes.axhline(height, color=PALE, linewidth=0.5, zorder=1)
    formula = COMMON[name].formula if name in COMMON else name
    axes.set_title(formula, loc="left", fontsize=SIZE["panel"], weight="bold", pad=4)
    axes.set_title(unit, loc="right", fontsize=SIZE["small"], color=GREY, pad=4)


def _in_unit(series: xr.Dataset, name: str) -> tuple[Array, str]:
    """Return values (time, cell) and their unit: ppb or a neighbour of it, else a power of ten of molecules."""
    values = np.asarray(series[name].values, np.float64).reshape(series.sizes["time"], -1)
    if "M" in series:
        shares = values / np.asarray(series["M"].values).reshape(series.sizes["time"], -1)
        largest = float(shares.max())
        unit = mixing_ratio_unit(largest if not 2e-11 <= largest < 1e-10 else 1e-11)
        label, factor, largest = unit.label, unit.factor, unit.factor * largest
        if 0.0 < largest < 0.1:  # a radical of which there is less than a tenth of a ppt
            power = floor(log10(largest))
            factor, label = factor * 10.0**-power, f"10{str(power).translate(_RAISED)} {label}"
        return shares * factor, label
    largest = float(values.max())
    power = floor(log10(largest)) if largest > 0.0 else 0
    prefix = f"10{str(power).translate(_RAISED)} " if not -1 <= power <= 3 else ""
    return values * (10.0**-power if prefix else 1.0), f"{prefix}molecules/cm³"


def _dress(axes: Axes, times: Array, unit: str) -> None:
    """Set limits and ticks at round times."""
    first, last = float(times[0]), float(times[-1])
    axes.set_xlim(first, last)
    span = last - first
    step = next((s for s in _HOURS if span / s <= 8), 24.0) if unit == "h" else round_step(span)
    ticks = np.arange(ceil(first / step - 1e-9) * step, last + 1e-9 * span, step)
    if axes.xaxis.get_visible():
        axes.set_xticks(ticks, [f"{tick:.4g}".replace("e+0", "e").replace("e+", "e") for tick in ticks])
    axes.spines[["top", "right"]].set_visible(False)


def _shade_night(axes: Axes, series: xr.Dataset, times: Array) -> None:
    light = next((series[name].values for name in ("daylight", "SUN") if name in series), None)
    if light is None:
        return
    dark = np.asarray(light).reshape(len(times), -1).max(axis=1) == 0.0
    if dark.all():
        return
    axes.fill_between(
        times, 0, 1, where=dark.tolist(), step="mid", transform=axes.get_xaxis_transform(), color=NIGHT, linewidth=0,
        zorder=0,
    )  # fmt: skip


def _subtitle(series: xr.Dataset, unit: str) -> str:
    words = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}[unit]
    parts = [f"{words} since local midnight of the first day"]
    if "daylight" in series and float(series["daylight"].min()) == 0.0 < float(series["daylight"].max()):
        parts.append("nights shaded")
    if series.sizes.get("cell", 1) > 1:
        parts.append(f"median, 10 to 90 % and range of {series.sizes['cell']} cells")
    return ", ".join(parts)


# Sensitivities.


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
    title = f"Sensitivity of {formula} at {duration(found.attrs['time'])}"
    headline(figure, _MARGIN, title, f"change in % per 1 % increase of each input{many}")
    _legend(figure, [kind for kind in KINDS if any(each.kind == kind for each in bars)])
    footer(figure, left + _WIDTH, f"mechanism {found.attrs.get('mechanism', '')}".strip())
    return figure


def _draw(axes: Axes, bars: list[RankedSensitivity], labels: list[str]) -> None:
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


def _label(each: RankedSensitivity) -> str:
    """Return the label of a bar: the equation of a reaction, or a species with its kind of input."""
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
