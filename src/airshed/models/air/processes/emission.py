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
from airshed.process import Process, releases
from airshed.process.context import Source

if TYPE_CHECKING:
    from airshed.models.air.weather import Meteorology


class Emission(Process, section="emissions", order=25, model=EmissionsSection):
    """All that is emitted."""

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
        from airshed.models.air.sources import BiogenicSource
        from airshed.models.air.species_map.parts import ISOPRENE

        place = self.place
        taken = place.about["emission map"].of(ISOPRENE)
        if self.biogenic and taken:
            isoprene = BiogenicIsoprene(place.grid, taken)
            yield BiogenicSource(isoprene, weather, place.sun_height, place.land_fraction, place.start, place.total)

    def _inventory(self) -> Iterator[Source]:
        from airshed.models.air.emissions.builder import build_inventory

        place, split, taken = self.place, self.place.about["split"], self.place.about["emission map"]
        if any(taken.of(compound.name) for parts in split.values() for compound in parts):
            yield build_inventory(
                place.about["inventory"], place.whole, place.start, place.species, taken,
                apart=place.about["countries apart"],
            )  # fmt: skip

    def _gridded(self) -> Iterator[Source]:
        from airshed.models.air.emissions.gridded import GriddedEmissions

        place = self.place
        compounds = {compound.name for parts in place.about["split"].values() for compound in parts}
        for path in place.files(self.gridded, "emissions.gridded") if self.gridded else ():
            source = GriddedEmissions(
                path, place.whole, place.start, place.species, any_year=self.any_year, compounds=compounds
            )
            if source.species:
                yield source

    def _single(self) -> Iterator[Source]:
        from airshed.models.air.emissions.area import AreaEmissions, AreaSource
        from airshed.models.air.emissions.point import PointEmissions, PointSource, TimedEmissions

        grid = self.place.whole
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
        molar_mass = self.place.molar_masses[name]
        if molar_mass is None:
            raise CaseError(
                f"{where}: {rate.text!r} of {name} is a mass, but the mechanism does not tell the composition of the "
                f'species; give an amount, such as "1 {rate.unit.replace("kg", "mol")}"'
            )
        return rate.value / molar_mass
