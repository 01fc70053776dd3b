"""Pictures of an assimilation: the cost by iteration, and controls before and after."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from airshed.core.arrays import Array
from airshed.core.atomic import write_whole
from airshed.io.netcdf import load_netcdf
from airshed.plot.page import footer, headline
from airshed.plot.style import DPI, GREY, INK, LINES, PALE, SIZE, axes_at, look, new_figure, plain_log_ticks

if TYPE_CHECKING:
    import xarray as xr


_LEFT, _WIDTH, _HEIGHT, _BELOW, _ABOVE, _RIGHT = 0.8, 6.0, 3.2, 0.95, 1.05, 0.35
_MOST_BARS: Final = 48


def plot_assimilation(path: Path) -> list[Path]:
    """Draw the analysis in a file into PNG files in its folder; raises OutputError, DataError."""
    analysis, folder = load_netcdf(path), path.parent
    pictures = {"cost": draw_cost(analysis)}
    names = [str(name).removesuffix("_posterior") for name in analysis.data_vars if str(name).endswith("_posterior")]
    pictures |= {f"control-{name}": draw_control(analysis, name) for name in names}
    found = []
    for name, figure in pictures.items():
        with look(), write_whole(folder / f"{name}.png") as part:
            figure.savefig(part, format="png", dpi=figure.dpi, metadata={"Software": "Airshed"})
        found.append(folder / f"{name}.png")
    return found


def draw_cost(analysis: "xr.Dataset") -> Figure:
    """Draw J by part, and the norm of its gradient, by iteration."""
    with look():
        figure, axes = _page("Cost by iteration", f"{analysis.attrs['title']}; ended by {analysis.attrs['stopped_by']}")
        iterations = np.arange(analysis.sizes["iteration"])
        parts = [str(name) for name in analysis.data_vars if str(name).startswith("cost_")]
        axes.plot(iterations, analysis["cost"], color=PALE, linewidth=4.0, label="J")
        for name, colour in zip(parts, LINES[1:], strict=False):
            values = analysis[name].to_numpy()
            axes.plot(iterations, np.where(values > 0.0, values, np.nan), color=colour, linewidth=1.6,
                      marker="o", markersize=2.5, label=str(analysis[name].attrs["long_name"]))  # fmt: skip
        axes.plot(iterations, analysis["gradient_norm"], color=GREY, linewidth=1.0, linestyle="--", label="|grad J|")
        axes.set(yscale="log", xlabel="iteration")
        plain_log_ticks(axes.yaxis)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(color=PALE, linewidth=0.5)
        _legend(axes)
    return figure


def draw_control(analysis: "xr.Dataset", name: str) -> Figure:
    """Draw the elements of a control with their deviations, or where they are many how they are distributed."""
    prior, posterior = (analysis[f"{name}_{when}"] for when in ("prior", "posterior"))
    with look():
        figure, axes = _page(f"Control {name}", str(posterior.attrs["long_name"]).removesuffix(", after"))
        if posterior.size <= _MOST_BARS:
            _elements(axes, analysis, name)
        else:
            axes.hist(posterior.to_numpy().ravel(), bins=40, color=LINES[1])
            axes.axvline(float(prior.mean()), color=GREY, linestyle="--")
            axes.set(xlabel=f"after [{posterior.attrs['units']}]; dashed: before", ylabel="elements")
    return figure


def _elements(axes: Axes, analysis: "xr.Dataset", name: str) -> None:
    prior, posterior = (analysis[f"{name}_{when}"].to_numpy().ravel() for when in ("prior", "posterior"))
    places, factors = np.arange(posterior.size), analysis[f"{name}_prior"].attrs["units"] == "1"
    spreads = [(prior, f"{name}_sigma", PALE, "before", -0.12)]
    spreads += [(posterior, f"{name}_spread", LINES[0], "after", 0.12)]
    for values, variable, colour, label, shift in spreads:
        sigma = analysis[variable].to_numpy().ravel() if variable in analysis else np.zeros(values.size)
        bars = _bars(values, sigma, factors=factors)
        axes.errorbar(
            places + shift, values, yerr=bars, fmt="o", color=colour, markersize=5, elinewidth=2.0, label=label
        )
    axes.axhline(1.0 if factors else 0.0, color=GREY, linewidth=0.6)
    region = analysis[f"{name}_region"].to_numpy().tolist() if f"{name}_region" in analysis else []
    labels = region * (posterior.size // len(region)) if region else [str(place) for place in places]
    axes.set_xticks(places, labels)
    axes.set_ylabel(f"{name} [{analysis[f'{name}_prior'].attrs['units']}]")
    if f"{name}_truth" in analysis:
        axes.plot(places, analysis[f"{name}_truth"].to_numpy().ravel(), "x", color=INK, markersize=7, label="truth")
    _legend(axes)


def _legend(axes: Axes) -> None:
    """Write the legend in a line above the axes, where it hides nothing."""
    axes.legend(
        fontsize=SIZE["small"], frameon=False, ncols=6, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2
    )


def _bars(values: Array, sigma: Array, *, factors: bool) -> Array:
    """Return one standard deviation down and up, (2, n); for a factor that of its logarithm."""
    if not factors:
        return np.stack([sigma, sigma])
    return np.stack([values * (1.0 - np.exp(-sigma)), values * (np.exp(sigma) - 1.0)])


def _page(title: str, subtitle: str) -> tuple[Figure, Axes]:
    figure = new_figure(_LEFT + _WIDTH + _RIGHT, _BELOW + _HEIGHT + _ABOVE, DPI)
    axes = axes_at(figure, _LEFT, _BELOW, _WIDTH, _HEIGHT)
    headline(figure, _LEFT, title, subtitle)
    footer(figure, _LEFT + _WIDTH, "")
    return figure, axes
