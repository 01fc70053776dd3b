"""Synthetic maps of an area: classes of soil and pasture, trees, and the state at the start; seeded, and said to be so.

The real maps of Queensland (787 soils, 225 land types) are not public where the equations are. A map here is a smooth
field of random numbers, about 100 km from hill to hill, cut at its quantiles, so that all classes cover equal areas.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.grid.land import LandGrid
from airshed.models.pasture.classes import published, read_class
from airshed.models.pasture.inputs.gradients import GRADIENTS
from airshed.models.pasture.parameters import Land, cell_parameters

Array = npt.NDArray[np.float64]

SOILS: Final = ("site67", "roselea", "capella")
PASTURES: Final = ("site67", "dalby", "capella")
"""The published classes of places; "regression" is one of trial runs."""

TEXT: Final = "Maps of soil, pasture and trees, and the state at the start, are synthetic (seed {seed})."

_HILLS: Final = 0.45  # [degrees], standard deviation of the filter
_MOST_TREES: Final = 12.0  # [m2 ha-1] where there is as much rain as at the coast
_WET_LIMIT: Final = 1350.0  # [mm a year], rain at the coast
_WATER: Final = 0.5
"""Share of the water between the lower and the drained upper limit."""

_POOLS: Final = {"green_leaf": 300.0, "green_stem": 300.0, "dead_leaf": 400.0, "dead_stem": 400.0, "litter": 500.0}
"""Dry matter at the start [kg ha-1], in the middle of what published runs start with."""


def classes(kind: str, names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return published classes, "soil" or "pasture", as plain values by their names."""
    return {name: published(kind)[name] for name in names}


def synthetic_maps(grid: LandGrid, distance: Array, seed: int) -> dict[str, npt.NDArray[Any]]:
    """Return soil_class, pasture_class, and tree_basal_area [m2 ha-1] of packed cells.

    distance  from the coast [km] (cells,): trees grow where there is rain
    """
    soil, pasture, trees = (_ranks(grid, seed, number) for number in range(3))
    rain = GRADIENTS["rain"].reference(grid.cell_lat, distance)
    return {
        "soil_class": (soil * len(SOILS)).astype(np.uint16),
        "pasture_class": (pasture * len(PASTURES)).astype(np.uint16),
        "tree_basal_area": np.round(_MOST_TREES * trees * np.minimum(rain / _WET_LIMIT, 1.0), 1),
    }


def initial_state(maps: Mapping[str, npt.NDArray[Any]]) -> dict[str, Array]:
    """Return the twelve fields that a run starts from: water by soil, basal area by pasture, dry matter."""
    land = Land(
        [read_class("soil", each) for each in classes("soil", SOILS).values()],
        [read_class("pasture", each) for each in classes("pasture", PASTURES).values()],
    )
    given = cell_parameters(land, maps["soil_class"], maps["pasture_class"], np.zeros_like(maps["soil_class"]))
    lower, upper = ([given[f"{name}_{n}"] for n in range(1, 5)] for name in ("lower_limit", "drained_upper_limit"))
    water = {f"water_{n}": low + _WATER * (high - low) for n, low, high in zip(range(1, 5), lower, upper, strict=True)}
    cells = len(maps["soil_class"])
    basal = np.array([each.basal_area for each in land.pastures])[maps["pasture_class"]]
    none = {name: np.zeros(cells) for name in ("nitrogen_transpiration", "nitrogen_growth")}
    return {**water, **{name: np.full(cells, each) for name, each in _POOLS.items()}, "basal_area": basal, **none}


def _ranks(grid: LandGrid, seed: int, number: int) -> Array:
    """A smooth random field of packed cells, as the share of cells that are below each: 0 <= r < 1."""
    from scipy.ndimage import gaussian_filter

    noise = np.random.default_rng([seed, number]).standard_normal(grid.mask.shape)
    smooth = gaussian_filter(noise, _HILLS / float(np.diff(grid.lat[:2])[0])).ravel()[grid.index]
    ranks = np.empty(grid.cells)
    ranks[np.argsort(smooth, kind="stable")] = np.arange(grid.cells) / grid.cells
    return ranks
