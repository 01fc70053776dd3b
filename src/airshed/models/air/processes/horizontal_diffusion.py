"""Horizontal diffusion: mixing of neighbouring columns by turbulence that the grid does not resolve.

    A dq/dt = sum over the four faces of D (q_neighbour - q),     D = n K dz L / d

n [mol m-3] is the density and K [m2/s] the diffusivity at the face (means of both cells). dz is the thickness of the
layer, L the length of the face and d the distance of the cell centres [m]. The scheme is of second order, conservative
and explicit. There is no flux through the edges of the area. K is constant, or depends on the wind deformation
(Smagorinsky 1963):

    K = (c l)^2 |def|,  between bounds;   l^2 = area of the cell
    def^2 = D_T^2 + D_S^2,   D_T = h d(u / h)/dx - w d(v / w)/dy,   D_S = h d(v / h)/dx + w d(u / w)/dy

w is the width and h the height of the cells, which vary on a curved grid. On longitude and latitude, w varies as
cos(lat), and h is constant.

A rank needs the weather of its columns with a margin of MARGIN columns. Differences are one-sided at the edges of the
margin, and bitwise identical to those of the whole area at the faces of its columns.
"""

from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.grid import Grid
from airshed.process import Process, at_instant, choice_or_quantity, quantity
from airshed.process import face_exchange as acts_through_faces

if TYPE_CHECKING:
    from airshed.models.air.weather import MetState


MARGIN: Final = 2  # columns on each side in the deformation at a face; 1 for the density
SMAGORINSKY: Final = 0.28  # c [1]; source: Smagorinsky 1963, Mon. Weather Rev. 91, 99-164
MINIMUM, MAXIMUM = 10.0, 1e5
"""Bounds of K [m2/s]; source: LOTOS-EUROS, after Liu & Durran 1977."""

_NO_FACE: Final = 1e-12


def face_winds(grid: Grid, density: Array, eastward_flux: Array, northward_flux: Array) -> tuple[Array, Array]:
    """Return the winds [m/s] across west and south faces, from the air fluxes: F / (n dz L).

    reads    density (nz, nlat, nlon) [mol m-3];  eastward_flux (nz, nlat, nlon + 1), northward_flux
             (nz, nlat + 1, nlon) [mol/s]
    returns  (u, v) of the shapes of the fluxes; 0 across a pole, where the length of a face is 0
    """
    thickness = grid.thickness[:, None, None]
    u = eastward_flux / (_face_means(density, 2) * np.maximum(thickness * grid.x_face_length, _NO_FACE))
    v = northward_flux / (_face_means(density, 1) * np.maximum(thickness * grid.y_face_length, _NO_FACE))
    return u, v


def deformation(grid: Grid, u: Array, v: Array) -> Array:
    """Return |def| [1/s] of the cells, 0 for solid-body rotation, also on the sphere.

    Central differences: D_T of the winds across a cell's own faces, D_S of the winds at its neighbours' centres.

    reads  u (nz, nlat, nlon + 1), v (nz, nlat + 1, nlon) [m/s] across the faces
    source  Smagorinsky 1963, Mon. Weather Rev. 91, 99-164
    """
    width, height = grid.x_width, grid.y_width
    # winds over the length of faces: solid-body rotation has no deformation on a curved grid either
    by_x, by_y = u / np.maximum(grid.x_face_length, _NO_FACE), v / np.maximum(grid.y_face_length, _NO_FACE)
    tension = height / width * (by_x[..., 1:] - by_x[..., :-1]) - width / height * (by_y[:, 1:] - by_y[:, :-1])
    centred_u, centred_v = 0.5 * (u[..., 1:] + u[..., :-1]), 0.5 * (v[:, 1:] + v[:, :-1])
    shear = height / width * _slope(centred_v / height, 2) + width / height * _slope(centred_u / width, 1)
    return np.asarray(np.sqrt(tension * tension + shear * shear))


def smagorinsky(
    grid: Grid, rate: Array, constant: float = SMAGORINSKY, minimum: float = MINIMUM, maximum: float = MAXIMUM
) -> Array:
    """Return the diffusivity K = (c l)^2 |def| [m2/s] of cells, between ``minimum`` and ``maximum``.

    reads  rate |def| (nz, nlat, nlon) [1/s];  constant c [1]
    """
    return np.asarray(np.minimum(np.maximum(constant**2 * grid.cell_area * rate, minimum), maximum))


