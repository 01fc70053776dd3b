"""README.md and the picture of the study, from its figures."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import NullFormatter

from airshed.core.report import markdown_table

from .runs import SPECIES

HERE: Final = Path(__file__).parent
FIGURES: Final = HERE / "figures.json"
_COLOURS: Final = {"imex": "tab:blue", "ros3": "tab:orange", "rodas3": "tab:green"}
_COSTS: Final = (0.3, 1.0, 3.0)
_MARKS: Final = {1: "o", 2: "s", 4: "^", 1e-1: "o", 1e-2: "s", 1e-3: "^"}

Run = Mapping[str, Any]


def rounded(figures: Any) -> Any:
    """Return figures with four digits: more are not reproduced by another machine."""
    if isinstance(figures, dict):
        return {str(key): rounded(value) for key, value in figures.items()}
    if isinstance(figures, list):
        return [rounded(value) for value in figures]
    return float(f"{figures:.4g}") if isinstance(figures, float) else figures


def read() -> dict[str, Any]:
    """Return the figures of the last run."""
    figures: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return figures


def name_of(run: Run) -> str:
    """Return the settings of a run without its step."""
    if run["integrator"] == "imex":
        return f"imex, {run['sweeps']} sweep{'s' if run['sweeps'] > 1 else ''}"
    return f"strang, {run['solver']}, {run['relative_tolerance']:g}"


def table(runs: Sequence[Run], where: str) -> str:
    """Return costs and errors in percent as rows of Markdown."""
    rows = []
    for run in runs:
        errors = (f"{100.0 * run['errors'][name][where]:.2g} %" for name in SPECIES)
        rows.append((name_of(run), f"{run['step']:g} s", f"{run['cpu_seconds']:.2f} s", *errors))
    return markdown_table(("integrator", "step", "CPU", *SPECIES), rows)


def agreement(reference: Mapping[str, Any]) -> str:
    """Return the differences of the reference from other solutions with small steps, at the ground, as Markdown."""
    rows = [
        (name, *(f"{100.0 * errors[each]['ground']:.2g} %" for each in SPECIES)) for name, errors in reference.items()
    ]
    return markdown_table(("against the reference", *SPECIES), rows)


def draw(figures: Mapping[str, Any]) -> None:
    """Draw errors at the ground against costs, a row for each period and a column for each species."""
    figure, axes = plt.subplots(len(figures), len(SPECIES), figsize=(11.0, 5.6), sharex=True, layout="constrained")
    for row, (period, content) in zip(axes, figures.items(), strict=True):
        for axis, species in zip(row, SPECIES, strict=True):
            lines: dict[str, list[Run]] = {}
            for run in content["runs"]:
                lines.setdefault(name_of(run), []).append(run)
            for name, runs in lines.items():
                first = runs[0]
                mark = _MARKS[first.get("sweeps") or first["relative_tolerance"]]
                axis.loglog(
                    [run["cpu_seconds"] for run in runs], [run["errors"][species]["ground"] for run in runs],
                    marker=mark, ms=4, lw=0.9, label=name, color=_COLOURS[first.get("solver", "imex")],
                )  # fmt: skip
            axis.set_title(f"{species}, {period}", fontsize=9)
            axis.grid(visible=True, which="major", lw=0.3)
            axis.tick_params(labelsize=7)
            axis.set_xticks(_COSTS, [f"{cost:g}" for cost in _COSTS])
            axis.xaxis.set_minor_formatter(NullFormatter())
    for axis in axes[-1]:
        axis.set_xlabel("CPU time [s]", fontsize=8)
    for row in axes:
        row[0].set_ylabel("relative l1 at the ground", fontsize=8)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center", fontsize=7)
    figure.savefig(HERE / "work_precision.png", dpi=90, metadata={"Software": None})
    plt.close(figure)


def text() -> str:
    """Return README.md for the stored figures."""
    figures = read()
    parts = {}
    for period, content in figures.items():
        parts[f"{period}_ground"], parts[f"{period}_all"] = (
            table(content["runs"], where) for where in ("ground", "all")
        )
        parts[f"{period}_reference"] = agreement(content["reference"])
    return (HERE / "README.in.md").read_text(encoding="utf-8").format(**parts)


def write() -> None:
    """Write README.md and the picture."""
    draw(read())
    (HERE / "README.md").write_text(text(), encoding="utf-8")
