"""Vertical turbulent mixing: d(A q)/dt = E_up (q_above - q) + E_down (q_below - q), E = rho_f K a / dz.

Second order, symmetric, implicit: it conserves each species and uniform mixing ratios. K [m2/s] is the turbulent
diffusivity of the meteorology.
"""

from typing import TYPE_CHECKING

from airshed.core.arrays import Array
from airshed.models.air.case.sections import TransportSection
from airshed.process import Process, at_instant, exchange
from airshed.process.vertical import turbulent_exchange

if TYPE_CHECKING:
    from airshed.models.air.weather import MetState


class VerticalMixing(Process, section="transport", order=20, model=TransportSection):
    """Turbulent exchange between layers."""

    diffusion: bool

    def is_on(self) -> bool:
        """Return True if vertical mixing is on."""
        return self.diffusion

    @at_instant("mol/s", "cells", by_species=False)
    def mixed_air(self, met: "MetState", seconds: float) -> Array:
        """Turbulent exchange of air through the upper face of each cell."""
        grid = self.context.grid
        return turbulent_exchange(met.air_density, met.diffusivity, grid.cell_area, grid.thickness)

    @exchange
    def mixing(mixed_air):
        """Vertical turbulent exchange."""
        return mixed_air
