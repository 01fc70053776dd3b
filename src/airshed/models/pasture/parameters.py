"""The parameters of cells, made of the classes of soil, pasture and trees that they have.

    parameters = cell_parameters(Land([soil], [pasture]), soil_of_cell, pasture_of_cell)

Weights of runoff, with the depth z of the bottom of a layer, at most h, which is at most that of the profile:

    w_i = k(z_i) - k(z_i-1)        k(z) = (1 - exp(-4.16 z / h)) / (1 - exp(-4.16))

Factor of slope for the loss of soil, of the slope S and its length l [m]:

    LS = (l / 22.1)^(0.6 (1 - exp(-35.835 S))) (65.41 S^2 + 4.56 S + 0.065)

Source: Littleboy et al. (1989), PERFECT, for both; Freebairn's form of the universal soil loss equation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import pi
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.models.pasture.classes import Trees
from airshed.models.pasture.fields import LAYERS, PASTURE, SOIL, SOIL_LAYERS

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.integer[Any]]

_DECAY: Final = 4.16


@dataclass(frozen=True)
class Land:
    """The classes that cells have."""

    soils: Sequence[Any]
    pastures: Sequence[Any]
    trees: Sequence[Trees] = field(default_factory=lambda: (Trees(),))


def cell_parameters(
    land: Land, soil: npt.ArrayLike, pasture: npt.ArrayLike, trees: npt.ArrayLike = 0, *,
    tree_basal_area: npt.ArrayLike = 0.0, stocking: npt.ArrayLike = 0.0,
) -> dict[str, Array]:  # fmt: skip
    """Return the parameters of cells by the names of their fields.

    soil, pasture, trees  the class of each cell, counted from 0
    tree_basal_area       [m2 ha-1];  stocking  [ha-1]
    """
    soils = _Classes(land.soils, np.asarray(soil))
    pastures = _Classes(land.pastures, np.asarray(pasture))
    woods = _Classes(land.trees, np.asarray(trees))
    thickness = soils.layered("thickness")
    layered = {
        "thickness": thickness,
        **{name: soils.layered(name) * thickness for name in SOIL_LAYERS},
        "drainage_share": soils.layered("drainage_share"),
        "runoff_weight": runoff_weights(thickness, soils.number("runoff_depth")),
    }
    for name, plants in (("root", pastures), ("tree", woods)):
        rooted = _rooted(thickness, plants.number("root_depth"))
        limit = plants.layered("root_limit", np.nan)
        layered[f"{name}_limit"] = np.where(np.isnan(limit), soils.layered("lower_limit"), limit) * thickness
        layered[f"{name}_uptake"] = plants.layered("root_uptake") * rooted
        if plants is pastures:
            layered["root_angle"] = _angles(rooted)
    numbers = {
        "erosion_factor": _erosion_factor(soils),
        **{spec.name: soils.number(spec.name) for spec in SOIL},
        **{spec.name: pastures.number(spec.name) for spec in PASTURE},
        "tree_basal_area": np.asarray(tree_basal_area, np.float64),
        "stocking": np.asarray(stocking, np.float64),
    }
    return {f"{name}_{n}": layers[..., n - 1] for name, layers in layered.items() for n in LAYERS} | numbers


@dataclass(frozen=True)
class _Classes:
    """Classes, and which of them each cell has."""

    classes: Sequence[Any]
    of_cell: Index

    def number(self, name: str) -> Array:
        """A number of the class of each cell."""
        return np.array([getattr(each, name) for each in self.classes], np.float64)[self.of_cell]

    def layered(self, name: str, otherwise: float = 0.0) -> Array:
        """Numbers of the layers (..., layer), and a number for those of which the class says nothing."""
        table = np.full((len(self.classes), len(LAYERS)), otherwise)
        for row, each in zip(table, self.classes, strict=True):
            values = getattr(each, name) or ()
            row[: len(values)] = values
        return table[self.of_cell]


def runoff_weights(thickness: Array, depth: Array) -> Array:
    """Return the weights of layers (..., layer) [1] for the wetness that makes runoff; their sum is 1.

    thickness  of layers [mm];  depth  that counts [mm]
    """
    bottom = np.cumsum(thickness, axis=-1)
    most = np.minimum(depth[..., None], bottom[..., -1:])
    share = -np.expm1(-_DECAY * np.minimum(bottom / most, 1.0)) / -np.expm1(-_DECAY)
    return np.diff(share, axis=-1, prepend=0.0)


def _rooted(thickness: Array, depth: Array) -> Array:
    """The part of each layer that has roots down to a depth."""
    top = np.cumsum(thickness, axis=-1) - thickness
    held = np.clip(depth[..., None] - top, 0.0, thickness)
    return np.divide(held, thickness, out=np.zeros_like(held), where=thickness > 0.0)


def _angles(rooted: Array) -> Array:
    """pi / 2, and in the deepest layer with roots pi / 4."""
    below = np.concatenate([rooted[..., 1:], np.zeros_like(rooted[..., :1])], axis=-1)
    # A layer that is not there lies between none and none, or below the deepest one.
    deepest = (rooted > 0.0) & (np.cumsum(below[..., ::-1], axis=-1)[..., ::-1] == 0.0)
    return np.where(deepest, pi / 4.0, pi / 2.0)


def _erosion_factor(soils: _Classes) -> Array:
    """The factors of the soil's loss that stay: LS K P."""
    slope, length = soils.number("slope"), soils.number("slope_length")
    power = 0.6 * -np.expm1(-35.835 * slope)
    steepness = 65.41 * slope**2 + 4.56 * slope + 0.065
    return (length / 22.1) ** power * steepness * soils.number("erodibility") * soils.number("practice")