def face_exchange(grid: Grid, density: Array, diffusivity: Array | float) -> tuple[Array, Array]:
    """Return the exchange of air through west and south faces [mol/s], equal in both directions.

    reads    density (nz, nlat, nlon) [mol m-3];  diffusivity (nz, nlat, nlon) [m2/s], or one for all
    returns  (west, south), (nz, nlat, nlon + 1) and (nz, nlat + 1, nlon), with the east and north faces of the last
             cells at the end; 0 at the edges
    """
    everywhere = np.broadcast_to(np.asarray(diffusivity, np.float64), density.shape)
    thickness = grid.thickness[:, None, None]
    per_distance = grid.x_face_length / _face_means(grid.x_width, 1), grid.y_face_length / _face_means(grid.y_width, 0)
    west = _face_means(density, 2) * _face_means(everywhere, 2) * thickness * per_distance[0]
    south = _face_means(density, 1) * _face_means(everywhere, 1) * thickness * per_distance[1]
    west[..., 0] = west[..., -1] = 0.0
    south[:, 0] = south[:, -1] = 0.0
    return west, south


def outflow_rate(west: Array, south: Array, air: Array) -> Array:
    """Return the ratio of the exchange through the four faces of a cell to its air [1/s], (nz, nlat, nlon).

    Times the step it adds to the sum of the Courant numbers, which limits an explicit step.

    reads  west (nz, nlat, nlon + 1), south (nz, nlat + 1, nlon) [mol/s];  air (nz, nlat, nlon) [mol]
    """
    return np.asarray((west[..., :-1] + west[..., 1:] + south[:, :-1] + south[:, 1:]) / air)


def _face_means(values: Array, axis: int) -> Array:
    """Return means of adjacent cells at the faces along an axis, and the values of the outermost cells at the edges."""
    first, last = values.take([0], axis), values.take([-1], axis)
    before, behind = np.concatenate([first, values], axis), np.concatenate([values, last], axis)
    return np.asarray(0.5 * (before + behind))


def _slope(values: Array, axis: int) -> Array:
    """Return central differences along an axis, one-sided at the edges, 0 for a single cell."""
    count = values.shape[axis]
    if count == 1:
        return np.zeros_like(values)
    here = np.arange(count)
    after, before = np.minimum(here + 1, count - 1), np.maximum(here - 1, 0)
    span = (after - before).astype(np.float64).reshape([-1 if each == axis else 1 for each in range(values.ndim)])
    return np.asarray((values.take(after, axis) - values.take(before, axis)) / span)


class HorizontalDiffusion(Process, section="horizontal_diffusion", order=15):
    """Exchange between neighbouring columns by unresolved turbulence."""

    margin = MARGIN
    diffusivity = choice_or_quantity(
        "none", ("none", "smagorinsky"), "m2/s",
        "Constant diffusivity, or `smagorinsky` for a diffusivity from the wind deformation.", most="1e6 m2/s",
    )  # fmt: skip
    minimum_diffusivity = quantity(
        f"{MINIMUM:g} m2/s", "m2/s", "Minimum diffusivity of `smagorinsky`.", most="1e6 m2/s"
    )
    maximum_diffusivity = quantity(
        f"{MAXIMUM:g} m2/s", "m2/s", "Maximum diffusivity of `smagorinsky`.", most="1e6 m2/s"
    )

    def prepare(self) -> None:
        """Initialise the cache of an instant."""
        self._known: tuple[float, tuple[Array, Array]] | None = None

    def is_on(self) -> bool:
        """Return True if there is a diffusivity."""
        return bool(self.diffusivity != "none")

    def idle_reason(self) -> str:
        """Return why diffusion has no effect: a single column."""
        single = self.is_on() and self.context.whole.shape[1:] == (1, 1)
        return "diffusivity has no effect in a single column; leave it out" if single else ""

    @at_instant("mol/s", "west faces", by_species=False)
    def west_air(self, met: "MetState", seconds: float) -> Array:
        """Air exchanged through west faces."""
        return self._faces(met, seconds)[0]

    @at_instant("mol/s", "south faces", by_species=False)
    def south_air(self, met: "MetState", seconds: float) -> Array:
        """Air exchanged through south faces."""
        return self._faces(met, seconds)[1]

    def _faces(self, met: "MetState", seconds: float) -> tuple[Array, Array]:
        """Return both exchanges, from the weather of the columns of this rank and the margin."""
        if self._known is None or self._known[0] != seconds:
            west, south = face_exchange(self.context.around, met.air_density, self._diffusivity(met))
            inside = self.context.inside
            self._known = seconds, (inside.of_faces(west, "x"), inside.of_faces(south, "y"))
        return self._known[1]

    def _diffusivity(self, met: "MetState") -> Array | float:
        if self.diffusivity != "smagorinsky":
            return float(self.diffusivity.value)
        grid = self.context.around
        winds = face_winds(grid, met.air_density, met.eastward_air_flux, met.northward_air_flux)
        minimum, maximum = self.minimum_diffusivity.value, self.maximum_diffusivity.value
        return smagorinsky(grid, deformation(grid, *winds), minimum=minimum, maximum=maximum)

    @acts_through_faces
    def mixed(west_air, south_air):
        """Horizontal turbulent exchange."""
        return west_air, south_air
