"""`airshed adjoint` of a model of points: which period's rain made what is measured, and where."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from numpy.typing import NDArray

from airshed.grid.packing import Packing
from airshed.inverse.receptors.point_sensitivity import contributions, periods
from airshed.plot.geography import MAP_CREDIT
from airshed.plot.limits import format_number, scale_around_zero, scale_of
from airshed.plot.maps import map_panels
from airshed.plot.page import colour_bar_at, footer, headline
from airshed.plot.panel import MapPanel, shape_of
from airshed.plot.sensitivity import Columns, save_figure
from airshed.plot.style import DPI, GREY, INK, LINES, PALE, SIGNED, SIZE, axes_at, look, new_figure, text_at

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

_SHOWN: Final = 0.995
"""Part of all contributions that the periods of the picture have: earlier ones are left out."""

_WIDTH, _HEIGHT, _LOWER = 9.6, 2.9, 1.7
_LEFT, _BOTTOM, _GAP, _TOP = 0.8, 0.95, 0.5, 0.95
_DAY: Final = np.timedelta64(1, "D")


def plot_point_sensitivity(found: "xr.Dataset", folder: Path) -> list[Path]:
    """Draw sensitivities into a folder that is there; return the files.

    writes  overview.png  what each period's rain contributes, and below it the other amounts of weather
            rain.png      what rain contributes to each cell's own value, and how old the rain is that counts
    """
    amounts = contributions(found)
    if not amounts:
        return []
    main = "rain" if "rain" in amounts else next(iter(amounts))
    with look():
        written = [save_figure(folder / "overview.png", draw_periods(found, main, amounts))]
        if {"lat", "lon"} <= set(found.coords) and found["lat"].ndim == 1:
            written.append(save_figure(folder / f"{main}.png", draw_cells(found, main)))
    return written


def draw_periods(found: "xr.Dataset", main: str, amounts: dict[str, Array]) -> Figure:
    """Draw what an amount of each period contributes as bars, and the other amounts as lines."""
    others = [name for name in amounts if name != main]
    up = _TOP + _HEIGHT + _BOTTOM + (_LOWER + _GAP if others else 0.0)
    figure, unit = new_figure(_WIDTH, up, DPI), str(found["value"].attrs["units"])
    first = _first_shown(amounts)
    axes = axes_at(figure, _LEFT, up - _TOP - _HEIGHT, _WIDTH - _LEFT - 0.3, _HEIGHT)
    bounds = found["time_bounds"].values[first:]
    width = (bounds[:, 1] - bounds[:, 0]) / _DAY
    axes.bar(bounds[:, 0], amounts[main][first:], width=0.9 * width, align="edge", color=LINES[1], zorder=3)
    _format(axes, bounds, f"{main.replace('_', ' ')} [{unit}]", labelled=not others)
    if others:
        lower = axes_at(figure, _LEFT, _BOTTOM, _WIDTH - _LEFT - 0.3, _LOWER)
        middle = bounds[:, 0] + (bounds[:, 1] - bounds[:, 0]) // 2
        for name, colour in zip(others, (LINES[0], LINES[4], LINES[2], LINES[3], LINES[5]), strict=False):
            lower.plot(
                middle, amounts[name][first:], color=colour, linewidth=1.4, label=name.replace("_", " "), zorder=3
            )
        _format(lower, bounds, f"other weather [{unit}]", labelled=True)
        lower.legend(frameon=False, fontsize=SIZE["small"], ncols=3, loc="upper left", bbox_to_anchor=(0.0, 1.18))
    at, value = int(np.argmax(np.abs(amounts[main]))), format_number(float(found["value"]), 3)
    when = " to ".join(periods(found)[at])
    title = f"Which {main.replace('_', ' ')} made {found.attrs['receptor_title']}"
    what = f"{value} {unit} is measured at {_measured_at(found)}; most by {main.replace('_', ' ')} of {when}"
    headline(figure, _LEFT, title, what)
    _sign(figure, found, "to first order: a tenth less changes it by minus a tenth of this")
    return figure


def draw_cells(found: "xr.Dataset", main: str) -> Figure:
    """Draw maps of what an amount contributes to the value of each cell, and of its mean age."""
    import xarray as xr

    field, weight = found[f"contribution_{main}"].values, found["receptor_weight"].values
    packing = Packing.of(found["lat"].values, found["lon"].values)
    columns = Columns(xr.Dataset(coords={"lat": packing.lat, "lon": packing.lon}))
    sizes, none = np.abs(field), np.full(weight.shape, np.nan)
    own = np.divide(field.sum(axis=0, dtype=np.float64), weight, out=none.copy(), where=weight > 0.0)
    total = sizes.sum(axis=0, dtype=np.float64)
    age = np.divide(np.tensordot(_ages(found), sizes, axes=1), total, out=none.copy(), where=total > 0.0)

    unit, word = str(found["value"].attrs["units"]), main.replace("_", " ")
    panels = map_panels(2, shape_of(columns.area), highest=7.5)
    figure = panels.figure(DPI)
    shown = ((own, "standing_dry_matter", f"contributed [{unit}]"), (age, "soil_water_index", "mean age [days]"))
    for axes, (values, colour, title) in zip(panels.axes(figure), shown, strict=True):
        scale = scale_of(values)
        if scale.low < 0.0:
            colour, scale = SIGNED, scale_around_zero(values)
        MapPanel(axes, columns, colour, scale).show(packing.spread(values))
        axes.set_title(f"{word} {title}", loc="left", fontsize=SIZE["panel"], weight="bold", pad=4)
        left = axes.get_position().x0 * figure.get_size_inches()[0]
        colour_bar_at(figure, colour, scale, "", left, 0.5 * panels.width)
    headline(
        figure, panels.start, f"Where {word} made {found.attrs['receptor_title']}",
        f"what {word} contributes to the value of each cell, and how old it is at the end, to first order",
    )  # fmt: skip
    _sign(figure, found, MAP_CREDIT)
    return figure


def _ages(found: "xr.Dataset") -> Array:
    """Return the age of the middle of each period at the end of the last one [days]."""
    bounds = found["time_bounds"].values
    return np.asarray(((bounds[-1, 1] - bounds) / _DAY).mean(axis=1))


def _first_shown(amounts: dict[str, Array]) -> int:
    """Return the first of the periods that have nearly all of the contributions."""
    sizes = np.sum([np.abs(each) for each in amounts.values()], axis=0)
    later = np.cumsum(sizes[::-1])[::-1]
    return int(np.flatnonzero(later >= _SHOWN * later[0])[-1]) if later[0] > 0.0 else 0


def _measured_at(found: "xr.Dataset") -> str:
    start = np.datetime64(str(found.attrs["start"]))
    seconds = np.broadcast_to(found.attrs["receptor_time"], 2)
    days = [str((start + np.timedelta64(round(float(each)) - 1, "s")).astype("datetime64[D]")) for each in seconds]
    return f"the end of {days[0]}" if days[0] == days[1] else f"the ends of days from {days[0]} to {days[1]}"


def _format(axes: Axes, bounds: NDArray[np.datetime64], title: str, *, labelled: bool) -> None:
    axes.set_xlim(bounds[0, 0], bounds[-1, 1])
    axes.axhline(0.0, color=INK, linewidth=0.6, zorder=4)
    axes.grid(axis="y", color=PALE, linewidth=0.5, zorder=1)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    locator = AutoDateLocator(maxticks=12)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.tick_params(labelbottom=labelled)
    axes.set_ylabel(title)


def _sign(figure: Figure, found: "xr.Dataset", credit: str) -> None:
    right = figure.get_size_inches()[0] - 0.3
    footer(figure, right, credit)
    text_at(figure, right, 0.16, str(found.attrs["case_title"]), "tiny", ha="right", va="center", color=GREY)
