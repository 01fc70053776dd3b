"""From a case to the parts of the air-quality model: one function for each section of the case."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import xarray as xr

from airshed.air.attribution import data_attributes
from airshed.air.boundary import ZERO, BoundaryProfiles, initial_from_dataset
from airshed.air.case import Case, check_species, sections
from airshed.air.deposition import DryDeposition, season
from airshed.air.emissions.area import AreaEmissions, AreaSource
from airshed.air.emissions.biogenic import BiogenicIsoprene
from airshed.air.emissions.builder import build_inventory
from airshed.air.emissions.gridded import GriddedEmissions
from airshed.air.emissions.kept import kept_notes
from airshed.air.emissions.point import PointEmissions, PointSource
from airshed.air.emissions.settings import InventorySettings
from airshed.air.emissions.source import EmissionSource, MappedSource
from airshed.air.emissions.split import Split, split_of
from airshed.air.landcover import LAND_FRACTION_SOURCE, land_fraction
from airshed.air.light import Light
from airshed.air.meteorology import Meteorology, RepeatedDay
from airshed.air.meteorology.daily_mixing import DailyMixing
from airshed.air.meteorology.dataset import DatasetMeteorology
from airshed.air.meteorology.function import CallableMeteorology
from airshed.air.meteorology.uniform import uniform_meteorology
from airshed.air.meteorology.wrapped import OneAtATime, WindowOf
from airshed.air.sources import BiogenicSource
from airshed.air.species_map import (
    EmissionMap,
    Needs,
    SpeciesMap,
    find_species_map,
    fit,
    left_out,
    translated,
    without_air,
)
from airshed.air.species_map.parts import ISOPRENE
from airshed.air.species_map.rates import bind_rates
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import CaseError, DataError
from airshed.core.nearest import suggestion
from airshed.core.units import Quantity
from airshed.grid import Grid
from airshed.io.netcdf import load_netcdf
from airshed.kernels.pipeline import WIDTH
from airshed.mechanism import load_mechanism
from airshed.mechanism.network import ReactionNetwork
from airshed.parallel.communicator import Communicator
from airshed.parallel.share import Share

Array = npt.NDArray[np.float64]
Given = xr.Dataset | Callable[[float], xr.Dataset] | Meteorology | None


@dataclass
class Parts:
    """What a case is made of, before anything is compiled or computed.

    whole       the grid of the case;  share  this rank's part of it;  grid  the columns that are held here
    sources     what emits in the whole area;  own_sources  the same here
    attributes  what results must say of the input, see ``attribution``
    notes       part of the model, and what there is to say of it
    """

    case: Case
    whole: Grid
    share: Share
    grid: Grid
    network: ReactionNetwork
    land: Array
    meteorology: OneAtATime
    light: Light
    deposition: DryDeposition
    boundary: BoundaryProfiles
    sources: tuple[EmissionSource, ...]
    own_sources: tuple[EmissionSource, ...]
    attributes: Mapping[str, str]
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def start(self) -> np.datetime64:
        """The start of the case, UTC."""
        return start_of(self.case)

    @property
    def begin(self) -> float:
        """The first moment of the simulation [s since the start], negative by the spin-up."""
        return 0.0 - self.case.time.spinup.value

    @property
    def sunlit_until(self) -> float | None:
        """Up to when deposition or rates follow the sun [s], so that they change each hour; None where they do not."""
        follows = self.deposition.follows_the_sun or bool(self.network.parameters)
        return self.case.time.length.value if follows else None


def start_of(case: Case) -> np.datetime64:
    """Return the start of a case as UTC without time zone."""
    return np.datetime64(case.time.start.replace(tzinfo=None), "s")


def assemble(case: Case, meteorology: Given = None, ranks: Communicator | None = None) -> Parts:
    """Return the parts of a case; raises CaseError, DataError or MechanismError for what does not fit."""
    whole, network = case.make_grid(), load_mechanism(case.mechanism)
    tiles = None if case.parallel.tiles == "auto" else case.parallel.tiles
    share = Share.of(*whole.shape[1:], WIDTH, ranks, tiles)
    grid = whole if share.alone else whole.part(share.window)
    species_map = find_species_map(case.chemistry.species_map, case.mechanism, network.name, case.base)
    network = without_air(network, species_map)
    names = network.names
    without = left_out(case, species_map, names)
    case = translated(case, species_map, names)
    inventory = _inventory_settings(case)
    split = {} if inventory is None else split_of(inventory.split_file, inventory.pollutants, species_map.emissions)
    # A map that is missing is the cause of names that are: it is told first.
    species_map = fit(species_map, network, _needs(case, names, split), case.mechanism)
    check_species(case, names)
    network = bind_rates(network, species_map.rates, species_map.source)
    all_land = land_fraction(whole)
    land = np.ascontiguousarray(share.window.of(all_land))
    air = OneAtATime(_meteorology(case, whole, share, all_land, meteorology))
    attributes = data_attributes(case, era5=meteorology is None and case.meteorology.kind == "era5")
    light = Light(grid.lon, grid.lat[:, None], case.time.start, clouds=case.photolysis.cloud)
    notes = [("surface", f"land and sea: {LAND_FRACTION_SOURCE}")]
    notes += [("mechanism", species_map.caution)] if species_map.caution else []
    notes += [("mechanism", f"no species for {', '.join(without)}, which the case names: left out")] if without else []
    notes += [("emission", note) for note in kept_notes(split, species_map.emissions, network)]
    sources = _sources(case, whole, network, species_map.emissions, split)
    own = sources if share.alone else tuple(source.part(share.window) for source in sources)
    vegetation = _vegetation(case, grid, species_map.emissions, air, light, land, share)
    return Parts(
        case, whole, share, grid, network, land, air, light, _deposition(case, whole, names, species_map),
        _boundary(case, names, species_map), (*vegetation, *sources), (*vegetation, *own), attributes, notes,
    )  # fmt: skip


def initial_state(parts: Parts, pressure: Array, given: xr.Dataset | None = None) -> Array:
    """Return the initial mixing ratios (species, level, lat, lon) [mol/mol]: profiles, the case's, then `given`."""
    case, names = parts.case, parts.network.names
    state = parts.boundary.initial(pressure)
    for name, value in case.initial.values.items():
        if name not in names:
            raise CaseError(f"initial.values: {name!r} is no species of the mechanism; {suggestion(name, names)}")
        state[names.index(name)] = value.value
    if case.initial.file is not None:
        path = case.path(case.initial.file)
        if not path.is_file():
            raise CaseError(f"initial.file = {case.initial.file!r}: there is no such file in {case.base}")
        state = _from_dataset(parts, load_netcdf(path), state)
    if given is not None and not isinstance(given, xr.Dataset):
        raise CaseError(
            f"the initial state is a {type(given).__name__}; give an xarray.Dataset with a variable per species"
        )
    return state if given is None else _from_dataset(parts, given, state)


