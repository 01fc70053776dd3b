"""Convection: air that clouds carry through many layers in one step, and the slow sinking that makes up for it.

    A(k) dq(k)/dt = sum over k' of M(k, k') q(k')

M [mol/s] follows from the mass fluxes of updraughts and downdraughts through the layer faces, which the meteorology
gives. An updraught takes in (entrains) air of a layer, mixes it with what comes from below, leaves some of the mixture
there (detrains it), and carries the rest up:

    F(k+1/2) = F(k-1/2) + E(k) - D(k),     q_u(k) = [ F(k-1/2) q_u(k-1) + E(k) q(k) ] / [ F(k-1/2) + E(k) ]

A downdraught does the same from above. The air around them sinks by the net flux F_u - F_d, upwind. So rows of M sum to
zero (a uniform mixing ratio stays), columns too (nothing is lost), and only its diagonal is negative.

Mass fluxes are not diagnosed: the model's own vertical diffusion already mixes the convective boundary layer, and deep
clouds need a closure that belongs to the model that made the weather. Formulas work on NumPy arrays, at instants.

source  Tiedtke 1989, Mon. Weather Rev. 117, 1779-1800; Heimann & Keeling 1989, Geophys. Monogr. 55, 237-275 (matrix)
"""

from typing import TYPE_CHECKING

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import MOLAR_MASS_DRY_AIR
from airshed.core.errors import DataError
from airshed.process import Process, at_instant, switch, weather
from airshed.process import column_matrix as acts_in_columns

if TYPE_CHECKING:
    from airshed.models.air.weather import MetState


def molar_flux(mass_flux: Array, area: Array) -> Array:
    """Return the air that a mass flux carries through faces [mol/s], 0 at the ground and at the model's top.

    What goes up to the top is left in the highest layer.

    reads  mass_flux (nz + 1, nlat, nlon) [kg m-2 s-1], below 0 is taken as 0;  area [m2], broadcastable to (nlat, nlon)
    """
    flux = np.maximum(mass_flux, 0.0) * (area / MOLAR_MASS_DRY_AIR)
    flux[0] = flux[-1] = 0.0
    return flux


def layer_detrainment(rate: Array, area: Array, thickness: Array) -> Array:
    """Return the air that layers are given [mol/s] from detrainment per volume.

    reads  rate (nz, nlat, nlon) [kg m-3 s-1];  area [m2], broadcastable to (nlat, nlon);  thickness (nz,) [m]
    """
    return np.maximum(rate, 0.0) * thickness[:, None, None] * (area / MOLAR_MASS_DRY_AIR)


def entrainment_and_detrainment(flux: Array, detrainment: Array | None = None) -> tuple[Array, Array]:
    """Return what an updraught takes from layers and leaves in them, both at least 0.

    E(k) - D(k) = F(k+1/2) - F(k-1/2)

    Without a given detrainment each layer has one of both: the least exchange that the fluxes need. A given one that is
    less than that is raised to it.

    reads    flux F (nz + 1, ...) [mol/s], 0 at both ends;  detrainment (nz, ...) [mol/s]
    returns  (E, D), each (nz, ...) [mol/s]
    """
    growth = flux[1:] - flux[:-1]
    left = np.maximum(-growth, 0.0)
    if detrainment is not None:
        left = np.maximum(left, detrainment)
    return np.maximum(growth + left, 0.0), left


def plume_matrix(flux: Array, entrained: Array, detrained: Array) -> Array:
    """Return what an updraught brings from layers to layers, without what it takes: D(k) times the shares of its air.

    reads    flux (nz + 1, ...), entrained, detrained (nz, ...) [mol/s]
    returns  (nz, nz, ...) [mol/s]: to k from k'
    """
    nz = entrained.shape[0]
    matrix = np.zeros((nz, *entrained.shape))
    shares = np.zeros_like(entrained)  # of the plume's air in the layer, by the layer where it was taken in
    for k in range(nz):
        here = flux[k] + entrained[k]
        shares *= flux[k]
        shares[k] += entrained[k]
        shares /= np.where(here > 0.0, here, 1.0)
        matrix[k] = detrained[k] * shares
    return matrix


