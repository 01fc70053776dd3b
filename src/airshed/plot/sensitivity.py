"""Pictures of `airshed adjoint`: maps of the sensitivity to emission, ranked sources, periods of models of points."""

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.atomic import guarded, write_whole
from airshed.inverse.receptors.results import FILE, rows_of, time_in_words, unit_of
from airshed.io.folder import PICTURES, SOFTWARE
from airshed.io.netcdf import load_netcdf
from airshed.models.air.emissions.sectors import sector_in_words
from airshed.plot import units
from airshed.plot.cells import MapCells
from airshed.plot.geography import MAP_CREDIT, Area, dense
from airshed.plot.limits import Scale, format_number, scale_around_zero
from airshed.plot.maps import map_panels
from airshed.plot.page import BOTTOM, Panels, colour_bar, footer, headline
from airshed.plot.panel import MapPanel, shape_of
from airshed.plot.style import DPI, GREY, INK, LINES, PALE, SIGNED, SIZE, axes_at, look, new_figure, text_at
from airshed.plot.units import Unit, formula

if TYPE_CHECKING:
    import xarray as xr
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from airshed.grid.packing import PackedGrid
from airshed.inverse.receptors.point_sensitivity import contributions, periods
from airshed.plot.limits import scale_of
from airshed.plot.page import colour_bar_at

RANKING_WIDTH: Final = 4.6
"""Width of the bars with their labels [inches]."""

_LABELS: Final = 1.45

Row = Mapping[str, str | float]

_MOST: Final = 8
_LEAST: Final = 0.01
_CUT: Final = 0.1
_PPB: Final = 1e9
_GROUPS: Final = (("NOx", LINES[3]), ("VOC, CO and others", LINES[4]))  # apart from red and blue of the maps


def draw_ranking(figure: Figure, panels: Panels, rows: Sequence[Row], unit: Unit) -> None:
    """Draw the changes by a cut of a tenth to the right of maps, nitrogen oxides and other pollutants separately."""
    left = panels.page_width + _LABELS
    height = panels.rows * panels.height + (panels.rows - 1) * panels.gap_up
    each = (height - 0.75) / 2
    for place, key in enumerate(("country", "sector")):
        axes = axes_at(figure, left, BOTTOM + (1 - place) * (each + 0.75), RANKING_WIDTH - _LABELS - 0.3, each)
        axes.set_title(
            f"Change by a 10 % cut, by {key} [{unit.label}]", loc="right", fontsize=SIZE["panel"], weight="bold"
        )
        _bars(axes, _sums(rows, key, unit))
    for number, (name, colour) in enumerate(_GROUPS):
        text_at(figure, left + 0.7 * number, 0.62, f"■ {name}", "small", va="center", color=colour, weight="bold")


def _sums(rows: Sequence[Row], key: str, unit: Unit) -> list[tuple[str, list[float]]]:
    """Return the changes by country or sector and group of pollutants, the greatest first, small ones together."""
    sums: dict[str, list[float]] = {}
    for row in rows:
        group = 0 if row["species"] == "NOx" else 1
        sums.setdefault(str(row[key] or row["source"]), [0.0, 0.0])[group] += -_CUT * unit.factor * float(row["value"])
    ranked = sorted(sums.items(), key=lambda item: -max(map(abs, item[1])))
    least = _LEAST * max(map(abs, ranked[0][1]), default=0.0)
    main = [(name, values) for name, values in ranked[:_MOST] if max(map(abs, values)) > least]
    if rest := ranked[len(main) :]:
        main.append(("others", [sum(values[group] for _, values in rest) for group in (0, 1)]))
    return main


