"""What emits in a case: vegetation, the inventory, gridded files, points and areas."""

import numpy as np
import numpy.typing as npt

from airshed.air.case import Case, sections
from airshed.air.emissions.area import AreaEmissions, AreaSource
from airshed.air.emissions.biogenic import BiogenicIsoprene
from airshed.air.emissions.builder import build_inventory
from airshed.air.emissions.gridded import GriddedEmissions
from airshed.air.emissions.point import PointEmissions, PointSource
from airshed.air.emissions.settings import InventorySettings
from airshed.air.emissions.source import MappedSource
from airshed.air.emissions.split import Split
from airshed.air.light import Light
from airshed.air.meteorology import Meteorology
from airshed.air.sources import BiogenicSource
from airshed.air.species_map import EmissionMap
from airshed.air.species_map.parts import ISOPRENE
from airshed.core.errors import CaseError
from airshed.core.units import Quantity
from airshed.grid import Grid
from airshed.mechanism.network import ReactionNetwork
from airshed.parallel.share import Share

Array = npt.NDArray[np.float64]


def vegetation_of(
    case: Case, grid: Grid, emissions: EmissionMap, air: Meteorology, light: Light, land: Array, share: Share
) -> tuple[BiogenicSource, ...]:
    """Return what vegetation emits in the columns of `grid`, which are held here: nothing, or one source."""
    if not (case.emissions.biogenic and emissions.of(ISOPRENE)):
        return ()
    isoprene = BiogenicIsoprene(grid, emissions.of(ISOPRENE))
    return (BiogenicSource(isoprene, air, light.cos_zenith, land, case.start, share.total_over_columns),)


def sources_of(
    case: Case, grid: Grid, network: ReactionNetwork, emissions: EmissionMap, split: Split
) -> tuple[MappedSource, ...]:
    """Return what else emits, in the whole area; raises CaseError or DataError for what does not fit."""
    settings, start, names = case.emissions, case.start, network.names
    sources: list[MappedSource] = []
    inventory = inventory_of(case)
    if inventory is not None and any(emissions.of(compound.name) for parts in split.values() for compound in parts):
        sources.append(build_inventory(inventory, grid, start, names, emissions))
    for path in case.files(settings.gridded, "emissions.gridded") if settings.gridded else ():
        sources.append(GriddedEmissions(path, grid, start, names))
    if settings.point:
        sources.append(PointEmissions([_point(point, network) for point in settings.point], grid))
    if settings.area:
        sources.append(AreaEmissions([_area(area, network) for area in settings.area], grid))
    return tuple(sources)


def inventory_of(case: Case) -> InventorySettings | None:
    """Return where the inventory is and for which year; None without one, CaseError where its folder is missing."""
    settings = case.emissions
    if settings.inventory is None:
        return None
    folder = case.path(settings.inventory)
    if not folder.is_dir():
        raise CaseError(f"emissions.inventory = {settings.inventory!r}: there is no such folder in {case.base}")
    year = case.time.start.year if settings.year is None else settings.year
    return InventorySettings(folder, year, scale=settings.scale)


def _point(point: sections.PointSource, network: ReactionNetwork) -> PointSource:
    """A point source of a case in mol/s."""
    rate = _amount("emissions.point", point.rate, point.species, network)
    return PointSource(point.species, point.lon, point.lat, point.height.value, rate)


def _area(area: sections.AreaSource, network: ReactionNetwork) -> AreaSource:
    """An area source of a case in mol/m2/s."""
    rates = {name: _amount("emissions.area", rate, name, network) for name, rate in area.rates.items()}
    return AreaSource(area.lon, area.lat, rates)


def _amount(where: str, rate: Quantity, name: str, network: ReactionNetwork) -> float:
    """An emission as an amount; one that is given as mass needs the composition of its species."""
    if not rate.unit.startswith("kg"):
        return rate.value
    species = network.species[network.index(name)]
    if species.molar_mass is None:
        raise CaseError(
            f"{where}: {rate.text!r} of {name} is a mass, but the mechanism does not tell the composition of the "
            f'species; give an amount, such as "1 {rate.unit.replace("kg", "mol")}"'
        )
    return rate.value / species.molar_mass
