"""Dry deposition from the lowest layer: d(A q)/dt = -v a N q, with the velocity v [m/s] of a scheme.

v is a setting, constant over land and over sea, or follows from the resistances of air and surface to each substance.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from airshed.core.arrays import Array
from airshed.core.units import Quantity
from airshed.kernels.one_pass import one_pass
from airshed.models.air.case.sections import DepositionSection
from airshed.models.air.landcover import LAND_ROUGHNESS, sea_roughness
from airshed.models.air.light import global_radiation
from airshed.models.air.processes.dry_deposition import resistance
from airshed.models.air.species_map.parts import DepositingSpecies, DepositionMap, depositing_species, look_up
from airshed.process import Process, at_instant, loss, need

if TYPE_CHECKING:
    from airshed.models.air.weather import MetState


_NIGHT = 0.25


class DryDeposition(Process, section="deposition", order=30, model=DepositionSection):
    """Dry deposition to the ground."""

    substances = need(DepositionMap)
    scheme: str
    velocities: Mapping[str, Quantity]

    def prepare(self) -> None:
        """Find the deposition of each species."""
        context = self.context
        month = int(context.start.astype("datetime64[M]").astype(int)) % 12 + 1
        self.of_species = DepositionVelocities(
            context.species, self.substances.surrogate, scheme=self.scheme,
            given={name: value.value for name, value in self.velocities.items()},
            reference_height=float(context.whole.level[0]),
            season=resistance.season(month, float(context.whole.lat.mean())),
        )  # fmt: skip

    def is_on(self) -> bool:
        """Return True if a species deposits."""
        return bool(self.species)

    @property
    def species(self) -> tuple[str, ...]:
        """Depositing species."""
        return self.of_species.species

    @property
    def provenance(self) -> Mapping[str, str]:
        """Source of the velocity of each species."""
        return self.of_species.provenance

    @property
    def depends_on_sun(self) -> bool:
        """True if velocities differ between day and night in constant weather."""
        return self.of_species.depends_on_sun

    @at_instant("mol/s", "ground", by_species=True)
    def conductance(self, met: "MetState", seconds: float) -> Array:
        """Deposition conductance of the lowest layer."""
        context = self.context
        height = context.sun_height(seconds)
        velocities = self.of_species.velocities(met, context.land_fraction, height)
        return np.asarray((velocities * (context.grid.cell_area * met.air_density[0]))[:, None])

    @loss(levels="ground", term="deposited")
    def deposited(conductance, air):
        """First-order loss of the lowest layer [1/s]."""
        return conductance / air


class DepositionVelocities:
    """Deposition velocities of species.

    species     depositing species, in the order of the mechanism
    provenance  source of the velocity of each species
    """

    def __init__(
        self, species: Sequence[str], substances: Mapping[str, str], *, scheme: str = "resistance",
        given: Mapping[str, float] | None = None, reference_height: float = 10.0, season: str = "summer",
    ) -> None:  # fmt: skip
        """Find the numbers of the species.

        substances        {species: substance of the deposition table}
        scheme            "resistance" (turbulence, quasi-laminar layer, surface), "constant" (one velocity over land,
                          one over sea, a quarter of it at night), or "none" (only ``given``)
        given             {species: velocity} [m/s], constant, in place of the scheme; 0 for none
        reference_height  [m] of the mixing ratio of the lowest layer: its middle
        season            one of :data:`resistance.SEASONS`
        """
        given = given or {}

        def find(name: str) -> DepositingSpecies | None:
            entry = depositing_species().get(name.casefold())
            without = entry is None or scheme == "none" or (scheme == "constant" and entry.constant is None)
            return None if without else entry

        table, self.provenance = look_up(species, substances, find, given, (scheme, "m/s"))
        self.species = tuple(self.provenance)
        kinds = resistance.surfaces(season)
        water = kinds[resistance.WATER]
        self._over_land = _velocity_over(tuple(kind for kind in kinds.values() if kind is not water))
        self._over_sea = _velocity_over((water,))
        self._scheme, self._height = scheme, reference_height
        self._given = {row: given[name] for row, name in enumerate(self.species) if name in given}
        self._tabled = {row: table[name] for row, name in enumerate(self.species) if name in table}
        entries = list(self._tabled.values())
        self._particles, self._gases = (
            [row for row, entry in enumerate(entries) if entry.particle is particle] for particle in (True, False)
        )
        gases = [[entry.mass, entry.henry, entry.reactivity] for entry in entries if not entry.particle]
        self._properties = np.array(gases).reshape(-1, 3).T[..., None].copy()  # each (n, 1)

    @property
    def depends_on_sun(self) -> bool:
        """True if velocities differ between day and night in constant weather: all except the given ones."""
        return bool(self._tabled)

    def velocities(self, met: "MetState", land_fraction: Array, cos_zenith: Array) -> Array:
        """Return the deposition velocities: means over land and sea of a cell, weighted by area.

        reads    friction_velocity, obukhov_length, surface_temperature, cloud_cover of ``met``;
                 land_fraction [1], cos_zenith [1]: (nlat, nlon)
        returns  (len(species), nlat, nlon) [m/s]
        """
        velocity = np.empty((len(self.species), *land_fraction.shape))
        for row, value in self._given.items():
            velocity[row] = value
        if self._scheme == "constant":
            by_day = np.where(cos_zenith > 0.0, 1.0, _NIGHT)
            for row, entry in self._tabled.items():
                land, sea = entry.constant or (0.0, 0.0)
                velocity[row] = by_day * (land_fraction * land + (1.0 - land_fraction) * sea)
        elif self._tabled:
            light = global_radiation(cos_zenith, met.cloud_cover)
            air = met.friction_velocity, met.obukhov_length, met.surface_temperature, light
            total = np.zeros((len(self._tabled), land_fraction.size))
            for over, share in ((self._over_land, land_fraction), (self._over_sea, 1.0 - land_fraction)):
                cells = np.flatnonzero(share)
                here = [field.take(cells) for field in air]
                rough = sea_roughness(here[0]) if over is self._over_sea else np.full(cells.shape, LAND_ROUGHNESS)
                total[:, cells] += share.take(cells) * self._through_all(over, rough, *here)
            velocity[list(self._tabled)] = total.reshape(-1, *land_fraction.shape)
        return velocity

    def _through_all(
        self, over: Callable[..., Array], roughness: Array, friction: Array, obukhov: Array, temperature: Array,
        light: Array,
    ) -> Array:  # fmt: skip
        """Return velocities (species of the table, cell) [m/s] over the surfaces of land or sea.

        Friction velocity [m/s], Obukhov length [m], temperature [K] and light [W/m2] are those of the cells.
        """
        turbulent = resistance.aerodynamic(self._height, roughness, friction, obukhov)
        weather = resistance.surface_weather(light, temperature)
        velocity = np.empty((len(self._tabled), *roughness.shape))
        velocity[self._particles] = resistance.fine_particles(friction, obukhov, turbulent)
        way_down = turbulent + resistance.quasi_laminar(self._properties[0], friction)
        velocity[self._gases] = over(way_down, *self._properties, *weather)
        return velocity


@cache
def _velocity_over(kinds: tuple[resistance.Surface, ...]) -> Callable[..., Array]:
    """Return the formula of velocities (n, cell) [m/s] of gases over surface types, weighted by their fractions.

    Its arguments are way_down, the resistance of the air (n, cell) [s/m]; mass, henry and reactivity of the gases
    (n, 1); and the weather of the surface (cell,).
    """

    def velocity(
        way_down: Array, mass: Array, henry: Array, reactivity: Array, openness: Array, cold: Array, down: Array
    ) -> Array:
        uptakes = (resistance.surface(kind, mass, henry, reactivity, openness, cold, down) for kind in kinds)
        of_kinds = [kind.share / (way_down + uptake) for kind, uptake in zip(kinds, uptakes, strict=True)]
        return sum(of_kinds[1:], start=of_kinds[0])

    return one_pass(velocity)
