"""Convection: transport by clouds through many layers in one step, with compensating subsidence.

    A(k) dq(k)/dt = sum over k' of M(k, k') q(k')

M [mol/s] follows from the mass fluxes of updraughts and downdraughts through the layer faces, which are part of the
meteorology. An updraught entrains air of a layer, mixes it with the air from below, detrains a part of the mixture, and
transports the rest upward:

    F(k+1/2) = F(k-1/2) + E(k) - D(k),     q_u(k) = [ F(k-1/2) q_u(k-1) + E(k) q(k) ] / [ F(k-1/2) + E(k) ]

A downdraught does the same from above. The surrounding air subsides by the net flux F_u - F_d, upwind. The rows of M
sum to zero (a uniform mixing ratio is constant), and so do the columns (mass is conserved). Only the diagonal is
negative.

Mass fluxes are not diagnosed: vertical diffusion already mixes the convective boundary layer, and deep clouds need a
closure that is consistent with the meteorological model. Formulas work on NumPy arrays, at instants.

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
    """Return the molar flux of air through faces [mol/s], 0 at the ground and at the model top.

    A flux through the model top is detrained in the highest layer.

    reads  mass_flux (nz + 1, nlat, nlon) [kg m-2 s-1], negative values are set to 0;  area [m2], broadcastable to
           (nlat, nlon)
    """
    flux = np.maximum(mass_flux, 0.0) * (area / MOLAR_MASS_DRY_AIR)
    flux[0] = flux[-1] = 0.0
    return flux


def layer_detrainment(rate: Array, area: Array, thickness: Array) -> Array:
    """Return the detrainment of layers [mol/s] from detrainment per volume.

    reads  rate (nz, nlat, nlon) [kg m-3 s-1];  area [m2], broadcastable to (nlat, nlon);  thickness (nz,) [m]
    """
    return np.maximum(rate, 0.0) * thickness[:, None, None] * (area / MOLAR_MASS_DRY_AIR)


def entrainment_and_detrainment(flux: Array, detrainment: Array | None = None) -> tuple[Array, Array]:
    """Return entrainment and detrainment of an updraught, both at least 0.

    E(k) - D(k) = F(k+1/2) - F(k-1/2)

    Without detrainment data, each layer has only one of both: the minimum exchange for the fluxes. Data below this
    minimum are raised to it.

    reads    flux F (nz + 1, ...) [mol/s], 0 at both ends;  detrainment (nz, ...) [mol/s]
    returns  (E, D), each (nz, ...) [mol/s]
    """
    growth = flux[1:] - flux[:-1]
    left = np.maximum(-growth, 0.0)
    if detrainment is not None:
        left = np.maximum(left, detrainment)
    return np.maximum(growth + left, 0.0), left


def plume_matrix(flux: Array, entrained: Array, detrained: Array) -> Array:
    """Return the transport of an updraught between layers without entrainment: D(k) times the fractions of its air.

    reads    flux (nz + 1, ...), entrained, detrained (nz, ...) [mol/s]
    returns  (nz, nz, ...) [mol/s]: to k from k'
    """
    nz = entrained.shape[0]
    matrix = np.zeros((nz, *entrained.shape))
    shares = np.zeros_like(entrained)  # fractions of the plume's air in the layer, by the layer of entrainment
    for k in range(nz):
        here = flux[k] + entrained[k]
        shares *= flux[k]
        shares[k] += entrained[k]
        shares /= np.where(here > 0.0, here, 1.0)
        matrix[k] = detrained[k] * shares
    return matrix


def sinking_matrix(net: Array) -> Array:
    """Return the transport by subsidence between clouds, upward where downdraughts prevail.

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
    """Return M, the transport from layer k' to layer k; the diagonal makes rows sum to zero.

    reads    updraught, downdraught (nz + 1, nlat, nlon) [mol/s] through faces, see :func:`molar_flux`, positive in the
             direction of their names;  up_detrainment, down_detrainment (nz, nlat, nlon) [mol/s]
    returns  (nz, nz, nlat, nlon) [mol/s]
    """
    taken, left = entrainment_and_detrainment(updraught, up_detrainment)
    matrix = plume_matrix(updraught, taken, left)
    falling = downdraught[::-1]  # upside down, a downdraught is an updraught
    taken, left = entrainment_and_detrainment(falling, None if down_detrainment is None else down_detrainment[::-1])
    matrix += plume_matrix(falling, taken, left)[::-1, ::-1]
    matrix += sinking_matrix(updraught - downdraught)
    diagonal = np.arange(matrix.shape[0])
    matrix[diagonal, diagonal] = 0.0
    for k in diagonal:
        matrix[k, k] = -_sum(matrix[k])
    return matrix


def outflow_rate(matrix: Array, air: Array) -> Array:
    """Return the relative outflow of a layer, -M(k, k) / A(k) [1/s] (nz, nlat, nlon).

    Times the step it is a Courant number: mixing ratios of an explicit step are positive up to 1.

    reads  matrix (nz, nz, nlat, nlon) [mol/s];  air A (nz, nlat, nlon) [mol]
    """
    levels = np.arange(matrix.shape[0])
    return np.asarray(-matrix[levels, levels] / air)


def tendency(matrix: Array, mixing_ratio: Array) -> Array:
    """Return sum over k' of M(k, k') q(k') [mol/s] (..., nz, nlat, nlon) of mixing ratios of that shape."""
    return np.asarray(np.einsum("klji,...lji->...kji", matrix, mixing_ratio))


def _sum(values: Array) -> Array:
    """Return the sum over the first axis in fixed order, bitwise independent of the number of columns."""
    total = np.array(values[0])
    for value in values[1:]:
        total += value
    return total


class Convection(Process, section="convection", order=25):
    """Convective transport by clouds through many layers."""

    mass_flux = switch(False, "Whether the mass fluxes of updraughts and downdraughts in the meteorology are used.")
    updraught = weather("updraught_mass_flux", "kg m-2 s-1")
    downdraught = weather("downdraught_mass_flux", "kg m-2 s-1", optional=True)
    up_detrainment = weather("updraught_detrainment", "kg m-3 s-1", optional=True)
    down_detrainment = weather("downdraught_detrainment", "kg m-3 s-1", optional=True)

    def is_on(self) -> bool:
        """Return True if convection is on."""
        return bool(self.mass_flux)

    def idle_reason(self) -> str:
        """Return why convection has no effect: a single layer."""
        flat = self.mass_flux and self.context.whole.shape[0] == 1
        return "mass_flux has no effect in a single layer; leave it out" if flat else ""

    @at_instant("mol/s", "matrix", by_species=False)
    def brought(self, met: "MetState", seconds: float) -> Array:
        """Convective exchange of air between layers."""
        grid, up = self.context.grid, met.get("updraught_mass_flux")
        if up is None:
            raise DataError(
                "convection.mass_flux needs updraught_mass_flux [kg m-2 s-1], which the meteorology does not have; "
                "give atmosphere_updraft_convective_mass_flux in a Dataset, or leave convection off"
            )
        up, down = molar_flux(up, grid.cell_area), met.get("downdraught_mass_flux")
        down = 0.0 * up if down is None else molar_flux(down, grid.cell_area)
        rates = (met.get(name) for name in ("updraught_detrainment", "downdraught_detrainment"))
        left = [None if rate is None else layer_detrainment(rate, grid.cell_area, grid.thickness) for rate in rates]
        return column_matrix(up, down, *left)

    @acts_in_columns
    def carried(brought):
        """Convective transport."""
        return brought
