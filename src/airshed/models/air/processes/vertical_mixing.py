"""Turbulence mixes species vertically: d(A q)/dt = E_up (q_above - q) + E_down (q_below - q), E = rho_f K a / dz.

Second order, symmetric, implicit: it conserves each species and leaves what is uniform as it is. K [m2/s] is the
turbulent diffusivity of the meteorology.
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
        """Whether turbulence is to act."""
        return self.diffusion

    @at_instant("mol/s", "cells", by_species=False)
    def mixed_air(self, met: "MetState", seconds: float) -> Array:
        """Air that turbulence exchanges through the upper face of each cell."""
        grid = self.context.grid
        return turbulent_exchange(met.air_density, met.diffusivity, grid.cell_area, grid.thickness)

    @exchange
    def mixing(mixed_air):
        """All that is exchanged."""
        return mixed_air