def _bars(axes: Axes, sums: Sequence[tuple[str, list[float]]]) -> None:
    for group, (_, colour) in enumerate(_GROUPS):
        places = [place + (group - 0.5) * 0.36 for place in range(len(sums))]
        axes.barh(places, [values[group] for _, values in sums], height=0.34, color=colour, zorder=3)
    axes.set_yticks(range(len(sums)), [sector_in_words(name) for name, _ in sums], color=INK)
    axes.set_ylim(max(len(sums), 4) - 0.4, -0.6)
    axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=4)
    axes.grid(axis="x", color=PALE, linewidth=0.5, zorder=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


# Maps of the sensitivity to emission.


NOX: Final = ("NO", "NO2", "HONO")
_SIGNAL: Final = 0.98  # part of the contributions that lies in the cells that a zoomed map shows
_FEWEST: Final = 8  # rows and columns of a zoomed map
_MAPPED: Final = 3
_MARGIN: Final = 0.4


def plot_sensitivity(folder: Path) -> list[Path]:
    """Draw the sensitivities in a folder of `airshed adjoint`; return the PNG files in its subfolder of pictures.

    writes  overview.png  contributions of the case's emission, and the ranking by country and sector.
            X.png         effect of a tonne of X by the cell of its release, for NO, NO2 and the strongest others.
            adjoint_X.png sensitivity to X in a layer at up to four times, where its fields were requested.
    Raises DataError for a missing file, OutputError where pictures cannot be written.
    """
    found, written = load_netcdf(folder / FILE), list[Path]()
    with look(), guarded(folder / PICTURES):
        (folder / PICTURES).mkdir(exist_ok=True)
        if found.attrs.get("receptor_kind") == "points":
            return plot_point_sensitivity(found, folder / PICTURES)
        if np.any(found["emission_contribution"].values):
            written.append(save_figure(folder / PICTURES / "overview.png", draw_overview(found)))
        for name in _mapped(found):
            written.append(save_figure(folder / PICTURES / f"{name}.png", draw_per_tonne(found, name)))
        for name in _in_time(found):
            written.append(save_figure(folder / PICTURES / f"{name}.png", draw_in_time(found, name)))
    return written


def draw_overview(found: "xr.Dataset") -> Figure:
    """Draw the contribution of the emission in each cell, of nitrogen oxides and of other species, and the ranking."""
    names = [str(name) for name in found["species"].values]
    is_nox, emitted = np.isin(names, NOX), found["emission_contribution"].values
    groups = {"Emitted NOx": emitted[is_nox].sum(axis=0), "VOC, CO and others": emitted[~is_nox].sum(axis=0)}
    groups = {title: values for title, values in groups.items() if values.any()}
    whole = cells_of(found)
    rows, columns = signal_window(found, sum(np.abs(values) for values in groups.values()))
    cells = whole.part(rows, columns)
    ranked = [row for row in rows_of(found) if not str(row["source"]).startswith("air ")]
    unit = _unit(found, groups.values())

    panels = map_panels(len(groups), shape_of(cells.area), highest=6.0, widest=8.4)
    figure = _wider(panels, RANKING_WIDTH if ranked else 0.0)
    scale = scale_around_zero(unit.factor * np.stack(list(groups.values()))[:, rows, columns])
    for (title, values), axes in zip(groups.items(), panels.axes(figure), strict=True):
        _draw(axes, cells, unit.factor * values[rows, columns], scale, title)
        _mark(axes, cells.area, found)
        total = format_number(unit.factor * float(values.sum()), 2)
        axes.set_title(f"all cells {total} {unit.label}", loc="right", fontsize=SIZE["small"], color=GREY)
    if ranked:
        draw_ranking(figure, panels, ranked, unit)
    value = f"{1e9 * float(found['value']):.3g} {unit_of(found)} at {time_in_words(found)}"
    text = "contribution of the emission in each cell: red increases, blue decreases it"
    headline(figure, panels.start, f"Sources of {_of(found)}", f"{value}; {text}")
    _finish(figure, panels, scale, unit.label, found)
    return figure


def signal_window(found: "xr.Dataset", sizes: Array) -> tuple[slice, slice]:
    """Return the rows and columns of the box around the receptor and the cells with nearly all contributions.

    sizes  magnitudes of contributions (rows, columns)
    """
    cells = cells_of(found)
    falling = np.sort(sizes, axis=None)[::-1]
    reached = np.searchsorted(np.cumsum(falling), _SIGNAL * falling.sum())
    seen = sizes >= max(float(falling[min(int(reached), falling.size - 1)]), float(np.finfo(np.float64).tiny))
    chosen = []
    ends = _receptor(cells.area, found)
    for axis, centres in enumerate((cells.y, cells.x)):
        own = [int(np.argmin(np.abs(centres - end))) for end in ends[1 - axis]]
        there = [*np.flatnonzero(seen.any(axis=1 - axis)).tolist(), *own]
        first, last = min(there) - 1, max(there) + 2
        wider = max(0, _FEWEST - (last - first))
        first, last = max(0, first - wider // 2), min(centres.size, last + (wider + 1) // 2)
        chosen.append(slice(first, last))
    return chosen[0], chosen[1]


def _unit(found: "xr.Dataset", groups: Iterable[Array]) -> Unit:
    """Return the one unit of maps and bars: ppb, or ppt for small contributions."""
    largest = max((abs(float(values.sum())) for values in groups), default=0.0)
    small = _PPB * largest < 0.1
    return Unit(unit_of(found).replace("ppb", "ppt"), 1e3 * _PPB) if small else Unit(unit_of(found), _PPB)


def draw_per_tonne(found: "xr.Dataset", name: str) -> Figure:
    """Draw the effect of a tonne of a species released at the ground, by the cell of its release."""
    cells = cells_of(found)
    values = 1e3 * found["per_tonne"].sel(species=name).values
    panels = map_panels(1, shape_of(cells.area), highest=7.0)
    figure, scale = panels.figure(DPI), scale_around_zero(values)
    axes = next(panels.axes(figure))
    _draw(axes, cells, values, scale, "")
    _mark(axes, cells.area, found)
    unit = str(found["per_tonne"].attrs["units"]).replace("ppb", "ppt").replace(" t-1", " per tonne")
    headline(
        figure, _MARGIN, f"Effect of a tonne of {formula(name)} on {_of(found)}",
        f"released at the ground of a cell, evenly until then; {time_in_words(found)}",
    )  # fmt: skip
    _finish(figure, panels, scale, unit, found)
    return figure


def draw_in_time(found: "xr.Dataset", name: str) -> Figure:
    """Draw the sensitivity of the receptor to a species in one layer, at up to four times."""
    cells, level = cells_of(found), int(found.attrs["drawn_level"])
    fields, times = found[name].isel(level=level), found["time"].values
    before = max(len(times) - 1, 1)  # the last one is a step before the receptor
    chosen = sorted(set(np.linspace(0, before - 1, min(4, before)).round().astype(int).tolist()))
    scale = scale_around_zero(fields.values[chosen])
    panels = map_panels(len(chosen), shape_of(cells.area))
    figure = panels.figure(DPI)
    for time, axes in zip(chosen, panels.axes(figure), strict=True):
        moment = str(times[time].astype("datetime64[m]")).replace("T", " ")
        _draw(axes, cells, fields.values[time], scale, f"{moment} UTC")
        _mark(axes, cells.area, found)
    species, height = name.partition("_")[2], units.height(float(found["level"].values[level]))
    headline(
        figure, panels.start, f"Sensitivity of {_of(found)} to {formula(species)} at {height}",
        f"change at {time_in_words(found)} per unit change of {formula(species)} in a cell of layer {level + 1}",
    )  # fmt: skip
    _finish(figure, panels, scale, "", found)
    return figure


def _in_time(found: "xr.Dataset") -> list[str]:
    names = [str(name) for name in found.data_vars if str(name).startswith("adjoint_")]
    return [name for name in names if np.any(found[name].isel(level=int(found.attrs["drawn_level"])).values)]


def _wider(panels: Panels, more: float) -> Figure:
    figure = panels.figure(DPI)
    across, up = figure.get_size_inches()
    return new_figure(across + more, up, DPI) if more else figure


def _mapped(found: "xr.Dataset") -> list[str]:
    """Return the species to map: NO and NO2, and the emitted species with the largest contributions."""
    names = [str(name) for name in found["species"].values]
    strength = np.abs(found["emission_contribution"].values).sum(axis=(1, 2))
    ranked = [names[row] for row in np.argsort(-strength) if strength[row] > 0.0]
    usual = [name for name in ("NO", "NO2") if name in names] or names[:1]
    chosen = list(dict.fromkeys([*usual, *ranked]))[:_MAPPED]
    worth = np.abs(found["per_tonne"].values)
    return [name for name in chosen if np.nansum(worth[names.index(name)]) > 0.0]


def _of(found: "xr.Dataset") -> str:
    species, _, place = str(found.attrs["receptor_title"]).partition(" in ")
    return f"{formula(species)} in {place}"


def cells_of(found: "xr.Dataset") -> MapCells:
    """Return the cells of a Dataset of sensitivities."""
    return MapCells.of(found, Path(FILE))[1]


def _draw(axes: Axes, cells: MapCells, values: Array, scale: Scale, title: str) -> None:
    MapPanel(axes, cells, SIGNED, scale).show(values)
    if title:
        axes.set_title(title, loc="left", fontsize=SIZE["panel"], weight="bold", pad=4)


def _mark(axes: Axes, area: Area, found: "xr.Dataset") -> None:
    """Mark the receptor: a ring, or the outline of an area."""
    x, y = _receptor(area, found)
    if x.size == 1:
        axes.plot(x, y, "o", markersize=9, mfc="none", mec=INK, mew=1.6, zorder=6)
    else:
        axes.plot(x, y, color=INK, linewidth=1.3, zorder=6)


def _receptor(area: Area, found: "xr.Dataset") -> tuple[Array, Array]:
    """Return x and y on the map of the place of a receptor: a point, or a closed outline."""
    (west, east), (south, north) = (np.broadcast_to(found.attrs[f"receptor_{axis}"], 2) for axis in ("lon", "lat"))
    if west == east and south == north:
        return area.mapping.from_lonlat(np.array([west]), np.array([south]))
    ring = np.array([(west, south), (east, south), (east, north), (west, north), (west, south)], np.float64)
    return area.mapping.from_lonlat(*(dense(ring) if area.is_projected else ring).T)


def _finish(figure: Figure, panels: Panels, scale: Scale, unit: str, found: "xr.Dataset") -> None:
    colour_bar(figure, SIGNED, scale, unit, panels)
    right = figure.get_size_inches()[0] - 0.3
    footer(figure, right, MAP_CREDIT)
    text_at(figure, right, 0.16, str(found.attrs["case_title"]), "tiny", ha="right", va="center", color=GREY)


def save_figure(path: Path, figure: Figure) -> Path:
    """Write a figure as PNG, whole or not at all; return the path."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=figure.dpi, metadata={"Software": SOFTWARE})
    with write_whole(path) as part:
        part.write_bytes(buffer.getvalue())
    return path


# Models of points: sensitivity by period, and its map.


_SHOWN: Final = 0.995
"""Part of all contributions that the periods of the picture have: earlier ones are left out."""

_WIDTH, _HEIGHT, _LOWER = 9.6, 2.9, 1.7
_LEFT, _BOTTOM, _GAP, _TOP = 0.8, 0.95, 0.5, 0.95
_DAY: Final = np.timedelta64(1, "D")


def plot_point_sensitivity(found: "xr.Dataset", folder: Path) -> list[Path]:
    """Draw sensitivities into a folder that is there; return the files.

    writes  overview.png  contribution of rain in each period, and below it other amounts of weather
            rain.png      contribution of rain to the value of each cell, and the mean age of that rain
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
    """Draw the contribution of an amount in each period as bars, and of other amounts as lines."""
    others = [name for name in amounts if name != main]
    up = _TOP + _HEIGHT + _BOTTOM + (_LOWER + _GAP if others else 0.0)
    figure, unit = new_figure(_WIDTH, up, DPI), units.written(str(found["value"].attrs["units"]))
    first, word = _first_shown(amounts), main.replace("_", " ")
    axes = axes_at(figure, _LEFT, up - _TOP - _HEIGHT, _WIDTH - _LEFT - 0.3, _HEIGHT)
    bounds = found["time_bounds"].values[first:]
    width = (bounds[:, 1] - bounds[:, 0]) / _DAY
    axes.bar(bounds[:, 0], amounts[main][first:], width=0.9 * width, align="edge", color=LINES[1], zorder=3)
    _format(axes, bounds, f"{word} [{unit}]", labelled=not others)
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
    title = f"Contribution of {word} to {found.attrs['receptor_title']}"
    headline(figure, _LEFT, title, f"{value} {unit} at {_measured_at(found)}; largest contribution: {word} of {when}")
    _sign(figure, found, "first-order estimate: a reduction by 10 % changes the value by -1/10 of the contribution")
    return figure


def draw_cells(found: "xr.Dataset", main: str) -> Figure:
    """Draw maps of the contribution of an amount to the value of each cell, and of its mean age."""
    field, weight = found[f"contribution_{main}"].values, found["receptor_weight"].values
    packing = PackedGrid.of(found["lat"].values, found["lon"].values)
    cells = MapCells.around(packing.lon, packing.lat)
    sizes, none = np.abs(field), np.full(weight.shape, np.nan)
    own = np.divide(field.sum(axis=0, dtype=np.float64), weight, out=none.copy(), where=weight > 0.0)
    total = sizes.sum(axis=0, dtype=np.float64)
    age = np.divide(np.tensordot(_ages(found), sizes, axes=1), total, out=none.copy(), where=total > 0.0)

    unit, word = units.written(str(found["value"].attrs["units"])), main.replace("_", " ")
    panels = map_panels(2, shape_of(cells.area), highest=7.5)
    figure = panels.figure(DPI)
    shown = (
        (own, "standing_dry_matter", f"contribution [{unit}]"),
        (age, "soil_water_index", f"mean age of the {word} [days]"),
    )
    for axes, (values, colour, title) in zip(panels.axes(figure), shown, strict=True):
        scale = scale_of(values)
        if scale.low < 0.0:
            colour, scale = SIGNED, scale_around_zero(values)
        MapPanel(axes, cells, colour, scale).show(packing.spread(values))
        axes.set_title(title, loc="left", fontsize=SIZE["panel"], weight="bold", pad=4)
        left = axes.get_position().x0 * figure.get_size_inches()[0]
        colour_bar_at(figure, colour, scale, "", left, 0.5 * panels.width)
    headline(
        figure, panels.start, f"Contribution of {word} to {found.attrs['receptor_title']}",
        f"contribution to the value of each cell, and mean age of the {word} at the end; first-order estimate",
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
