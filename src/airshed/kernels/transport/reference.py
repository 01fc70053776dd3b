"""Reference implementation in NumPy of the limited third-order upwind-biased transport scheme.

Mixing ratios may be complex: a small imaginary part is a tangent, and that of the result its tangent, see
:mod:`airshed.kernels.step.reference`.
"""

from dataclasses import dataclass

import numpy as np

from airshed.core.arrays import Array
from airshed.kernels.boundary import FaceCells, cells_of

ALPHA, BETA = 1.0 / 3.0, 1.0 / 6.0
"""kappa = 1/3 on equal cells: weights of the difference downstream of the face and of the one upstream."""


@dataclass(frozen=True)
class AirFluxes:
    """Air fluxes through the faces of cells at an instant [mol/s], positive to the east, to the north and upward.

    eastward (level, lat, lon + 1), northward (level, lat + 1, lon), upward (level, lat, lon): through upper faces.
    There is no flux through the ground.
    """

    eastward: Array
    northward: Array
    upward: Array


@dataclass(frozen=True)
class BoundaryValues:
    """Boundary mixing ratios [mol/mol]: at the lateral faces, and above the model (species,).

    sides  (species, level), or (species, level, face cell) in the order of :class:`airshed.kernels.boundary.FaceCells`,
           or (2 species, level, face cell) for two cells beyond each face
    """

    sides: Array
    top: Array

    def along(self, rows: int, columns: int) -> list[Array]:
        """Return the boundary concentrations (species, level, face cell) along west, east, south and north."""
        shape = *self.sides.shape[:2], FaceCells(rows, columns).count
        field = self.sides if self.sides.ndim > 2 else np.broadcast_to(self.sides[..., None], shape)
        return list(FaceCells(rows, columns).split(field).values())


@dataclass(frozen=True)
class TransportResult:
    """Result of transport at an instant [mol/s]: tendency (species, level, lat, lon), inflow, outflow (species,)."""

    tendency: Array
    inflow: Array
    outflow: Array


def face_value(before: Array, upstream: Array, downstream: Array, alpha: Array | float, beta: Array | float) -> Array:
    """Return the mixing ratio at a face between the cells `upstream` and `downstream`.

    With a `before`, b `upstream` and c `downstream` in the direction of the flow

        q_face = b + sign(c - b) min( |c - b|, |b - a|, alpha |c - b| + beta |b - a| ),   b where b is an extremum

    Source: Hundsdorfer, Koren, van Loon & Verwer 1995, J. Comput. Phys. 117, 35-46.
    """
    behind, ahead = upstream - before, downstream - upstream
    upward_value = np.sign(ahead.real)
    smooth = alpha * ahead + beta * behind
    least = np.where((upward_value * (ahead - behind)).real < 0.0, ahead, behind)
    correction = np.where((upward_value * (smooth - least)).real < 0.0, smooth, least)
    extremum = upward_value * np.sign(behind.real) <= 0.0
    return np.asarray(upstream + np.where(extremum, 0.0, correction))


def flux_along(cells: Array, air: Array) -> Array:
    """Return the fluxes of species [mol/s] through faces along the last axis, for equal cells.

    cells  [mol/mol] (..., n + 4): n cells with two on either side      air  [mol/s] (..., n + 1) through their faces
    """
    west2, west, east, east2 = (cells[..., i : i + air.shape[-1]] for i in range(4))
    positive = face_value(west2, west, east, ALPHA, BETA)
    negative = face_value(east2, east, west, ALPHA, BETA)
    return np.asarray(air * np.where(air > 0.0, positive, negative))


def with_sides(q: Array, air: Array, before: Array, behind: Array) -> Array:
    """Pad q by two cells at either end of the last axis: the boundary at inflow, otherwise the innermost cell.

    Concentrations of two cells are used for either direction of the flow.

    q  (species, level, ..., n)                air  (level, ..., n + 1) through the faces
    before, behind  (species, level, ...)      boundary concentrations at either end, or (2 species, level, ...)
    """
    if len(before) > len(q):
        (west, west2), (east, east2) = (cells_of(each, len(q))[..., None] for each in (before, behind))
        return np.concatenate([west2, west, q, east, east2], axis=-1)
    first = np.where(air[..., 0] > 0.0, before, q[..., 0])
    last = np.where(air[..., -1] > 0.0, q[..., -1], behind)
    return np.concatenate([np.stack([first] * 2, axis=-1), q, np.stack([last] * 2, axis=-1)], axis=-1)


def upward_flux(q: Array, air: Array, top: Array, weights: Array) -> Array:
    """Return the upward fluxes of species [mol/s] through upper faces, (species, level, lat, lon).

    At the top, outflow has the mixing ratio of the highest layer and inflow that above the model. A missing second
    upstream cell is set equal to the first, so that the face has the upstream value.

    weights  (level, 4): (alpha, beta) of the parabola through three layers for upward, then for downward flow
    """
    flux = np.empty_like(q)
    levels = q.shape[1]
    for k in range(levels - 1):
        below2, above2 = q[:, max(k - 1, 0)], q[:, min(k + 2, levels - 1)]
        upward_value = face_value(below2, q[:, k], q[:, k + 1], *weights[k, :2])
        downward_value = face_value(above2, q[:, k + 1], q[:, k], *weights[k, 2:])
        flux[:, k] = air[k] * np.where(air[k] > 0.0, upward_value, downward_value)
    flux[:, -1] = air[-1] * np.where(air[-1] > 0.0, q[:, -1], top[:, None, None])
    return flux


def transport(q: Array, air: AirFluxes, boundary: BoundaryValues, weights: Array) -> TransportResult:
    """Return the tendency of mixing ratios q (species, level, lat, lon) by air fluxes at an instant."""
    transposed, northward = np.swapaxes(q, -1, -2), np.swapaxes(air.northward, -1, -2)
    west, east, south, north = boundary.along(*q.shape[-2:])
    x = flux_along(with_sides(q, air.eastward, west, east), air.eastward)
    y = np.swapaxes(flux_along(with_sides(transposed, northward, south, north), northward), -1, -2)
    z = upward_flux(q, air.upward, boundary.top, weights)
    tendency = -np.diff(x, axis=3) - np.diff(y, axis=2) - np.diff(z, axis=1, prepend=0.0)
    into = (x[..., 0], -x[..., -1], y[:, :, 0], -y[:, :, -1], -z[:, -1])
    inflow = sum(np.maximum(side.real, 0.0).reshape(len(q), -1).sum(axis=1) for side in into)
    outflow = sum(np.maximum(-side.real, 0.0).reshape(len(q), -1).sum(axis=1) for side in into)
    return TransportResult(tendency, np.asarray(inflow), np.asarray(outflow))


def air_tendency(air: AirFluxes) -> Array:
    """Return the change of the air content of each cell [mol/s], (level, lat, lon)."""
    upward = np.diff(air.upward, axis=0, prepend=0.0)
    return np.asarray(-np.diff(air.eastward, axis=2) - np.diff(air.northward, axis=1) - upward)
