"""The functions of the Basic Model Interface that tell about grids."""

from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.bmi.grids import ModelGrid
from airshed.core.errors import CaseError

try:
    from bmipy import Bmi
except ImportError as error:
    raise CaseError('airshed.bmi needs bmipy: pip install "airshed[bmi]"') from error

Array = npt.NDArray[Any]


class GridFunctions(Bmi):
    """What is to be known about grids; functions that a type of grid does not have raise NotImplementedError."""

    def _grid(self, grid: int) -> ModelGrid:
        raise NotImplementedError

    def get_grid_type(self, grid: int) -> str:
        """Return "scalar", "points", "uniform_rectilinear" or "rectilinear"."""
        return self._grid(grid).type

    def get_grid_rank(self, grid: int) -> int:
        """Return the number of directions."""
        return self._grid(grid).rank

    def get_grid_size(self, grid: int) -> int:
        """Return the number of nodes, which are the centres of cells."""
        return self._grid(grid).size

    def get_grid_shape(self, grid: int, shape: Array) -> Array:
        """Fill in the number of nodes along z, y and x."""
        found = self._grid(grid)
        if found.unstructured:
            raise _no(found, "shape")
        return fill(shape, np.array(found.shape), f"the shape of grid {grid}")

    def get_grid_spacing(self, grid: int, spacing: Array) -> Array:
        """Fill in the distance of nodes along z, y and x."""
        found = self._grid(grid)
        if not found.spacing:
            raise _no(found, "spacing")
        return fill(spacing, np.array(found.spacing), f"the spacing of grid {grid}")

    def get_grid_origin(self, grid: int, origin: Array) -> Array:
        """Fill in the first node along z, y and x."""
        found = self._grid(grid)
        if not found.spacing:
            raise _no(found, "origin")
        return fill(origin, np.array([each[0] for each in found.nodes.values()]), f"the origin of grid {grid}")

    def get_grid_x(self, grid: int, x: Array) -> Array:
        """Fill in the coordinates of columns, or of each point."""
        return self._nodes(grid, "x", x)

    def get_grid_y(self, grid: int, y: Array) -> Array:
        """Fill in the coordinates of rows, or of each point."""
        return self._nodes(grid, "y", y)

    def get_grid_z(self, grid: int, z: Array) -> Array:
        """Fill in the coordinates of layers, or of each point."""
        return self._nodes(grid, "z", z)

    def get_grid_node_count(self, grid: int) -> int:
        """Return the number of nodes."""
        return self._grid(grid).size

    def get_grid_edge_count(self, grid: int) -> int:
        """Return 0, for points."""
        return self._without_edges(grid, "edges")

    def get_grid_face_count(self, grid: int) -> int:
        """Return 0, for points."""
        return self._without_edges(grid, "faces")

    def get_grid_edge_nodes(self, grid: int, edge_nodes: Array) -> Array:
        """Fill in nothing, for points."""
        return self._nothing(grid, "edge_nodes", edge_nodes)

    def get_grid_face_edges(self, grid: int, face_edges: Array) -> Array:
        """Fill in nothing, for points."""
        return self._nothing(grid, "face_edges", face_edges)

    def get_grid_face_nodes(self, grid: int, face_nodes: Array) -> Array:
        """Fill in nothing, for points."""
        return self._nothing(grid, "face_nodes", face_nodes)

    def get_grid_nodes_per_face(self, grid: int, nodes_per_face: Array) -> Array:
        """Fill in nothing, for points."""
        return self._nothing(grid, "nodes_per_face", nodes_per_face)

    def _nodes(self, grid: int, direction: str, target: Array) -> Array:
        found = self._grid(grid)
        if direction not in found.nodes:
            raise _no(found, direction)
        return fill(target, found.nodes[direction], f"{direction} of grid {grid}")

    def _without_edges(self, grid: int, what: str) -> int:
        found = self._grid(grid)
        if not found.unstructured:
            raise _no(found, what)
        return 0

    def _nothing(self, grid: int, what: str, target: Array) -> Array:
        return fill(target, np.zeros(self._without_edges(grid, what), np.int64), f"{what} of grid {grid}")


def fill(target: Array, values: Array, what: str) -> Array:
    """Fill an array, flat or in the shape of the values, and return it; raises CaseError for one that does not fit."""
    if not isinstance(target, np.ndarray) or target.size != values.size:
        given = f"one of {target.size}" if isinstance(target, np.ndarray) else f"a {type(target).__name__}"
        raise CaseError(f"{what}: give a NumPy array for {values.size} values, not {given}")
    try:
        np.copyto(target, values.reshape(target.shape), casting="same_kind")
    except (TypeError, ValueError) as error:
        raise CaseError(f"{what}: an array of {target.dtype} cannot take {values.dtype}: {error}") from error
    return target


def _no(grid: ModelGrid, what: str) -> NotImplementedError:
    return NotImplementedError(f"a grid of the type {grid.type} and rank {grid.rank} has no {what}")