def _from_dataset(parts: Parts, dataset: xr.Dataset, state: Array) -> Array:
    """The state of the columns held here, from a dataset of the whole area."""
    names = parts.network.names
    if parts.share.alone:
        return initial_from_dataset(dataset, names, parts.grid, state)
    there = np.full((len(names), *parts.whole.shape), np.nan)
    whole = parts.share.window.of(initial_from_dataset(dataset, names, parts.whole, there))
    return np.where(np.isnan(whole), state, whole)


def _meteorology(case: Case, grid: Grid, share: Share, land: Array, given: Given) -> Meteorology:
    """The air over the columns held here, of a case on the whole `grid`."""
    base = _of_window(case, grid, share, land, given)
    days = int(np.ceil(case.time.spinup.value / SECONDS_PER_DAY))
    return RepeatedDay(base, days) if days and len(base.times) > 1 else base


def _of_window(case: Case, grid: Grid, share: Share, land: Array, given: Given) -> Meteorology:
    start, settings, window = start_of(case), case.meteorology, None if share.alone else share.window
    if isinstance(given, xr.Dataset):
        dataset = DatasetMeteorology(given, grid, start, land_fraction=land, window=window)
        _check_end(dataset, case.time.length.value)
        return dataset
    if callable(given):
        first, last = 0.0 - case.time.spinup.value, case.time.length.value
        every = min(3600.0, last / 24.0) if settings.every == "auto" else settings.every.value
        return CallableMeteorology(given, grid, start, every, first=first, last=last, land_fraction=land, window=window)
    if given is not None:
        if not (hasattr(given, "at") and hasattr(given, "times")):
            raise CaseError(
                f"the meteorology is a {type(given).__name__}; give an xarray.Dataset with CF names such as "
                "eastward_wind, or a function that takes seconds and returns one"
            )
        return given if window is None else WindowOf(given, window, grid)
    if settings.kind == "era5":
        from airshed.air.meteorology.era5 import Era5Meteorology
        from airshed.air.meteorology.era5_data import open_part

        files, length = case.files(settings.files, "meteorology.files"), case.time.length.value
        windows = [tile.window for tile in share.decomposition.tiles()]
        data = open_part(files, grid, start, length, windows, share.ranks, case.parallel.input)
        return Era5Meteorology(data, grid, start, length=length, land_fraction=land, window=window)
    if settings.kind == "uniform":
        steady = uniform_meteorology(settings, grid, start, land, window)
        return _with_daily_mixing(case, grid if window is None else grid.part(window), steady)
    raise CaseError(
        "this case waits for its meteorology: give it to Simulation(case, meteorology=...), or set "
        'meteorology.kind to "era5" or "uniform"'
    )


