"""Grids as the Basic Model Interface tells them, from the axes of a model's domain.

Nodes are the centres of cells, and directions come in the order of a field's dimensions: z, y, x.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.grid.axes import Axes, Coordinate

Array = npt.NDArray[np.float64]

_DIRECTIONS = "zyx"
_HORIZONTAL = ("degrees_north", "degrees_east")  # by CF's units, in the order of y and x
_ROUND_OFF = 1e-9


@dataclass(frozen=True)
class ModelGrid:
    """A grid.

    type     "scalar", "points" (cells without neighbours, each with its place), "uniform_rectilinear" or "rectilinear"
    shape    of a field on it
    nodes    coordinates by direction: of points those of each node, of others those of each row, column or layer
    spacing  by direction, of a uniform grid
    """

    type: str
    shape: tuple[int, ...]
    nodes: Mapping[str, Array]
    spacing: tuple[float, ...] = ()

    @property
    def rank(self) -> int:
        """The number of directions."""
        return len(self.nodes)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return prod(self.shape)

    @property
    def unstructured(self) -> bool:
        """Whether it is one of the special cases of unstructured grids, here without edges and faces."""
        return self.type in ("scalar", "points")


def grid_of(axes: Axes, dims: Sequence[str]) -> ModelGrid:
    """Return the grid of fields on some dimensions; raises CaseError for more directions than x, y and z."""
    shape = tuple(axes.sizes[dim] for dim in dims)
    places = [_places(axes, dim) for dim in dims]
    coordinates = [(number, each) for number, found in enumerate(places) for each in found]
    if len(coordinates) > len(_DIRECTIONS):
        raise CaseError(f"fields on ({', '.join(dims)}) lie in {len(coordinates)} directions; a grid of BMI has 3")
    names = _DIRECTIONS[len(_DIRECTIONS) - len(coordinates) :]
    if not dims:
        return ModelGrid("scalar", (), {})
    if any(each.along != each.name for _, each in coordinates):
        spread = [_spread(each.values, number, shape) for number, each in coordinates]
        return ModelGrid("points", shape, dict(zip(names, spread, strict=True)))
    nodes = {name: each.values for name, (_, each) in zip(names, coordinates, strict=True)}
    spacing = tuple(_spacing(each) for _, each in coordinates)
    if min(spacing) > 0.0:
        return ModelGrid("uniform_rectilinear", shape, nodes, spacing)
    return ModelGrid("rectilinear", shape, nodes)


def _places(axes: Axes, dim: str) -> list[Coordinate]:
    """Return the latitudes and longitudes of the cells along a dimension, or else the coordinate of its name."""
    along = [each for each in axes.coordinates if each.along == dim]
    found = [each for unit in _HORIZONTAL for each in along if each.attributes.get("units") == unit]
    return found or [each for each in along if each.name == dim]


def _spread(values: Array, axis: int, shape: tuple[int, ...]) -> Array:
    """Return what each node has of values along one axis."""
    sizes = [1] * len(shape)
    sizes[axis] = -1
    return np.broadcast_to(values.reshape(sizes), shape).reshape(-1)


def _spacing(coordinate: Coordinate) -> float:
    """Return the distance of nodes; 0 where it is not even, or not known, or they do not rise."""
    if len(coordinate.values) == 1:
        return 0.0 if coordinate.bounds is None else float(abs(coordinate.bounds[0, 1] - coordinate.bounds[0, 0]))
    between = np.diff(coordinate.values)
    mean = float(between.mean())
    return mean if np.ptp(between) <= _ROUND_OFF * max(mean, np.abs(coordinate.values).max()) else 0.0