def sinking_matrix(net: Array) -> Array:
    """Return what the air between clouds brings down to layers, or up where downdraughts prevail.

    reads    net F_u - F_d (nz + 1, ...) [mol/s]
    returns  (nz, nz, ...) [mol/s]: to k from its neighbours, upwind
    """
    nz = net.shape[0] - 1
    matrix = np.zeros((nz, nz, *net.shape[1:]))
    for face in range(1, nz):
        matrix[face - 1, face] = np.maximum(net[face], 0.0)
        matrix[face, face - 1] = np.maximum(-net[face], 0.0)
    return matrix


def column_matrix(
    updraught: Array, downdraught: Array, up_detrainment: Array | None = None, down_detrainment: Array | None = None
) -> Array:
    """Return M: what the air of layer k' brings to layer k.

    The diagonal is what makes rows sum to zero.

    reads    updraught, downdraught (nz + 1, nlat, nlon) [mol/s] through faces, see :func:`molar_flux`, positive in the
             direction of their names;  up_detrainment, down_detrainment (nz, nlat, nlon) [mol/s]
    returns  (nz, nz, nlat, nlon) [mol/s]
    """
    taken, left = entrainment_and_detrainment(updraught, up_detrainment)
    matrix = plume_matrix(updraught, taken, left)
    falling = downdraught[::-1]  # seen from above a downdraught is an updraught
    taken, left = entrainment_and_detrainment(falling, None if down_detrainment is None else down_detrainment[::-1])
    matrix += plume_matrix(falling, taken, left)[::-1, ::-1]
    matrix += sinking_matrix(updraught - downdraught)
    diagonal = np.arange(matrix.shape[0])
    matrix[diagonal, diagonal] = 0.0
    for k in diagonal:
        matrix[k, k] = -_sum(matrix[k])
    return matrix


def outflow_rate(matrix: Array, air: Array) -> Array:
    """Return the share of a layer's air that leaves it per time, -M(k, k) / A(k) [1/s] (nz, nlat, nlon).

    Times the step it is a Courant number: an explicit step keeps mixing ratios positive up to 1.

    reads  matrix (nz, nz, nlat, nlon) [mol/s];  air A (nz, nlat, nlon) [mol]
    """
    levels = np.arange(matrix.shape[0])
    return np.asarray(-matrix[levels, levels] / air)


def tendency(matrix: Array, mixing_ratio: Array) -> Array:
    """Return sum over k' of M(k, k') q(k') [mol/s] (..., nz, nlat, nlon) of mixing ratios of that shape."""
    return np.asarray(np.einsum("klji,...lji->...kji", matrix, mixing_ratio))


def _sum(values: Array) -> Array:
    """Return the sum over the first axis, term after term: the same bits however many columns there are."""
    total = np.array(values[0])
    for value in values[1:]:
        total += value
    return total


class Convection(Process, section="convection", order=25):
    """What clouds carry through many layers at once."""

    mass_flux = switch(
        False, "Whether updraughts and downdraughts act whose mass fluxes are given with the meteorology."
    )
    updraught = weather("updraught_mass_flux", "kg m-2 s-1")
    downdraught = weather("downdraught_mass_flux", "kg m-2 s-1", optional=True)
    up_detrainment = weather("updraught_detrainment", "kg m-3 s-1", optional=True)
    down_detrainment = weather("downdraught_detrainment", "kg m-3 s-1", optional=True)

    def is_on(self) -> bool:
        """Whether the case has it on."""
        return bool(self.mass_flux)

    def idle_reason(self) -> str:
        """Return why nothing is carried: clouds carry between layers."""
        flat = self.mass_flux and self.context.whole.shape[0] == 1
        return "mass_flux carries nothing in a single layer; leave it out" if flat else ""

    @at_instant("mol/s", "matrix", by_species=False)
    def brought(self, met: "MetState", seconds: float) -> Array:
        """Air that each layer brings to each other one."""
        grid, up = self.context.grid, met.get("updraught_mass_flux")
        if up is None:
            raise DataError(
                "convection.mass_flux needs updraught_mass_flux [kg m-2 s-1], which the meteorology does not hold; "
                "give atmosphere_updraft_convective_mass_flux in a Dataset, or leave convection off"
            )
        up, down = molar_flux(up, grid.cell_area), met.get("downdraught_mass_flux")
        down = 0.0 * up if down is None else molar_flux(down, grid.cell_area)
        rates = (met.get(name) for name in ("updraught_detrainment", "downdraught_detrainment"))
        left = [None if rate is None else layer_detrainment(rate, grid.cell_area, grid.thickness) for rate in rates]
        return column_matrix(up, down, *left)

    @acts_in_columns
    def carried(brought):
        """All that is carried."""
        return brought