def _with_daily_mixing(case: Case, grid: Grid, steady: Meteorology) -> Meteorology:
    """Steady air with the mixing by the sun that a case asks for, as long as it lasts, a whole day with a spin-up."""
    settings = case.meteorology
    if settings.daily_mixing.value == 0.0:
        return steady
    light = Light(grid.lon, grid.lat[:, None], case.time.start, clouds=False)
    last = max(case.time.length.value, SECONDS_PER_DAY if case.time.spinup.value > 0.0 else 0.0)
    depth, largest = settings.mixed_layer.value, settings.daily_mixing.value
    return DailyMixing(steady, grid, light, depth=depth, largest=largest, last=last)


def _check_end(meteorology: Meteorology, length: float) -> None:
    """Raise DataError where data ends more than an interval before the case; for one the last state is held."""
    times = meteorology.times
    if len(times) > 1 and 2.0 * times[-1] - times[-2] < length - 1.0:
        raise DataError(
            f"the meteorology ends {times[-1]:g} s after the start, the case lasts {length:g} s; give data to its end, "
            "or shorten time.length"
        )


def _needs(case: Case, names: tuple[str, ...], split: Split) -> Needs:
    """What the case asks the species map for: a section that nothing is made from may be empty."""
    compounds = {compound.name: pollutant for pollutant, parts in split.items() for compound in parts}
    if case.emissions.biogenic:
        compounds.setdefault(ISOPRENE, "vegetation")
    given, fixed = case.boundary, case.deposition
    return Needs(
        compounds,
        boundary=() if given.profiles == ZERO else tuple(name for name in names if name not in given.values),
        deposition=() if fixed.scheme == "none" else tuple(name for name in names if name not in fixed.velocities),
    )


def _deposition(case: Case, grid: Grid, names: tuple[str, ...], species_map: SpeciesMap) -> DryDeposition:
    month = case.time.start.month
    return DryDeposition(
        names, scheme=case.deposition.scheme,
        velocities={name: value.value for name, value in case.deposition.velocities.items()},
        surrogates=species_map.deposition.surrogate,
        reference_height=float(grid.level[0]), season=season(month, float(grid.lat.mean())),
    )  # fmt: skip


def _boundary(case: Case, names: tuple[str, ...], species_map: SpeciesMap) -> BoundaryProfiles:
    settings = case.boundary
    return BoundaryProfiles(
        names, profile=_name_or_path(case, settings.profiles), species_map=species_map.boundary,
        scale=settings.scale, values={name: value.value for name, value in settings.values.items()},
    )  # fmt: skip


def _name_or_path(case: Case, name: str) -> str | Path:
    """A shipped thing has a plain name; whatever ends in a suffix or lies in a folder is a file of the case."""
    return case.path(name) if Path(name).suffix or len(Path(name).parts) > 1 else name


def _vegetation(
    case: Case, grid: Grid, emissions: EmissionMap, air: Meteorology, light: Light, land: Array, share: Share
) -> tuple[BiogenicSource, ...]:
    """What vegetation emits in the columns held here."""
    if not (case.emissions.biogenic and emissions.of(ISOPRENE)):
        return ()
    isoprene = BiogenicIsoprene(grid, emissions.of(ISOPRENE))
    return (BiogenicSource(isoprene, air, light.cos_zenith, land, start_of(case), share.total_over_columns),)


def _sources(
    case: Case, grid: Grid, network: ReactionNetwork, emissions: EmissionMap, split: Split
) -> tuple[MappedSource, ...]:
    """What else emits, in the whole area."""
    settings, start, names = case.emissions, start_of(case), network.names
    sources: list[MappedSource] = []
    inventory = _inventory_settings(case)
    if inventory is not None and any(emissions.of(compound.name) for parts in split.values() for compound in parts):
        sources.append(build_inventory(inventory, grid, start, names, emissions))
    for path in case.files(settings.gridded, "emissions.gridded") if settings.gridded else ():
        sources.append(GriddedEmissions(path, grid, start, names))
    if settings.point:
        sources.append(PointEmissions([_point(point, network) for point in settings.point], grid))
    if settings.area:
        sources.append(AreaEmissions([_area(area, network) for area in settings.area], grid))
    return tuple(sources)


def _inventory_settings(case: Case) -> InventorySettings | None:
    settings = case.emissions
    if settings.inventory is None:
        return None
    folder = case.path(settings.inventory)
    if not folder.is_dir():
        raise CaseError(f"emissions.inventory = {settings.inventory!r}: there is no such folder in {case.base}")
    return InventorySettings(folder, settings.year or case.time.start.year, scale=settings.scale)


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
