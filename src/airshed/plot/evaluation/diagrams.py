"""Scatter, Taylor and target diagrams."""

from itertools import cycle
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from airshed.evaluate.evaluation import Evaluation
from airshed.evaluate.score_table import Score
from airshed.plot.evaluation.frame import (
    COLOURS,
    MARKS,
    formula,
    legend_below,
    note,
    one_panel,
    run_handles,
    unit_of,
)
from airshed.plot.limits import axis_of, format_number
from airshed.plot.style import GREY, INK, NIGHT, PALE, SIZE, halo

_NAMED: Final = 8
_MANY: Final = 2000
_RAYS: Final = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99)
_WIDEST_RATIO: Final = 2.5


def draw_scatter(evaluation: Evaluation, species: str) -> Figure:
    """Draw modelled against observed values, with the lines of agreement and of a factor of two."""
    pairs = evaluation.matched
    mine = (pairs.observations.species == species) & ~np.isin(pairs.observations.station, list(evaluation.unscored))
    figure, axes = one_panel(
        f"{formula(species)}, modelled and observed", f"scored stations  [{unit_of(evaluation, species)}]", width=3.7
    )
    o = pairs.observations.value[mine]
    ticks = axis_of(np.concatenate([o, pairs.modelled[:, mine].ravel()]))
    limits = min(ticks[0], 0.0), ticks[-1]
    for factor, style in ((1.0, "-"), (2.0, "--"), (0.5, "--")):
        axes.plot([0.0, limits[1]], [0.0, factor * limits[1]], color=GREY, linewidth=0.8, linestyle=style, zorder=1)
    few = o.size <= _MANY
    for number, colour, mark in zip(range(len(pairs.runs)), cycle(COLOURS), cycle(MARKS), strict=False):
        axes.plot(
            o, pairs.modelled[number, mine], linestyle="", marker=mark if few else ".", color=colour,
            markersize=4.2 if few else 2.0, alpha=0.75 if few else 0.25, markeredgecolor="white" if few else "none",
            markeredgewidth=0.4, zorder=2, rasterized=not few,
        )  # fmt: skip
    axes.set(xlim=limits, ylim=limits, xlabel="observed", ylabel="modelled")
    axes.set_xticks(ticks, [format_number(tick) for tick in ticks])
    axes.set_yticks(ticks, [format_number(tick) for tick in ticks])
    note(axes, 0.99, 0.02, "solid: equal; dashed: factor of two", ha="right")
    legend_below(figure, 0.75, run_handles(evaluation, points=True)[: len(evaluation.runs)])
    return figure


def draw_taylor(evaluation: Evaluation, species: str) -> Figure | None:
    """Draw correlation and standard deviation of each station, relative to the observations; None without stations.

    The distance from the origin is STDP / STDO, and the cosine of the angle is R. The distance from the point
    "observed" is the centred error / STDO.
    Source: Taylor 2001, J. Geophys. Res. 106, 7183-7192, doi:10.1029/2000JD900719.
    """
    scores = [each for each in _stations(evaluation, species) if np.isfinite(each.values["R"])]
    if not scores:
        return None
    ratios = [each.values["STDP"] / each.values["STDO"] for each in scores]
    radius = float(np.clip(1.1 * max([*ratios, 1.35]), 1.5, _WIDEST_RATIO))
    half = min(each.values["R"] for each in scores) < 0.0
    figure, axes = one_panel(
        f"{formula(species)}, Taylor diagram", "correlation and variability by station",
        width=6.2 if half else 3.9, height=3.6,
    )  # fmt: skip
    _taylor_grid(axes, radius, half)
    for each, ratio in zip(scores, ratios, strict=True):
        r = min(ratio, radius)
        angle = np.arccos(each.values["R"])
        _point(axes, evaluation, each, r * np.cos(angle), r * np.sin(angle), named=len(scores) <= _NAMED)
    if max(ratios) > radius:
        note(axes, 0.0, -0.12, f"stations beyond {radius:g} lie on the rim")
    legend_below(figure, 0.75, run_handles(evaluation, points=True))
    return figure


