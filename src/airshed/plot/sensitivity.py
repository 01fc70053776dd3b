"""`airshed adjoint`: maps of what emission is worth to a receptor, and the ranking of sources."""

from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from airshed.core.atomic import guarded, write_whole
from airshed.inverse.receptors.results import FILE, rows_of, time_in_words, unit_of
from airshed.io.folder import PICTURES, SOFTWARE
from airshed.io.netcdf import load_netcdf
from airshed.plot import wording
from airshed.plot.geography import MAP_CREDIT, Area
from airshed.plot.limits import Scale, format_number, scale_around_zero
from airshed.plot.maps import map_panels
from airshed.plot.page import Panels, colour_bar, footer, headline
from airshed.plot.panel import MapPanel, shape_of
from airshed.plot.ranking import RANKING_WIDTH, draw_ranking
from airshed.plot.results import edges
from airshed.plot.style import DPI, GREY, INK, SIGNED, SIZE, look, new_figure, text_at

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

NOX: Final = ("NO", "NO2", "HONO")
_PPT: Final = 1e12
_MAPPED: Final = 3
_MARGIN: Final = 0.4


@dataclass(frozen=True)
class Columns:
    """The cells of a Dataset on lat and lon, as a map shows them."""

    found: "xr.Dataset"

    @cached_property
    def longitude(self) -> Array:
        """Longitudes of the centres [degrees]."""
        return np.asarray(self.found["lon"].values, dtype=np.float64)

    @cached_property
    def latitude(self) -> Array:
        """Latitudes of the centres [degrees]."""
        return np.asarray(self.found["lat"].values, dtype=np.float64)

    @cached_property
    def longitude_edges(self) -> Array:
        """Western and eastern edges [degrees]."""
        return edges(self.longitude)

    @cached_property
    def latitude_edges(self) -> Array:
        """Southern and northern edges [degrees]."""
        return np.clip(edges(self.latitude), -90.0, 90.0)

    @property
    def area(self) -> Area:
        """The box that the cells cover."""
        x, y = self.longitude_edges, self.latitude_edges
        return Area(float(x[0]), float(x[-1]), float(y[0]), float(y[-1]))


def plot_sensitivity(folder: Path) -> list[Path]:
    """Draw what `airshed adjoint` wrote into a folder; return the files, PNG in its subfolder of pictures.

    writes  overview.png  what the case's emission contributes, and the ranking by country and sector
            X.png         what a tonne of X released anywhere is worth, for NO, NO2 and the strongest other species
            adjoint_X.png what X in a layer is worth at up to four times, where its fields were asked for
    Raises DataError for a file that is not there, OutputError for what cannot be written.
    """
    found, written = load_netcdf(folder / FILE), list[Path]()
    with look(), guarded(folder / PICTURES):
        (folder / PICTURES).mkdir(exist_ok=True)
        if found.attrs.get("receptor_kind") == "points":
            from airshed.plot.point_sensitivity import plot_point_sensitivity

            return plot_point_sensitivity(found, folder / PICTURES)
        if np.any(found["emitted"].values):
            written.append(save_figure(folder / PICTURES / "overview.png", draw_overview(found)))
        for name in _mapped(found):
            written.append(save_figure(folder / PICTURES / f"{name}.png", draw_per_tonne(found, name)))
        for name in _in_time(found):
            written.append(save_figure(folder / PICTURES / f"{name}.png", draw_in_time(found, name)))
    return written


def draw_overview(found: "xr.Dataset") -> Figure:
    """Draw what the emission of each cell contributes, of nitrogen oxides and of all else, and the ranking."""
    columns, names = Columns(found), [str(name) for name in found["species"].values]
    is_nox = np.isin(names, NOX)
    emitted = _PPT * found["emitted"].values
    groups = {"Emitted NOx": emitted[is_nox].sum(axis=0), "VOC, CO and others": emitted[~is_nox].sum(axis=0)}
    shown = {title: values for title, values in groups.items() if values.any()}
    panels = map_panels(len(shown), shape_of(columns.area), highest=6.0, widest=8.4)
    ranked = [row for row in rows_of(found) if not str(row["source"]).startswith("air ")]
    figure = _wider(panels, RANKING_WIDTH if ranked else 0.0)
    scale, unit = scale_around_zero(np.stack(list(shown.values()))), unit_of(found).replace("ppb", "ppt")
    for (title, values), axes in zip(shown.items(), panels.axes(figure), strict=True):
        _draw(axes, columns, values, scale, title, unit)
    if ranked:
        draw_ranking(figure, panels, ranked, unit_of(found))
    value = f"{1e9 * float(found['value']):.3g} {unit_of(found)} at {time_in_words(found)}"
    what = "what the emission of each cell adds (red) or takes away (blue)"
    headline(figure, panels.start, f"Where {_of(found)} comes from", f"{value}; {what}")
    _finish(figure, panels, scale, unit, found)
    return figure


