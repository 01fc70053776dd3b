"""Time series of a box of air, or of many: a panel for each species, nights shaded."""

from collections.abc import Sequence
from io import BytesIO
from math import ceil, floor, log10
from pathlib import Path
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from airshed.core.atomic import write_whole
from airshed.core.version import __version__
from airshed.plot.limits import axis_of, format_number, round_step
from airshed.plot.page import Panels, footer, headline
from airshed.plot.style import DPI, GREY, LINES, NIGHT, PALE, SIZE, look
from airshed.plot.units import COMMON, mixing_ratio_unit

Array = NDArray[np.float64]

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
