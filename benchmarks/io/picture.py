"""Picture of the output strategies: their additions to the time of computation."""

from pathlib import Path
from statistics import mean

from airshed.core.atomic import write_whole
from airshed.core.text import counted
from airshed.plot.page import footer, headline
from airshed.plot.style import DPI, LINES, PALE, SIZE, axes_at, look, new_figure
from benchmarks.io.experiment import COMPUTE, MODES, OutputMeasurements
from benchmarks.io.overlap import overlap

_WIDTH, _HEIGHT = 6.4, 3.6
_LEFT, _BELOW, _ABOVE, _RIGHT = 0.8, 0.9, 1.15, 0.35


def save_strategies(measured: OutputMeasurements, path: Path) -> Path:
    """Write the picture as a PNG file, completely or not at all; raises OutputError."""
    with look():
        figure = new_figure(_LEFT + _WIDTH + _RIGHT, _BELOW + _HEIGHT + _ABOVE, DPI)
        axes = axes_at(figure, _LEFT, _BELOW, _WIDTH, _HEIGHT)
        names = measured.strategies
        base = mean(each.steps for each in measured.runs[COMPUTE])
        for offset, mode in enumerate(MODES):
            runs = [measured.runs[f"{name}:{mode}"] for name in names]
            places = [place + 0.4 * (offset - 0.5) for place in range(len(names))]
            steps, final = ([mean(getattr(each, part) for each in run) for run in runs] for part in ("steps", "final"))
            axes.bar(places, steps, 0.36, color=LINES[offset], label=mode)
            label = "final file" if not offset else None
            axes.bar(places, final, 0.36, bottom=steps, color=PALE, label=label)
            for place, run in zip(places, runs, strict=True):
                walls = [each.total for each in run]
                axes.plot([place, place], [min(walls), max(walls)], color="black", linewidth=0.8)
        axes.axhline(base, linestyle="--", linewidth=0.8, color="black", label=COMPUTE)
        axes.set_xticks(range(len(names)), [_label(measured, name) for name in names])
        axes.set_ylabel("wall time of a run [s]")
        axes.set_ylim(top=1.3 * axes.get_ylim()[1])
        axes.legend(fontsize=SIZE["tiny"], frameon=False, loc="upper right", ncols=4)
        size = " x ".join(map(str, measured.experiment.grid))
        ranks = counted(measured.ranks, "rank")
        headline(figure, _LEFT, "Strategies of output", f"{size} cells, 66 fields each step, {ranks}")
        footer(
            figure,
            _LEFT + _WIDTH + _RIGHT - _RIGHT,
            "lines: fastest and slowest run; hidden: share of the writing that could be hidden",
        )
        with write_whole(path) as part:
            figure.savefig(part, format="png", dpi=figure.dpi, metadata={"Software": "Airshed"})
    return path


def _label(measured: OutputMeasurements, name: str) -> str:
    found = overlap(measured, name)
    return name if found is None or not found.has_interval else f"{name}\n{100.0 * found.hidden.median:.0f} % hidden"
