"""Grids of the Basic Model Interface, from the axes of a model's domain.

Nodes are the centres of cells. Directions are in the order of a field's dimensions: z, y, x.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.grid.axes import Axes, Coordinate

_DIRECTIONS = "zyx"
_HORIZONTAL = ("degrees_north", "degrees_east")  # CF units, in the order y, x
_ROUND_OFF = 1e-9


@dataclass(frozen=True)
class ModelGrid:
    """A grid in the terms of BMI.

    type     "scalar", "points" (cells without neighbours, with coordinates for each), "uniform_rectilinear",
             "rectilinear", or "structured_quadrilateral" (rows and columns of cells, with coordinates for each)
    shape    of a field on the grid
    nodes    coordinates by direction: of each node for points and quadrilaterals, else of each row, column or layer
    spacing  by direction, of a uniform grid
    """

    type: str
    shape: tuple[int, ...]
    nodes: Mapping[str, Array]
    spacing: tuple[float, ...] = ()

    @property
    def rank(self) -> int:
        """Number of directions."""
        return len(self.nodes)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return prod(self.shape)

    @property
    def unstructured(self) -> bool:
        """Return whether the type is a special case of unstructured grids, without edges and faces."""
        return self.type in ("scalar", "points")


def grid_of(axes: Axes, dims: Sequence[str]) -> ModelGrid:
    """Return the grid of fields on some dimensions; raises CaseError for more directions than x, y and z."""
    shape = tuple(axes.sizes[dim] for dim in dims)
    coordinates = _coordinates(axes, dims)
    if len(coordinates) > len(_DIRECTIONS):
        raise CaseError(f"fields on ({', '.join(dims)}) have {len(coordinates)} directions; a BMI grid has at most 3")
    names = _DIRECTIONS[len(_DIRECTIONS) - len(coordinates) :]
    if not dims:
        return ModelGrid("scalar", (), {})
    if any(each.auxiliary for each in coordinates):
        spread = [_spread(each, dims, shape) for each in coordinates]
        kind = "points" if all(len(each.dims) == 1 for each in coordinates) else "structured_quadrilateral"
        return ModelGrid(kind, shape, dict(zip(names, spread, strict=True)))
    nodes = {name: each.values for name, each in zip(names, coordinates, strict=True)}
    spacing = tuple(_spacing(each) for each in coordinates)
    if min(spacing) > 0.0:
        return ModelGrid("uniform_rectilinear", shape, nodes, spacing)
    return ModelGrid("rectilinear", shape, nodes)


def _coordinates(axes: Axes, dims: Sequence[str]) -> list[Coordinate]:
    """Return the coordinates of dimensions, with latitude and longitude as the last two."""
    there = [each for each in axes.coordinates if set(each.dims) <= set(dims)]
    horizontal = [each for unit in _HORIZONTAL for each in there if each.attributes.get("units") == unit]
    covered = {dim for each in horizontal for dim in each.dims}
    return [each for dim in dims for each in there if each.name == dim and dim not in covered] + horizontal


def _spread(coordinate: Coordinate, dims: Sequence[str], shape: tuple[int, ...]) -> Array:
    """Return the value of a coordinate at each node."""
    sizes = [size if dim in coordinate.dims else 1 for dim, size in zip(dims, shape, strict=True)]
    return np.broadcast_to(coordinate.values.reshape(sizes), shape).reshape(-1)


def _spacing(coordinate: Coordinate) -> float:
    """Return the distance of nodes; 0 where it is uneven, unknown or negative."""
    if len(coordinate.values) == 1:
        return 0.0 if coordinate.bounds is None else float(abs(coordinate.bounds[0, 1] - coordinate.bounds[0, 0]))
    between = np.diff(coordinate.values)
    mean = float(between.mean())
    return mean if np.ptp(between) <= _ROUND_OFF * max(mean, np.abs(coordinate.values).max()) else 0.0
