"""Pictures of the study, without metadata that differ between runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

from airshed.core.arrays import Array
from airshed.verify.transport.sphere import BACKGROUND, TRACERS, correlated

HERE = Path(__file__).parent


def save(figure: mpl.figure.Figure, name: str, dpi: int = 90) -> None:
    """Write a picture."""
    figure.savefig(HERE / f"{name}.png", dpi=dpi, metadata={"Software": None})
    plt.close(figure)


def draw_sphere(name: str, area: Any, start: Array, middle: Array, end: Array) -> None:
    """Draw three tracers at the start, at half time and at the end."""
    (west, east), (south, north) = area
    shape = (8.0, 5.2) if (east - west) > 1.5 * (north - south) else (7.0, 6.0)
    figure, axes = plt.subplots(3, 3, figsize=shape, sharex=True, sharey=True, layout="constrained")
    for row, tracer in zip(axes, ("HILLS", "BELLS", "CYLINDERS"), strict=True):
        number = TRACERS.index(tracer)
        moments = {"start": start, "half time": middle, "end": end}
        for axis, (moment, field) in zip(row, moments.items(), strict=True):
            image = axis.imshow(
                field[number], origin="lower", extent=(west, east, south, north), aspect="auto", vmin=0.0, vmax=1.0
            )
            axis.set_title(f"{tracer.lower()}, {moment}", fontsize=8)
            axis.tick_params(labelsize=7)
        row[0].set_ylabel("degrees north", fontsize=7)
    for axis in axes[-1]:
        axis.set_xlabel("degrees east", fontsize=7)
    figure.colorbar(image, ax=axes, shrink=0.5, label="mixing ratio")
    save(figure, name)


def draw_mixing(pairs: Mapping[float, tuple[Array, Array]], runs: Sequence[Mapping[str, Any]]) -> None:
    """Draw the correlated pair at half time on its curve, and the remaining share of the filaments."""
    figure, axes = plt.subplots(1, len(pairs) + 1, figsize=(9.0, 3.0), layout="constrained")
    curve = np.linspace(BACKGROUND["BELLS"], 1.0, 100)
    ends = np.array([BACKGROUND["BELLS"], 1.0])
    for axis, (spacing, (bells, tied)) in zip(axes, pairs.items(), strict=False):
        axis.plot(bells.ravel(), tied.ravel(), ".", ms=1.0, color="tab:blue", rasterized=True)
        axis.plot(curve, correlated(curve), "k-", lw=0.8)
        axis.plot(ends, correlated(ends), "k--", lw=0.6)
        axis.set_title(f"{spacing:g} degrees, half time", fontsize=8)
        axis.set_xlabel("bells", fontsize=8)
    axes[0].set_ylabel("correlated", fontsize=8)
    for run in runs:
        left = {float(threshold): value for threshold, value in run["filaments"].items()}
        axes[-1].plot(list(left), list(left.values()), marker=".", label=f"{run['spacing']:g} degrees")
    axes[-1].axhline(100.0, color="k", lw=0.6)
    axes[-1].set_title("filaments: remaining area, %", fontsize=8)
    axes[-1].set_xlabel("bells at least", fontsize=8)
    axes[-1].legend(fontsize=7)
    for axis in axes:
        axis.tick_params(labelsize=7)
    save(figure, "mixing")


def draw_comparison(flows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Draw l1 of the shapes against the time for the whole flow, one line per scheme, one point per resolution."""
    figure, axes = plt.subplots(len(flows), 3, figsize=(9.0, 5.6), sharex=True, sharey="row", layout="constrained")
    for row, (flow, runs) in zip(axes, flows.items(), strict=True):
        for axis, shape in zip(row, ("cosine hump", "Gaussian", "slotted cylinder"), strict=True):
            for scheme in dict.fromkeys(run["scheme"] for run in runs):
                own = [run for run in runs if run["scheme"] == scheme]
                style = "k-o" if scheme.startswith("Airshed") else "-."
                axis.loglog(
                    [run["seconds"] for run in own], [run["errors"][shape]["l1"] for run in own], style, ms=4, lw=1.0,
                    marker="o" if scheme.startswith("Airshed") else "s", label=scheme,
                )  # fmt: skip
            axis.set_title(f"{flow}: {shape}", fontsize=8)
            axis.tick_params(labelsize=7)
        row[0].set_ylabel("relative l1 error", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("seconds for the whole flow, one tracer, one core", fontsize=7)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7)
    save(figure, "comparison")
