"""A picture of which species' rates of change follow which species: the pattern of a mechanism's Jacobian."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from airshed.core.atomic import write_whole
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.structure import jacobian_pattern
from airshed.plot.page import footer, headline
from airshed.plot.style import DPI, GREY, INK, LINES, PALE, SIZE, axes_at, look, new_figure

_SIDE = 6.0
_LEFT, _RIGHT, _BELOW, _ABOVE = 1.0, 0.35, 0.85, 1.55
_MOST_NAMES = 80


def save_sparsity(network: ReactionNetwork, path: Path) -> Path:
    """Write the picture of the pattern as a PNG file, whole or not at all; raise OutputError."""
    with look():
        figure = draw_sparsity(network)
        with write_whole(path) as part:
            figure.savefig(part, format="png", dpi=figure.dpi, metadata={"Software": "Airshed"})
    return path


def draw_sparsity(network: ReactionNetwork) -> Figure:
    """Draw the entries of the Jacobian, a row for each species that changes, a column for each that it follows."""
    pattern = jacobian_pattern(network)
    size = max(len(pattern), 1)
    figure = new_figure(_LEFT + _SIDE + _RIGHT, _BELOW + _SIDE + _ABOVE, DPI)
    axes = axes_at(figure, _LEFT, _BELOW, _SIDE, _SIDE)
    rows, columns = np.nonzero(pattern)
    own = rows == columns
    points = (0.8 * _SIDE * 72.0 / size) ** 2
    for chosen, colour in ((~own, LINES[1]), (own, INK)):
        axes.scatter(columns[chosen], rows[chosen], s=points, marker="s", color=colour, linewidth=0)
    axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), aspect="equal")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_color(PALE)
    every = int(np.ceil(size / _MOST_NAMES))
    places = np.arange(0, len(pattern), every)
    names = [network.names[place] for place in places]
    points_of_type = min(SIZE["small"], 0.75 * _SIDE * 72.0 / max(len(places), 1))
    axes.set_xticks(places, names, rotation=90, fontsize=points_of_type, color=GREY)
    axes.set_yticks(places, names, fontsize=points_of_type, color=GREY)
    share = 100.0 * len(rows) / size**2
    subtitle = f"{len(pattern)} species, {len(network.reactions)} reactions, {len(rows)} entries ({share:.1f} %)"
    headline(figure, 0.3, f"Jacobian of {network.name}", subtitle)
    footer(figure, _LEFT + _SIDE, "row: the species that changes; column: the species that it follows")
    return figure
