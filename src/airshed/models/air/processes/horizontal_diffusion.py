"""Horizontal diffusion: turbulence that the grid does not resolve mixes neighbouring columns.

    A dq/dt = sum over the four faces of D (q_neighbour - q),     D = n K dz L / d

with the density n [mol m-3] and the diffusivity K [m2/s] at the face (means of both cells), the thickness dz of the
layer, the length L of the face and the distance d of the cell centres [m]: second order, conservative, explicit.
Nothing passes the edges of the area. K is constant, or follows the deformation of the wind (Smagorinsky 1963):

    K = (c l)^2 |def|,  between bounds;   l^2 = area of the cell
    def^2 = D_T^2 + D_S^2,   D_T = h d(u / h)/dx - w d(v / w)/dy,   D_S = h d(v / h)/dx + w d(u / w)/dy

with the width w and the height h of the cells, which change over a curved grid (w as cos(lat), h constant on longitude
and latitude).

A rank needs the weather of its columns with a margin, LOOKS columns wide, for the faces of its own: differences are
one-sided at the edges of what it is given, and faces of the columns within have the bits of the whole area's.
"""

from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.grid import Grid
from airshed.process import Process, at_instant, choice_or_quantity, quantity
from airshed.process import face_exchange as acts_through_faces

if TYPE_CHECKING:
    from airshed.models.air.weather import MetState


LOOKS: Final = 2  # columns on each side that the deformation at a face looks at; the density alone looks at 1
SMAGORINSKY: Final = 0.28  # c [1]; source: Smagorinsky 1963, Mon. Weather Rev. 91, 99-164
MINIMUM, MAXIMUM = 10.0, 1e5
"""Bounds of K [m2/s]; source: as in LOTOS-EUROS, after Liu & Durran 1977."""

_NO_FACE: Final = 1e-12


def face_winds(grid: Grid, density: Array, eastward_flux: Array, northward_flux: Array) -> tuple[Array, Array]:
    """Return the winds [m/s] across the west-east and the south-north faces, from the air that passes: F / (n dz L).

    reads    density (nz, nlat, nlon) [mol m-3];  eastward_flux (nz, nlat, nlon + 1), northward_flux
             (nz, nlat + 1, nlon) [mol/s]
    returns  (u, v) of the shapes of the fluxes; 0 across a pole, where a face has no length
    """
    thickness = grid.thickness[:, None, None]
    u = eastward_flux / (_face_means(density, 2) * np.maximum(thickness * grid.x_face_length, _NO_FACE))
    v = northward_flux / (_face_means(density, 1) * np.maximum(thickness * grid.y_face_length, _NO_FACE))
    return u, v


def deformation(grid: Grid, u: Array, v: Array) -> Array:
    """Return |def| [1/s] of the cells, 0 for air that turns as a solid, on the sphere too.

    Central differences: D_T of the winds across a cell's own faces, D_S of the winds at its neighbours' centres.

    reads  u (nz, nlat, nlon + 1), v (nz, nlat + 1, nlon) [m/s] across the faces
    source  Smagorinsky 1963, Mon. Weather Rev. 91, 99-164
    """
    width, height = grid.x_width, grid.y_width
    # winds over the length of the faces that they cross: turning as a solid deforms nothing on a curved grid either
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
    """Return the air that cells exchange through their west and through their south faces [mol/s], both ways alike.

    reads    density (nz, nlat, nlon) [mol m-3];  diffusivity (nz, nlat, nlon) [m2/s], or one for all
    returns  (west, south), (nz, nlat, nlon + 1) and (nz, nlat + 1, nlon), the last ones those of the east and the north
             faces of the last cells; 0 at the edges
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
    """Return the sum of the exchange through a cell's four faces over its air content [1/s], (nz, nlat, nlon).

    Times the step it adds to the sum of the Courant numbers: what an explicit step may take out of a cell.

    reads  west (nz, nlat, nlon + 1), south (nz, nlat + 1, nlon) [mol/s];  air (nz, nlat, nlon) [mol]
    """
    return np.asarray((west[..., :-1] + west[..., 1:] + south[:, :-1] + south[:, 1:]) / air)


def _face_means(values: Array, axis: int) -> Array:
    """Return the means of both cells at the faces along an axis, at the edges the value of the cell inside."""
    first, last = values.take([0], axis), values.take([-1], axis)
    before, behind = np.concatenate([first, values], axis), np.concatenate([values, last], axis)
    return np.asarray(0.5 * (before + behind))


def _slope(values: Array, axis: int) -> Array:
    """Return the change of values from cell to cell along an axis, central, one-sided at the edges, 0 for one cell."""
    count = values.shape[axis]
    if count == 1:
        return np.zeros_like(values)
    here = np.arange(count)
    after, before = np.minimum(here + 1, count - 1), np.maximum(here - 1, 0)
    span = (after - before).astype(np.float64).reshape([-1 if each == axis else 1 for each in range(values.ndim)])
    return np.asarray((values.take(after, axis) - values.take(before, axis)) / span)


class HorizontalDiffusion(Process, section="horizontal_diffusion", order=15):
    """Exchange between neighbouring columns by turbulence that the grid does not resolve."""

    margin = LOOKS
    diffusivity = choice_or_quantity(
        "none", ("none", "smagorinsky"), "m2/s",
        "A diffusivity, everywhere the same; `smagorinsky` for that of the wind's deformation.", most="1e6 m2/s",
    )  # fmt: skip
    minimum_diffusivity = quantity(f"{MINIMUM:g} m2/s", "m2/s", "Least diffusivity of `smagorinsky`.", most="1e6 m2/s")
    maximum_diffusivity = quantity(
        f"{MAXIMUM:g} m2/s", "m2/s", "Greatest diffusivity of `smagorinsky`.", most="1e6 m2/s"
    )

    def prepare(self) -> None:
        """Nothing is known of any instant."""
        self._known: tuple[float, tuple[Array, Array]] | None = None

    def is_on(self) -> bool:
        """Whether there is a diffusivity."""
        return bool(self.diffusivity != "none")

    def idle_reason(self) -> str:
        """Return why nothing is exchanged: it is between columns."""
        single = self.is_on() and self.context.whole.shape[1:] == (1, 1)
        return "diffusivity exchanges nothing in a single column; leave it out" if single else ""

    @at_instant("mol/s", "west faces", by_species=False)
    def west_air(self, met: "MetState", seconds: float) -> Array:
        """Air exchanged through west faces."""
        return self._faces(met, seconds)[0]

    @at_instant("mol/s", "south faces", by_species=False)
    def south_air(self, met: "MetState", seconds: float) -> Array:
        """Air exchanged through south faces."""
        return self._faces(met, seconds)[1]

    def _faces(self, met: "MetState", seconds: float) -> tuple[Array, Array]:
        """Both, of the weather of these columns and those around them."""
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
        """All that is exchanged."""
        return west_air, south_air
