"""The ground takes up gases and particles from the lowest layer: d(A q)/dt = -v a N q, velocity v [m/s] by a scheme.

The resistances behind v, their sources and the table of substances are in :mod:`airshed.models.air.deposition`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from airshed.core.units import Quantity
from airshed.models.air.case.sections import DepositionSection
from airshed.process import Process, at_instant, loss
from airshed.process.vertical import Array

if TYPE_CHECKING:
    from airshed.models.air.weather import MetState


class DryDeposition(Process, section="deposition", order=30, model=DepositionSection):
    """What the ground takes up."""

    scheme: str
    velocities: Mapping[str, Quantity]

    def prepare(self) -> None:
        """Look up how each species deposits."""
        from airshed.models.air.deposition import DryDeposition as Velocities
        from airshed.models.air.deposition import season

        place = self.place
        month = int(place.start.astype("datetime64[M]").astype(int)) % 12 + 1
        self.scheme_of_velocities = Velocities(
            place.species, scheme=self.scheme,
            velocities={name: value.value for name, value in self.velocities.items()},
            surrogates=place.about["deposition map"].surrogate, reference_height=float(place.whole.level[0]),
            season=season(month, float(place.whole.lat.mean())),
        )  # fmt: skip

    def is_on(self) -> bool:
        """Whether some species deposits."""
        return bool(self.species)

    @property
    def species(self) -> tuple[str, ...]:
        """Those that have a velocity."""
        return self.scheme_of_velocities.species

    @property
    def provenance(self) -> Mapping[str, str]:
        """Where each species has its velocity from."""
        return self.scheme_of_velocities.provenance

    @property
    def follows_the_sun(self) -> bool:
        """Whether velocities change between day and night in air that stays the same."""
        return self.scheme_of_velocities.follows_the_sun

    @at_instant("mol/s", "ground", by_species=True)
    def conductance(self, met: "MetState", seconds: float) -> Array:
        """Air that loses its content to the ground."""
        place = self.place
        height = place.sun_height(seconds)
        velocities = self.scheme_of_velocities.velocities(met, place.land_fraction, height)
        return np.asarray((velocities * (place.grid.cell_area * met.air_density[0]))[:, None])

    @loss(levels="ground", term="deposited")
    def deposited(conductance, air):
        """First-order loss of the lowest layer [1/s]."""
        return conductance / air
