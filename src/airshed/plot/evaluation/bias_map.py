"""Map of the bias: stations as dots over the mean field of each run."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from airshed.evaluate.evaluation import Evaluation
from airshed.evaluate.score_table import Score
from airshed.grid import Grid
from airshed.plot.cells import MapCells
from airshed.plot.evaluation.frame import formula, period_of, unit_of
from airshed.plot.labels import Box, place_labels
from airshed.plot.limits import Scale, format_number, round_step, scale_of
from airshed.plot.page import BOTTOM, TOP, Panels, footer, headline, norm_of
from airshed.plot.panel import MapPanel, shape_of
from airshed.plot.style import DPI, GREY, INK, SIGNED, SIZE, axes_at, colours, halo, new_figure, text_at, text_size

_NAMED: Final = 12
_WIDEST, _HIGHEST, _NARROWEST, _BAR = 8.4, 4.8, 6.4, 1.15


def _cells(grid: Grid) -> MapCells:
    return MapCells(grid.x_faces, grid.y_faces, grid.mapping)


def draw_bias(evaluation: Evaluation, species: str) -> Figure | None:
    """Draw the bias of each station over the mean field of each run; None where these are missing."""
    maps = evaluation.maps
    if not maps or any(species not in each.fields for each in maps):
        return None
    shape = shape_of(_cells(maps[0].grid).area)
    width = min((_WIDEST - 0.25 * (len(evaluation.runs) - 1)) / len(evaluation.runs), _HIGHEST / shape)
    panels = Panels(len(evaluation.runs), len(evaluation.runs), width, width * shape, left=0.65, gap_across=0.25)
    across = max(panels.left + panels.across + _BAR, _NARROWEST)
    figure = new_figure(across, TOP + panels.height + BOTTOM, DPI)
    scale = scale_of(np.concatenate([each.fields[species].ravel() for each in maps]))
    norm, step = _bias_scale(evaluation, species)
    for number, (run, of) in enumerate(zip(evaluation.runs, maps, strict=True)):
        axes = axes_at(figure, panels.left + number * (width + 0.25), BOTTOM, width, panels.height)
        axes.yaxis.set_visible(number == 0)
        panel = MapPanel(axes, _cells(of.grid), species, scale, names=False)
        panel.show(of.fields[species])
        panel.mesh.set_alpha(0.55)
        mine = [each for each in _biases(evaluation, species) if each.run == run.label]
        _dots(axes, _places(evaluation, of.grid), mine, norm)
        if len(evaluation.runs) > 1:
            axes.set_title(run.label, loc="left", fontsize=SIZE["panel"], weight="bold", pad=4)
    squares = "; squares: not scored" if any(not each.scored for each in _biases(evaluation, species)) else ""
    subtitle = f"map: mean of the run, {period_of(evaluation)}{squares}"
    headline(figure, panels.left, f"Bias of {formula(species)} at stations", subtitle)
    bar = Panels(1, 1, min(0.9 * panels.across, 4.0), 0.0, left=panels.left)
    _field_bar(figure, species, scale, unit_of(evaluation, species), bar)
    _bias_bar(figure, panels, norm, step, unit_of(evaluation, species))
    footer(figure, across - 0.15, "coasts: Natural Earth")
    return figure


def _biases(evaluation: Evaluation, species: str) -> list[Score]:
    return [
        each for each in evaluation.scores
        if each.group == "station" and each.species == species and np.isfinite(each.values["MB"])
    ]  # fmt: skip


def _bias_scale(evaluation: Evaluation, species: str) -> tuple[Normalize, float]:
    """Return a scale that is alike on both sides of zero, and the distance of its ticks."""
    most = max((abs(each.values["MB"]) for each in _biases(evaluation, species)), default=1.0)
    step = round_step(most if most > 0.0 else 1.0, 2)
    return Normalize(-2.0 * step, 2.0 * step), step


def _dots(axes: Axes, places: dict[str, tuple[float, float]], scores: Sequence[Score], norm: Normalize) -> None:
    """Draw the stations, square where they are not scored, with names and values of the largest biases."""
    scores = sorted(scores, key=lambda each: (not each.scored, -abs(each.values["MB"])))
    for each in reversed(scores):
        axes.plot(*places[each.name], marker="o" if each.scored else "s", markersize=7,
                  color=colours(SIGNED)(norm(each.values["MB"])), markeredgecolor=INK, markeredgewidth=0.9,
                  zorder=6)  # fmt: skip
    box = axes.get_window_extent()
    dpi = axes.figure.dpi
    texts = [f"{each.name} {each.values['MB']:+.2g}".replace("-", "−") for each in scores]
    ends = np.array([axes.get_xlim(), axes.get_ylim()])
    points = [
        tuple((np.array(places[each.name]) - ends[:, 0]) / np.diff(ends)[:, 0] * (box.width, box.height))
        for each in scores
    ]
    sizes = [text_size(text, SIZE["small"] - 0.5, dpi) for text in texts]
    frame = Box(0.0, 0.0, box.width, box.height)
    dot = 0.06 * dpi
    dots = [Box(x - dot, y - dot, x + dot, y + dot) for x, y in points]
    for label in place_labels(points, sizes, frame, most=_NAMED, dot=dot):
        if any(label.box.meets(other) for number, other in enumerate(dots) if number != label.index):
            continue
        axes.text(label.box.left / box.width, (label.box.bottom + label.box.top) / 2 / box.height, texts[label.index],
                  transform=axes.transAxes, fontsize=SIZE["small"] - 0.5, va="center_baseline", color=INK,
                  path_effects=halo(2.2), zorder=7)  # fmt: skip


def _places(evaluation: Evaluation, grid: Grid) -> dict[str, tuple[float, float]]:
    """Return x and y of each station on the map of a grid."""
    of = evaluation.matched.observations
    return {
        str(name): (float(x), float(y)) for name, x, y in zip(of.station, *grid.locate(of.lon, of.lat), strict=True)
    }


def _field_bar(figure: Figure, species: str, scale: Scale, unit: str, panels: Panels) -> None:
    """Add the colour bar of the mean field below the maps, as light as these are."""
    axes = axes_at(figure, panels.left, 0.42, panels.width, 0.13)
    mappable = ScalarMappable(norm_of(scale), colours(species))
    figure.colorbar(mappable, cax=axes, orientation="horizontal", alpha=0.55)
    axes.set_xticks(scale.ticks, [format_number(tick) for tick in scale.ticks])
    axes.minorticks_off()
    text_at(figure, panels.left + panels.width + 0.1, 0.485, unit, "small", va="center", color=GREY)


def _bias_bar(figure: Figure, panels: Panels, norm: Normalize, step: float, unit: str) -> None:
    """Add the scale of the dots to the right of the maps."""
    left, height = panels.left + panels.across + 0.2, min(2.2, panels.height - 0.5)
    axes = axes_at(figure, left, BOTTOM, 0.13, height)
    bar = figure.colorbar(ScalarMappable(norm, colours(SIGNED)), cax=axes)
    ticks = [-2.0 * step, -step, 0.0, step, 2.0 * step]
    bar.set_ticks(ticks, labels=[format_number(tick) for tick in ticks])
    text_at(figure, left, BOTTOM + height + 0.1, f"bias of dots\n[{unit}]", "small", color=GREY, va="bottom")
