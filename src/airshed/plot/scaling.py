"""A picture of how the model scales: where the measured time went, and what is predicted for more ranks."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.scaling import Prediction, Scaling
from benchmarks.scaling.measure import SHARES, Run, Setup, median
from benchmarks.scaling.setups import LARGE, SMALL, by_messages
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airshed.core.atomic import write_whole
from airshed.plot.page import footer, headline
from airshed.plot.style import DPI, GREY, INK, LINES, PALE, SIZE, axes_at, look, new_figure, plain_log_ticks, text_at

_WIDTH, _HEIGHT = 4.6, 3.7
_LEFT, _GAP, _BELOW, _ABOVE, _RIGHT = 0.75, 1.0, 1.0, 1.15, 0.35
_COLOURS = (*LINES, PALE)


def save_scaling(scaling: Scaling, path: Path) -> Path:
    """Write the picture as a PNG file, whole or not at all; raise OutputError."""
    with look():
        figure = draw_scaling(scaling)
        with write_whole(path) as part:
            figure.savefig(part, format="png", dpi=figure.dpi, metadata={"Software": "Airshed"})
    return path


def draw_scaling(scaling: Scaling) -> Figure:
    """Draw the parts of a step on each number of ranks, and beside them predicted times of a step up to 10,000."""
    width = _LEFT + 2 * _WIDTH + _GAP + _RIGHT
    figure = new_figure(width, _BELOW + _HEIGHT + _ABOVE, DPI)
    setups = [setup for size in (SMALL, LARGE) for setup in scaling.sizes[size]]
    _measured(axes_at(figure, _LEFT, _BELOW, _WIDTH, _HEIGHT), setups, scaling)
    _predicted(axes_at(figure, _LEFT + _WIDTH + _GAP, _BELOW, _WIDTH, _HEIGHT), scaling)
    text_at(figure, _LEFT, _BELOW + _HEIGHT + 0.1, "measured on this machine", "panel", weight="bold", color=INK)
    beside = _LEFT + _WIDTH + _GAP
    text_at(figure, beside, _BELOW + _HEIGHT + 0.1, "predicted for a cluster", "panel", weight="bold", color=INK)
    headline(figure, _LEFT, f"Scaling of {scaling.case}", "time of a step on cores that nobody else uses")
    footer(
        figure,
        width - _RIGHT,
        "lines: with the fitted costs; dashed: perfect; dotted: with a gathered record each hour",
    )
    return figure


def _measured(axes: Axes, setups: Sequence[Setup], scaling: Scaling) -> None:
    """Bars of the time of a step, of one rank's columns: those of perfect scaling are equally high."""
    for place, setup in enumerate(setups):
        runs = sorted(scaling.runs[setup], key=lambda run: run.cost)
        _bar(axes, place, runs[len(runs) // 2])
    labels = [f"{setup.size.rpartition(' x ')[0]}\non {setup.ranks}" for setup in setups]
    axes.set_xticks(range(len(setups)), labels)
    axes.set_ylabel("ranks x time of a step / cells [us]")
    handles, names = axes.get_legend_handles_labels()
    axes.legend(handles[: len(SHARES)], names[: len(SHARES)], fontsize=SIZE["tiny"], frameon=False, loc="upper left")
    axes.set_ylim(top=1.45 * axes.get_ylim()[1])


def _bar(axes: Axes, place: int, run: Run) -> None:
    cells = sum(rank.columns * rank.levels for rank in run.ranks)
    bottom = 0.0
    for name, colour in zip(SHARES, _COLOURS, strict=True):
        height = 1e6 * run.shares[name] * run.cost * len(run.ranks) / cells
        axes.bar(place, height, 0.65, bottom=bottom, color=colour, label=name)
        bottom += height


def _predicted(axes: Axes, scaling: Scaling) -> None:
    grids = list(dict.fromkeys(each.grid for each in scaling.predictions))
    for grid, colour in zip(grids, LINES, strict=False):
        _curve(axes, [each for each in scaling.predictions if each.grid == grid], colour)
    for size, colour in ((LARGE, LINES[0]), (SMALL, GREY)):
        setups = [by_messages(setup) for setup in scaling.sizes[size]]
        steps = [median(scaling.runs[setup], "cost") for setup in setups]
        axes.plot(
            [setup.ranks for setup in setups],
            steps,
            "o",
            color=colour,
            markersize=4,
            label=f"measured by messages, {setups[0].size}",
        )
    axes.set(xscale="log", yscale="log", xlabel="ranks, one on each core", ylabel="step [s]")
    plain_log_ticks(axes.xaxis)
    plain_log_ticks(axes.yaxis)
    axes.legend(fontsize=SIZE["tiny"], frameon=False, loc="upper right")


def _curve(axes: Axes, points: Sequence[Prediction], colour: str) -> None:
    ranks, steps = [each.ranks for each in points], [each.step for each in points]
    axes.plot(ranks, steps, color=colour, label=points[0].grid)
    axes.plot(ranks, [steps[0] / each for each in ranks], "--", color=colour, linewidth=0.6)
    gathered = [each.step * each.gathered / each.hour for each in points]
    axes.plot(ranks, gathered, ":", color=colour, linewidth=1.0)
