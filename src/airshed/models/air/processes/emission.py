"""Emission from the ground and from chimneys: d(A q)/dt = E [mol/s].

E is the sum of an inventory of countries and cities, gridded files, stacks, point sources, area sources and
isoprene from vegetation, see :mod:`airshed.models.air.emissions`. It is constant in periods of at most an hour (UTC).
"""

from collections.abc import Collection, Iterator, Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airshed.core.errors import CaseError
from airshed.core.files import resource
from airshed.core.units import Quantity
from airshed.models.air.case.gridded import GriddedSection
from airshed.models.air.case.sections import EmissionsSection
from airshed.models.air.emissions import (
    AreaEmissions,
    AreaSource,
    FieldSettings,
    GriddedContext,
    GriddedEmissions,
    InventorySettings,
    PointEmissions,
    PointSource,
    StackEmissions,
    StackInput,
    build_inventory,
    read_gridded,
    replaced,
)
from airshed.models.air.emissions.biogenic import BiogenicEmissions
from airshed.models.air.emissions.gridded import SHIPPED_TABLES, check_scale
from airshed.models.air.emissions.places import CellPlaces
from airshed.models.air.emissions.split import read_split, split_of
from airshed.models.air.emissions.targets import Targets
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
    gridded: tuple[Any, ...]
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
        yield from self._gridded(compounds)

        # stacks
        if self.stack_input is not None and settings is None and not self.gridded:
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

    def _gridded(self, compounds: Collection[str]) -> list[GriddedEmissions]:
        """Return the emission of gridded files; ``compounds`` are those of the inventory."""
        if not self.gridded:
            return []
        context, settings = self.context, self.inventory_settings
        folder = None if settings is None else settings.folder
        split_file = (folder or resource(SHIPPED_TABLES)) / "species_split.csv"
        split = {**read_split(split_file), **self.emission_map.split}
        targets = Targets(context.species, context.molar_masses, self.emission_map, split, compounds)
        own = GriddedContext(targets, context.length, folder, self.scale)
        places = CellPlaces(context.whole, own.tables, int(str(context.start)[:4]))
        found = []
        for number, each in enumerate(self.gridded):
            files = context.files(each.files, f"emissions.gridded.{number}.files")
            given = field_settings(each)
            found.append((given, read_gridded(files, context.whole, context.start, given, own, places=places)))
        sources = replaced(found)
        if settings is None:
            tables = () if self.stack_input is None else self.stack_input.tables
            check_scale(self.scale, sources, [name for each in tables for name in (*each.sectors, *each.rates)])
        elif any(given.overlap == "replace" for given, _ in found):
            raise CaseError(
                'emissions.gridded: overlap = "replace" acts on other files, not on emissions.inventory; set '
                "emissions.scale to 0 for the pollutants or sectors of the inventory that the files bring"
            )
        return sources

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


def field_settings(section: GriddedSection) -> FieldSettings:
    """Return the settings of files of gridded emission in a case."""
    return FieldSettings(
        section.variables, section.species, section.sectors, "" if section.per == "file" else section.per,
        section.basis, [each.value for each in section.levels], section.year,
        "" if section.repeat == "none" else section.repeat, section.scale, section.countries, section.overlap,
        section.missing, section.missing_values, section.negative, section.partial, section.profiles,
    )  # fmt: skip
