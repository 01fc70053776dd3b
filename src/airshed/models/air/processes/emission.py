"""Emission from the ground and from chimneys: d(A q)/dt = E [mol/s].

E is the sum of an inventory of countries and cities, gridded files, stacks, point sources, area sources and
isoprene from vegetation, see :mod:`airshed.models.air.emissions`. It is constant in periods of at most an hour (UTC).
"""

from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airshed.core.errors import CaseError
from airshed.core.units import Quantity
from airshed.models.air.case.sections import EmissionsSection
from airshed.models.air.emissions import (
    AreaEmissions,
    AreaSource,
    GriddedEmissions,
    InventorySettings,
    PointEmissions,
    PointSource,
    StackEmissions,
    StackInput,
    build_inventory,
)
from airshed.models.air.emissions.biogenic import BiogenicEmissions
from airshed.models.air.emissions.split import split_of
from airshed.models.air.species_map.parts import ISOPRENE, EmissionMap
from airshed.process import Process, need, releases
from airshed.process.context import Source

if TYPE_CHECKING:
    from airshed.models.air.weather import Meteorology


class Emission(Process, section="emissions", order=25, model=EmissionsSection):
    """Emission of all sources."""

    emission_map = need(EmissionMap)
    inventory_settings = need(InventorySettings, optional=True)
    stack_input = need(StackInput, optional=True)
    inventory: Path | None
    biogenic: bool
    gridded: tuple[str, ...]
    climatology: bool
    point: tuple[Any, ...]
    stacks: tuple[Any, ...]
    scale: Mapping[str, float]
    area: tuple[Any, ...]

    def is_on(self) -> bool:
        """Return True if the case has a source."""
        return bool(
            self.inventory is not None or self.biogenic or self.gridded or self.point or self.stacks or self.area
        )

    @releases
    def emitted(self, weather: "Meteorology") -> Iterator[Source]:
        """Vegetation in the columns of this rank, and all other sources in the whole area."""
        context, becomes, settings = self.context, self.emission_map, self.inventory_settings
        grid, start, species = context.whole, context.start, context.species

        # vegetation
        isoprene = becomes.of(ISOPRENE)
        if self.biogenic and isoprene:
            yield BiogenicEmissions(
                isoprene, context.grid, weather, context.sun_height, context.land_fraction, start, context.total
            )

        # inventory, and gridded files, which may have the same compounds
        split = {} if settings is None else split_of(settings.split_file, settings.pollutants, becomes)
        compounds = {compound.name for parts in split.values() for compound in parts}
        if settings is not None and any(becomes.of(name) for name in compounds):
            yield build_inventory(settings, grid, start, species, becomes, apart=settings.countries_apart)
        for path in context.files(self.gridded, "emissions.gridded") if self.gridded else ():
            source = GriddedEmissions(path, grid, start, species, climatology=self.climatology, compounds=compounds)
            if source.species:
                yield source

        # stacks
        if self.stack_input is not None and settings is None:
            self.stack_input.check_scale(self.scale)
        for table in () if self.stack_input is None else self.stack_input.tables:
            parts = self.stack_input.parts(table, becomes, context.molar_masses)
            if parts:
                yield StackEmissions(
                    table, parts, grid, weather, start, profiles=self.stack_input.folder, scale=self.scale
                )

        # points and areas
        points = [
            (each.ends, PointSource(
                each.species, each.lon, each.lat, each.height.value,
                self._amount("emissions.point", each.rate, each.species),
            ))
            for each in self.point
        ]  # fmt: skip
        steady = [source for ends, source in points if ends == (-inf, inf)]
        yield from [PointEmissions(steady, grid)] if steady else []
        yield from (PointEmissions([source], grid, *ends) for ends, source in points if ends != (-inf, inf))
        areas = [
            AreaSource(
                each.lon, each.lat,
                {name: self._amount("emissions.area", rate, name) for name, rate in each.rates.items()},
            )
            for each in self.area
        ]  # fmt: skip
        yield from [AreaEmissions(areas, grid)] if areas else []

    def _amount(self, where: str, rate: Quantity, name: str) -> float:
        """Return an emission as an amount; one that is a mass requires the composition of the species."""
        if not rate.unit.startswith("kg"):
            return rate.value
        molar_mass = self.context.molar_masses[name]
        if molar_mass is None:
            raise CaseError(
                f"{where}: {rate.text!r} of {name} is a mass, but the mechanism does not give the composition of the "
                f'species; give an amount, such as "1 {rate.unit.replace("kg", "mol")}"'
            )
        return rate.value / molar_mass
