"""Points whose latitude and longitude are in two dimensions, as on a projection: interpolation, and their axes."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.grid.mapping import directions, northward_vectors


@dataclass(frozen=True)
class ScatteredWeights:
    """Linear interpolation in the Delaunay triangles between points.

    corners  indices of three points for each target, (ny, nx, 3);  weight  their weights
    inside   whether a target lies between the points, (ny, nx)
    """

    corners: NDArray[np.intp]
    weight: Array
    inside: NDArray[np.bool_]

    @classmethod
    def of(cls, lat: Array, lon: Array, target_lat: Array, target_lon: Array) -> Self:
        """Return the weights from points (y, x) to targets (ny, nx) [degrees].

        The triangles do not depend on the targets: a part of the targets has the same bits as all of them.
        """
        from scipy.spatial import Delaunay

        centre = directions(lon, lat).reshape(-1, 3).mean(axis=0)
        triangles = Delaunay(_stereographic(lat, lon, centre).reshape(-1, 2))
        places = _stereographic(target_lat, target_lon, centre)
        number = triangles.find_simplex(places)
        inside, affine = number >= 0, triangles.transform[np.maximum(number, 0)]
        away = places - affine[..., 2, :]
        first, second = (affine[..., row, 0] * away[..., 0] + affine[..., row, 1] * away[..., 1] for row in (0, 1))
        weight = np.stack([first, second, 1.0 - first - second], axis=-1)
        return cls(triangles.simplices[np.maximum(number, 0)].astype(np.intp), weight, inside)

    def __call__(self, field: Array) -> Array:
        """Return a field (..., y, x) at the targets (..., ny, nx)."""
        flat = field.reshape(*field.shape[:-2], -1)
        total = self.weight[..., 0] * flat[..., self.corners[..., 0]]
        for corner in (1, 2):
            total += self.weight[..., corner] * flat[..., self.corners[..., corner]]
        return np.asarray(total)


def _stereographic(lat: Array, lon: Array, centre: Array) -> Array:
    """Return the coordinates (..., 2) of points [degrees] on the stereographic plane around a direction."""
    middle = centre / np.sqrt(np.sum(centre**2))
    ahead = np.cross(middle, [0.0, 0.0, 1.0] if abs(middle[2]) < 0.9 else [1.0, 0.0, 0.0])
    ahead /= np.sqrt(np.sum(ahead**2))
    of_points = directions(lon, lat)

    def along(axis: Array) -> Array:
        return np.asarray(of_points[..., 0] * axis[0] + of_points[..., 1] * axis[1] + of_points[..., 2] * axis[2])

    depth = 1.0 + along(middle)
    return np.asarray(np.stack([along(ahead) / depth, along(np.cross(middle, ahead)) / depth], axis=-1))


def axis_rotation(lat: Array, lon: Array) -> Array:
    """Return the angle from east to the x axis of points (y, x), counterclockwise [rad], by differences."""
    along = np.gradient(directions(lon, lat), axis=1, edge_order=min(lon.shape[1] - 1, 2))
    angle = np.radians(lon)
    east = np.stack([-np.sin(angle), np.cos(angle), np.zeros_like(angle)], axis=-1)
    north = northward_vectors(lon, lat)
    return np.asarray(np.arctan2(np.sum(along * north, axis=-1), np.sum(along * east, axis=-1)))
