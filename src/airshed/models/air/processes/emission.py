"""What enters the air at the ground and from chimneys: d(A q)/dt = E [mol/s].

E is the sum of an inventory of countries and cities, gridded files, points, areas and the isoprene of vegetation, see
:mod:`airshed.models.air.emissions`. It is constant in each period of at most an hour (UTC).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airshed.core.errors import CaseError
from airshed.core.units import Quantity
from airshed.models.air.case.sections import EmissionsSection
from airshed.models.air.emissions.split import split_of
from airshed.models.air.emissions.totals import InventorySettings
from airshed.models.air.species_map.parts import ISOPRENE, EmissionMap
from airshed.process import Process, need, releases
from airshed.process.context import Source

if TYPE_CHECKING:
    from airshed.models.air.weather import Meteorology


class Emission(Process, section="emissions", order=25, model=EmissionsSection):
    """All that is emitted."""

    emission_map = need(EmissionMap)
    inventory_settings = need(InventorySettings, optional=True)
    inventory: Path | None
    biogenic: bool
    gridded: tuple[str, ...]
    any_year: bool
    point: tuple[Any, ...]
    area: tuple[Any, ...]

    def is_on(self) -> bool:
        """Whether the case names something that emits."""
        return bool(self.inventory is not None or self.biogenic or self.gridded or self.point or self.area)

    @releases
    def emitted(self, weather: "Meteorology") -> Iterator[Source]:
        """Vegetation in the columns held here, and the other sources in the whole area."""
        yield from self._vegetation(weather)
        yield from self._inventory()
        yield from self._gridded()
        yield from self._single()

    def _vegetation(self, weather: "Meteorology") -> Iterator[Source]:
        from airshed.models.air.emissions.biogenic import BiogenicIsoprene
        from airshed.models.air.emissions.packed import BiogenicSource

        context = self.context
        taken = self.emission_map.of(ISOPRENE)
        if self.biogenic and taken:
            isoprene = BiogenicIsoprene(context.grid, taken)
            yield BiogenicSource(
                isoprene, weather, context.sun_height, context.land_fraction, context.start, context.total
            )

    def _inventory(self) -> Iterator[Source]:
        from airshed.models.air.emissions.builder import build_inventory

        context, settings, taken = self.context, self.inventory_settings, self.emission_map
        if settings is not None and any(taken.of(name) for name in self._compounds()):
            yield build_inventory(
                settings, context.whole, context.start, context.species, taken, apart=settings.countries_apart
            )

    def _compounds(self) -> set[str]:
        """Return the compounds that the inventory's pollutants consist of."""
        settings = self.inventory_settings
        if settings is None:
            return set()
        split = split_of(settings.split_file, settings.pollutants, self.emission_map)
        return {compound.name for parts in split.values() for compound in parts}

    def _gridded(self) -> Iterator[Source]:
        from airshed.models.air.emissions.gridded import GriddedEmissions

        context = self.context
        compounds = self._compounds()
        for path in context.files(self.gridded, "emissions.gridded") if self.gridded else ():
            source = GriddedEmissions(
                path, context.whole, context.start, context.species, any_year=self.any_year, compounds=compounds
            )
            if source.species:
                yield source

    def _single(self) -> Iterator[Source]:
        from airshed.models.air.emissions.sources import (
            AreaEmissions,
            AreaSource,
            PointEmissions,
            PointSource,
            TimedEmissions,
        )

        grid = self.context.whole
        steady, timed = [], []
        for each in self.point:
            rate = self._amount("emissions.point", each.rate, each.species)
            source = PointSource(each.species, each.lon, each.lat, each.height.value, rate)
            if each.begin is None and each.duration is None:
                steady.append(source)
            else:
                timed.append(TimedEmissions(PointEmissions([source], grid), *each.ends))
        areas = [AreaSource(each.lon, each.lat, self._fluxes(each.rates)) for each in self.area]
        yield from [PointEmissions(steady, grid)] if steady else []
        yield from timed
        yield from [AreaEmissions(areas, grid)] if areas else []

    def _fluxes(self, rates: Mapping[str, Quantity]) -> dict[str, float]:
        return {name: self._amount("emissions.area", rate, name) for name, rate in rates.items()}

    def _amount(self, where: str, rate: Quantity, name: str) -> float:
        """An emission as an amount; one that is given as mass needs the composition of its species."""
        if not rate.unit.startswith("kg"):
            return rate.value
        molar_mass = self.context.molar_masses[name]
        if molar_mass is None:
            raise CaseError(
                f"{where}: {rate.text!r} of {name} is a mass, but the mechanism does not tell the composition of the "
                f'species; give an amount, such as "1 {rate.unit.replace("kg", "mol")}"'
            )
        return rate.value / molar_mass