def _taylor_grid(axes: Axes, radius: float, half: bool) -> None:
    angles = np.linspace(0.0, np.pi if half else 0.5 * np.pi, 181)
    for ratio in (*np.arange(0.5, radius, 0.5), radius):
        rim = ratio == radius
        style = {"color": GREY if rim or ratio == 1.0 else PALE, "linestyle": "--" if ratio == 1.0 else "-"}
        axes.plot(ratio * np.cos(angles), ratio * np.sin(angles), linewidth=0.8, zorder=1, **style)  # type: ignore[arg-type]
    for error in (0.5, 1.0, 1.5):
        around = np.linspace(0.0, np.pi, 181)
        x, y = 1.0 + error * np.cos(around), error * np.sin(around)
        inside = (np.hypot(x, y) <= radius) & (half | (x >= 0.0))
        axes.plot(np.where(inside, x, np.nan), y, color=PALE, linewidth=0.8, linestyle=":", zorder=1)
    for r in (*_RAYS, *((-each for each in _RAYS) if half else ())):
        x, y = r, np.sqrt(1.0 - r * r)
        axes.plot([0.0, radius * x], [0.0, radius * y], color=PALE, linewidth=0.5, zorder=0)
        axes.text(1.03 * radius * x, 1.03 * radius * y, f"{r:g}", fontsize=SIZE["tiny"], color=GREY,
                  ha="left" if x > 0 else "right", va="bottom" if y > 0.5 else "center")  # fmt: skip
    at = np.radians(45.0)
    axes.text(1.14 * radius * np.cos(at), 1.14 * radius * np.sin(at), "correlation R", rotation=-45.0,
              fontsize=SIZE["small"], color=GREY, ha="center", va="center")  # fmt: skip
    axes.plot(1.0, 0.0, marker="o", color=INK, markersize=6, clip_on=False, zorder=4)
    axes.annotate("observed", (1.0, 0.0), (0, 7), textcoords="offset points", fontsize=SIZE["small"], ha="center",
                  color=INK, path_effects=halo(), zorder=6)  # fmt: skip
    axes.set_aspect("equal")
    axes.set(xlim=(-radius if half else 0.0, 1.12 * radius), ylim=(0.0, 1.12 * radius))
    axes.spines["left"].set_visible(not half)
    axes.spines["left"].set_bounds(0.0, radius)
    axes.spines["bottom"].set_bounds(-radius if half else 0.0, radius)
    ticks = np.arange(0.0, radius + 1e-9, 0.5)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks([] if half else ticks, [] if half else [f"{tick:g}" for tick in ticks])
    axes.set_xlabel("standard deviation / observed")


def draw_target(evaluation: Evaluation, species: str) -> Figure | None:
    """Draw FAIRMODE's target diagram; None for a species without parameters of uncertainty."""
    scores = [each for each in _stations(evaluation, species) if each.target is not None]
    if not scores:
        return None
    indicators = {
        each.run: each.values["MQI"]
        for each in evaluation.scores
        if each.group == "pooled" and each.species == species and np.isfinite(each.values["MQI"])
    }
    indicator_text = (
        f"; MQI {next(iter(indicators.values())):.2f}" if len(evaluation.runs) == len(indicators) == 1 else ""
    )
    figure, axes = one_panel(
        f"{formula(species)}, target diagram", f"error over measurement uncertainty{indicator_text}", width=3.7
    )
    most = max(1.4, *(1.1 * each.target.mqi for each in scores if each.target))
    limit = min(most, 4.0)
    axes.add_patch(Circle((0.0, 0.0), 1.0, facecolor=NIGHT, edgecolor=GREY, linewidth=1.0, zorder=0))
    axes.add_patch(Circle((0.0, 0.0), 0.5, fill=False, edgecolor=GREY, linewidth=0.7, linestyle="--", zorder=1))
    axes.axhline(0.0, color=GREY, linewidth=0.6, zorder=1)
    axes.axvline(0.0, color=GREY, linewidth=0.6, zorder=1)
    for each in scores:
        if each.target:
            x, y = (float(np.clip(value, -limit, limit)) for value in (each.target.x, each.target.y))
            _point(axes, evaluation, each, x, y, named=len(scores) <= _NAMED)
    axes.set_aspect("equal")
    axes.set(xlim=(-limit, limit), ylim=(-limit, limit), ylabel="bias / (2 RMSU)", xlabel="centred error / (2 RMSU)")
    note(axes, 0.01, 0.985, "left: timing dominates", va="top")
    note(axes, 0.99, 0.985, "right: amplitude dominates", va="top", ha="right")
    note(axes, 0.01, 0.015, "grey disc: objective met", path_effects=halo(2.5))
    handles = run_handles(evaluation, points=True)
    if len(evaluation.runs) > 1:
        handles = [
            (f"{name}, MQI {indicators[name]:.2f}" if name in indicators else name, handle) for name, handle in handles
        ]
    legend_below(figure, 0.75, handles)
    return figure


def _stations(evaluation: Evaluation, species: str) -> list[Score]:
    return [each for each in evaluation.scores if each.group == "station" and each.species == species]


def _point(axes: Axes, evaluation: Evaluation, each: Score, x: float, y: float, *, named: bool) -> None:
    """Draw a station in the colour and with the mark of its run, hollow where it is not scored."""
    number = [run.label for run in evaluation.runs].index(each.run)
    colour = COLOURS[number % len(COLOURS)]
    axes.plot(
        x, y, marker=MARKS[number % len(MARKS)], markersize=6.5, color=colour if each.scored else "white",
        markeredgecolor="white" if each.scored else colour, markeredgewidth=0.6 if each.scored else 1.2,
        zorder=5, clip_on=False,
    )  # fmt: skip
    if named and number == 0:
        axes.annotate(each.name, (x, y), (6, 3), textcoords="offset points", fontsize=SIZE["small"] - 1.0, color=INK,
                      path_effects=halo(), zorder=6)  # fmt: skip
