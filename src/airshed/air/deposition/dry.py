"""Dry deposition velocities of a mechanism's species."""

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from airshed.air.deposition import resistance
from airshed.air.deposition.tables import SEASONS, WATER, DepositingSpecies, Surface, depositing_species, surfaces
from airshed.air.landcover import LAND_ROUGHNESS, sea_roughness
from airshed.air.meteorology import MetState
from airshed.air.radiation import global_radiation
from airshed.core.errors import CaseError
from airshed.core.nearest import suggestion

Array = NDArray[np.float64]

SCHEMES = ("resistance", "constant", "none")

_NIGHT = 0.25


class DryDeposition:
    """Velocities at which species leave the lowest layer to the ground.

    ``species`` are those that deposit, in the mechanism's order; ``provenance`` tells where each has its velocity from.
    """

    def __init__(
        self,
        species: Sequence[str],
        *,
        scheme: str = "resistance",
        velocities: Mapping[str, float] | None = None,
        surrogates: Mapping[str, str] | None = None,
        reference_height: float = 10.0,
        season: str = "summer",
    ) -> None:
        """Choose the scheme and the species.

        species           the mechanism's
        scheme            "resistance" (turbulence, still air, surface), "constant" (one velocity over land, one over
                          sea, a quarter of it at night), or "none" (only what ``velocities`` gives)
        velocities        {species: velocity} [m/s], always and everywhere, in place of the scheme's; 0 for none
        surrogates        {species: substance of the table as which it deposits}; without it each species is looked up
                          by its own name, in upper and lower case alike, and by usual other names
        reference_height  [m] at which the mixing ratio of the lowest layer holds: its middle
        season            one of SEASONS: see :func:`airshed.air.deposition.season`
        raises            CaseError for a scheme, season, species or substance that is not there, and for a velocity
                          below 0
        """
        for name, value, known in (("scheme", scheme, SCHEMES), ("season", season, SEASONS)):
            if value not in known:
                raise CaseError(f"deposition.{name} = {value!r} is not known; {suggestion(value, known)}")
        given = _checked(velocities or {}, species)
        substances = {name: name for name in species} if surrogates is None else _substances(surrogates)
        table = {
            name: entry
            for name in species
            if name not in given and name in substances and (entry := _entry(substances[name], scheme))
        }
        self.species = tuple(name for name in species if name in table or given.get(name, 0.0) > 0.0)
        self.provenance = {
            name: f"given: {given[name]:g} m/s" if name in given else f"{scheme}: {_origin(name, table[name])}"
            for name in self.species
        }
        kinds = surfaces(season)
        self._land = tuple(kind for name, kind in kinds.items() if name != WATER)
        self._sea = (kinds[WATER],)
        self._scheme, self._height = scheme, reference_height
        self._given = {row: given[name] for row, name in enumerate(self.species) if name in given}
        self._tabled = {row: table[name] for row, name in enumerate(self.species) if name in table}

    @property
    def follows_the_sun(self) -> bool:
        """Whether some velocities change between day and night in air that stays the same: all but the given ones."""
        return bool(self._tabled)

    def velocities(self, met: MetState, land_fraction: Array, cos_zenith: Array) -> Array:
        """Return the deposition velocities: those of the land and the sea of a cell, weighted by area.

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
            roughness = np.full(land_fraction.shape, LAND_ROUGHNESS)
            over_land = self._over(self._land, roughness, met, cos_zenith)
            over_sea = self._over(self._sea, sea_roughness(met.friction_velocity), met, cos_zenith)
            velocity[list(self._tabled)] = land_fraction * over_land + (1.0 - land_fraction) * over_sea
        return velocity

    def _over(self, kinds: Sequence[Surface], roughness: Array, met: MetState, cos_zenith: Array) -> Array:
        """Return velocities (tabled species, nlat, nlon) [m/s] over kinds of surface, weighted by their shares."""
        turbulent = resistance.aerodynamic(self._height, roughness, met.friction_velocity, met.obukhov_length)
        gases = [entry for entry in self._tabled.values() if not entry.particle]
        mass, henry, reactivity = (
            np.array([getattr(entry, name) for entry in gases]).reshape(-1, 1, 1)
            for name in ("mass", "henry", "reactivity")
        )
        air = turbulent + resistance.quasi_laminar(mass, met.friction_velocity)
        light = global_radiation(cos_zenith, met.cloud_cover)
        of_gases = np.zeros(air.shape)
        for kind in kinds:
            uptake = resistance.surface(kind, mass, henry, reactivity, light, met.surface_temperature)
            of_gases += kind.share / (air + uptake)
        of_particles = resistance.fine_particles(met.friction_velocity, met.obukhov_length, turbulent)
        gas = iter(of_gases)
        return np.array([of_particles if entry.particle else next(gas) for entry in self._tabled.values()])


def _substances(surrogates: Mapping[str, str]) -> Mapping[str, str]:
    for name, substance in surrogates.items():
        if substance.casefold() not in depositing_species():
            known = [entry.name for entry in depositing_species().values()]
            raise CaseError(
                f"{name} is to deposit as {substance!r}, which is not in the deposition table; "
                f"{suggestion(substance, known)}"
            )
    return surrogates


def _origin(name: str, entry: DepositingSpecies) -> str:
    """Where the properties come from, and of what substance they are if it is another one."""
    return entry.source if entry.name.casefold() == name.casefold() else f"as {entry.name}, {entry.source}"


def _entry(name: str, scheme: str) -> DepositingSpecies | None:
    """Return the table's entry for a species where the scheme has a velocity for it."""
    entry = depositing_species().get(name.casefold())
    if entry is None or scheme == "none" or (scheme == "constant" and entry.constant is None):
        return None
    return entry


def _checked(velocities: Mapping[str, float], species: Sequence[str]) -> dict[str, float]:
    for name, velocity in velocities.items():
        if name not in species:
            raise CaseError(
                f"deposition.velocities: {name!r} is no species of the mechanism; {suggestion(name, species)}"
            )
        if not isfinite(velocity) or velocity < 0.0:
            raise CaseError(f"deposition.velocities.{name} = {velocity:g} m/s: give a velocity that is not negative")
    return dict(velocities)