def draw_per_tonne(found: "xr.Dataset", name: str) -> Figure:
    """Draw what a tonne of a species released at the ground is worth, wherever it is released."""
    columns = Columns(found)
    values = 1e3 * found["per_tonne"].sel(species=name).values
    panels = map_panels(1, shape_of(columns.area), highest=7.0)
    figure, scale = panels.figure(DPI), scale_around_zero(values)
    _draw(next(panels.axes(figure)), columns, values, scale, "", "")
    unit = str(found["per_tonne"].attrs["units"]).replace("ppb", "ppt").replace(" t-1", " per tonne")
    headline(
        figure, _MARGIN, f"What a tonne of {name} does to {_of(found)}",
        f"released at the ground of a cell, evenly until then; {time_in_words(found)}",
    )  # fmt: skip
    _finish(figure, panels, scale, unit, found)
    return figure


def draw_in_time(found: "xr.Dataset", name: str) -> Figure:
    """Draw what a jump of a species in one layer is worth to the receptor later, at up to four times."""
    columns, level = Columns(found), int(found.attrs["drawn_level"])
    fields, times = found[name].isel(level=level), found["time"].values
    before = max(len(times) - 1, 1)  # the last one is a step before the receptor
    chosen = sorted(set(np.linspace(0, before - 1, min(4, before)).round().astype(int).tolist()))
    scale = scale_around_zero(fields.values[chosen])
    panels = map_panels(len(chosen), shape_of(columns.area))
    figure = panels.figure(DPI)
    for time, axes in zip(chosen, panels.axes(figure), strict=True):
        moment = str(times[time].astype("datetime64[m]")).replace("T", " ")
        _draw(axes, columns, fields.values[time], scale, f"{moment} UTC", "")
    species, height = name.partition("_")[2], wording.height(float(found["level"].values[level]))
    headline(
        figure, panels.start, f"What {species} at {height} is worth to {_of(found)}",
        f"change at {time_in_words(found)} for each unit by which {species} in a cell of layer {level + 1} jumps",
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
    """The species to map: NO and NO2, and of those that are emitted the strongest others."""
    names = [str(name) for name in found["species"].values]
    strength = np.abs(found["emitted"].values).sum(axis=(1, 2))
    ranked = [names[row] for row in np.argsort(-strength) if strength[row] > 0.0]
    usual = [name for name in ("NO", "NO2") if name in names] or names[:1]
    chosen = list(dict.fromkeys([*usual, *ranked]))[:_MAPPED]
    worth = np.abs(found["per_tonne"].values)
    return [name for name in chosen if np.nansum(worth[names.index(name)]) > 0.0]


def _of(found: "xr.Dataset") -> str:
    species, _, place = str(found.attrs["receptor_title"]).partition(" in ")
    return f"{species} in {place}"


def _draw(axes: Axes, columns: Columns, values: Array, scale: Scale, title: str, unit: str) -> None:
    panel = MapPanel(axes, columns, SIGNED, scale)
    panel.show(values)
    _mark(axes, columns.found)
    if title:
        axes.set_title(title, loc="left", fontsize=SIZE["panel"], weight="bold", pad=4)
    if unit:
        axes.set_title(
            f"sum {format_number(float(values.sum()), 2)} {unit}", loc="right", fontsize=SIZE["small"], color=GREY
        )


def _mark(axes: Axes, found: "xr.Dataset") -> None:
    """Mark the receptor: a ring, or the box of an area."""
    (west, east), (south, north) = (np.broadcast_to(found.attrs[f"receptor_{axis}"], 2) for axis in ("lon", "lat"))
    if west == east and south == north:
        axes.plot([west], [south], "o", markersize=9, mfc="none", mec=INK, mew=1.6, zorder=6)
    else:
        ring = [(west, south), (east, south), (east, north), (west, north), (west, south)]
        axes.plot(*zip(*ring, strict=True), color=INK, linewidth=1.3, zorder=6)


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
