"""Assembly of the parts of the air-quality model from a case: one function for each section of the case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.case.process_files import RequestedProcess, check_weather_unit, processes_of_files
from airshed.core.arrays import Array
from airshed.core.data import is_dataset
from airshed.core.errors import CaseError, DataError
from airshed.core.fields import FieldRegistry, FieldSpec
from airshed.core.files import note_input, resource
from airshed.core.stages import begin_stage
from airshed.core.text import printable, suggestion
from airshed.grid import Grid
from airshed.io.cf import reserved_names
from airshed.io.netcdf import load_netcdf
from airshed.kernels.backend import Backend, StepKernel, backend
from airshed.mechanism.network import ReactionNetwork, Species
from airshed.mechanism.rate_check import RateCheck
from airshed.models.air import processes
from airshed.models.air.boundary import ZERO, BoundaryProfiles, initial_from_dataset, record_of_a_run
from airshed.models.air.boundary.files import OuterSpecies, in_cells, open_outputs, outer_species, profiles_of
from airshed.models.air.boundary.outer import initial_of_run
from airshed.models.air.case import Case, check_species
from airshed.models.air.case.species import left_out, translated
from airshed.models.air.emissions.gridded import SHIPPED_TABLES
from airshed.models.air.emissions.split import isoprene_notes, kept_notes, split_of
from airshed.models.air.emissions.stack_table import read_stacks
from airshed.models.air.emissions.stacks import StackInput
from airshed.models.air.emissions.totals import InventorySettings, years_of
from airshed.models.air.fields import VOLUME, air_registry, optional_weather
from airshed.models.air.landcover import LAND_FRACTION_SOURCE, land_fraction
from airshed.models.air.light import Light
from airshed.models.air.species_map import BoundaryMap, SpeciesMap, find_species_map, fit, without_air
from airshed.models.air.species_map.families import doubts
from airshed.models.air.species_map.fit import Phase, air_notes, bind_rates, phases, with_particles
from airshed.models.air.species_map.parts import ISOPRENE, EmissionMap
from airshed.models.air.weather.case_weather import Given, weather_of
from airshed.models.air.weather.fields import NONE_GIVEN, WeatherField, WeatherNeeds, by_name, of_use
from airshed.models.air.weather.state import LockedMeteorology
from airshed.parallel.communicator import Communicator
from airshed.parallel.domain import Subdomain
from airshed.process.bound_process import BoundProcess, identifier, refuse_idle
from airshed.process.cell_updates import CellUpdate, ProcessField, cell_updates
from airshed.process.cell_updates import own_fields as own_fields_of
from airshed.process.context import MARGIN, ProcessContext, Source
from airshed.process.discovery import processes_of
from airshed.process.processes import Processes

if TYPE_CHECKING:
    import xarray as xr


ATTRIBUTION_FILE: Final = "attribution.txt"
"""File in the folder of an inventory with the attribution that results must contain."""

_ERA5_NOTICE: Final = (
    "Contains modified Copernicus Climate Change Service information {year}; neither the European Commission nor ECMWF "
    "is responsible for any use that may be made of it."
)

_ERA5_PAPER: Final = "Meteorology: Hersbach and others 2020, The ERA5 global reanalysis, doi:10.1002/qj.3803"
_CMAQ_PROFILES: Final = "Lateral boundary: profiles of CMAQ (U.S. EPA), remote North Pacific, mean of 2016{changed}."

_PROFILES: Final = {
    "clean-air": _CMAQ_PROFILES.format(changed=""),
    "europe-summer": _CMAQ_PROFILES.format(changed=", changed to rural air of Europe"),
    "europe-winter": _CMAQ_PROFILES.format(changed=", changed to rural air of Europe"),
}


def data_attributes(case: Case, *, era5: bool) -> dict[str, str]:
    """Return the global attributes `comment` (notices required by licences) and `references`, if there are any.

    era5  whether the meteorology is read from files of ERA5
    Raises DataError if the attribution of the inventory cannot be read.
    """
    notices, references = [], []
    if era5:
        notices.append(_ERA5_NOTICE.format(year=case.time.start.year))
        references.append(_ERA5_PAPER)
    if case.emissions.inventory is not None:
        notices.append(_of_inventory(case))
    notices.append(_PROFILES.get(case.boundary.profiles, ""))
    attributes = {"comment": " ".join(filter(None, notices)), "references": "; ".join(references)}
    return {name: text for name, text in attributes.items() if text}


def _of_inventory(case: Case) -> str:
    path = case.path(case.emissions.inventory or "") / ATTRIBUTION_FILE
    try:
        return " ".join(note_input(path).read_text(encoding="utf-8").split())
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}); write one paragraph of plain text, or remove it") from error


_NONE_DEPOSITS = "no species deposits: the species map has no deposition"


@dataclass
class Parts:
    """Components of the model of a case, before code is compiled.

    device      setting of the device of the stages of this rank
    whole       grid of the case;  subdomain  part of this rank;  grid  columns of this rank
    sources     emission sources in the whole area;  own_sources  sources in the columns of this rank
    own_fields  fields that processes add to the state;  updates  updates of cells by processes
    phases      of species, by name
    clean       clean air in the species of the mechanism
    outer       species of the files of the boundary; None without files
    attributes  attribution of the input, for results
    notes       (part of the model, note)
    """

    case: Case
    device: str
    whole: Grid
    subdomain: Subdomain
    grid: Grid
    network: ReactionNetwork
    land: Array
    meteorology: LockedMeteorology
    light: Light
    processes: Processes
    boundary: BoundaryProfiles
    sources: tuple[Source, ...]
    own_sources: tuple[Source, ...]
    own_fields: tuple[ProcessField, ...]
    updates: tuple[CellUpdate, ...]
    phases: Mapping[str, Phase]
    attributes: Mapping[str, str]
    clean: BoundaryMap = field(default_factory=BoundaryMap)
    outer: OuterSpecies | None = None
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def backend(self) -> Backend:
        """The backend that compiles the stages of this rank."""
        return backend(self.device, self.subdomain.ranks.local_rank)

    @property
    def masses(self) -> dict[str, float | None]:
        """Molar masses of the species [kg/mol]; None for unknown ones."""
        return {each.name: each.molar_mass for each in self.network.species}

    @property
    def start(self) -> np.datetime64:
        """The start of the case, UTC."""
        return self.case.start

    @property
    def begin(self) -> float:
        """The begin of the simulation [s since the start], negative with a spin-up."""
        return 0.0 - self.case.time.spinup.value

    def fields(self, settable: Iterable[FieldSpec]) -> FieldRegistry:
        """Return the fields of the model: species, weather, fields of processes, and settable numbers."""
        held = [name for name, origin in self.meteorology.provenance.items() if origin != NONE_GIVEN]
        species, own = self.network.species, (each.spec(VOLUME) for each in self.own_fields if not each.is_species)
        return air_registry(
            [(each.name, each.text) for each in species], {each.name: each.molar_mass for each in species},
            [*settable, *own, *optional_weather(held)], self.phases, self.whole.dims,
        )  # fmt: skip

    def total(self, kernel: StepKernel) -> Callable[[Array], Array]:
        """Return a function that sums over the columns of all ranks, by the exact sums of a kernel."""
        return lambda sums: self.subdomain.total(sums, kernel.sums)

    @cached_property
    def rate_check(self) -> RateCheck:
        """The check of the rate constants in the air of each instant."""
        return RateCheck(self.network)

    @property
    def sunlit_until(self) -> float | None:
        """End of the period in which processes or rates follow the sun [s], with hourly instants; None without."""
        follows = self.processes.depend_on_sun or bool(self.network.parameters) or self.rate_check.depends_on_sun
        return self.case.time.length.value if follows else None


def assemble(
    case: Case, meteorology: Given = None, ranks: Communicator | None = None, *, device: str | None = None,
    any_tiles: bool = False,
) -> Parts:  # fmt: skip
    """Return the parts of a case; raises CaseError, DataError or MechanismError for inconsistent input.

    device     setting of the device, by default that of chemistry
    any_tiles  whether `parallel.tiles` is for another number of ranks
    """
    # grid and ranks
    begin_stage("reading the mechanism")
    whole, network = case.make_grid(), case.network()
    _refuse_species(network, whole)
    tiles = None if any_tiles or case.parallel.tiles == "auto" else case.parallel.tiles
    device = device or case.device_of("chemistry")
    subdomain = Subdomain.of(*whole.shape[1:], backend(device).width, ranks, tiles)
    grid = whole if subdomain.alone else whole.part(subdomain.window)

    # mechanism, with species of processes and without species that are the air itself
    species_map = find_species_map(case.chemistry.species_map, case.mechanism, network.name, case.base)
    own = own_processes(case)
    own_fields = own_fields_of([*processes_of(processes), *(each.process for each in own)])
    own_species = [each.name for each in own_fields if each.is_species]
    network = with_transported(without_air(network, species_map), own_fields)
    names, notes_on_air = network.names, air_notes(network)

    # species map and case, in the species of the mechanism; the map is checked first, as it causes unknown names
    species_map = species_map.with_own_species(own_species)
    left = left_out(case, species_map, names)
    case = translated(case, species_map, names)
    inventory = _inventory_of(case)
    split = {} if inventory is None else split_of(inventory.split_file, inventory.pollutants, species_map.emissions)
    stacks = _stacks_of(case, inventory, species_map.emissions, names)
    split |= {} if stacks is None else stacks.split
    compounds = {compound.name: pollutant for pollutant, parts in split.items() for compound in parts}
    if case.emissions.biogenic:
        compounds.setdefault(ISOPRENE, "vegetation")
    species_map = _fitted(case, species_map, network, compounds)
    species_map = replace(species_map, deposition=with_particles(species_map.deposition, case.particles, own_species))
    check_species(case, names, further=[each.name for each in own_fields])
    network = bind_rates(network, species_map.rates, species_map.source)

    # processes, weather and sources
    all_land = land_fraction(whole)
    land = np.ascontiguousarray(subdomain.window.of(all_land))
    attributes = data_attributes(case, era5=meteorology is None and case.meteorology.kind == "era5")
    light = Light(grid.lon, grid.lat, case.time.start, clouds=case.photolysis.cloud)
    provided: list[object] = [network, species_map.deposition, species_map.emissions]
    provided += filter(None, [inventory, stacks])
    acting = processes_in(case, process_context(case, network, whole, subdomain, land, light, provided), own)
    network = replace(network, reactions=acting.reactions)
    begin_stage("reading the weather")
    air = weather_of(case, whole, subdomain, all_land, meteorology, weather_needs(case, acting))
    begin_stage("placing the emissions")
    sources = acting.sources(air)
    own_sources = tuple(each.part(subdomain.window) if hasattr(each, "part") else each for each in sources)

    # notes for the summary
    none_deposits = case.deposition.scheme != "none" and not (
        species_map.deposition.surrogate or case.deposition.velocities
    )
    renamed = f"species renamed from its file: {network.renaming}" if network.renamed else ""
    without = f"no species for {', '.join(left)} of the case: omitted" if left else ""
    of_mechanism = [*notes_on_air, *doubts(species_map, network, compounds)]
    of_emission = [
        *kept_notes(split, species_map.emissions, network),
        *isoprene_notes(species_map.emissions, network, compounds),
    ]
    notes = [("surface", f"land and sea: {LAND_FRACTION_SOURCE}")]
    notes += [("mechanism", note) for note in (renamed, species_map.caution, without, *of_mechanism) if note]
    notes += [("emission", note) for note in of_emission]
    notes += [("deposition", _NONE_DEPOSITS)] if none_deposits else []
    parts = Parts(
        case, device, whole, subdomain, grid, network, land, air, light, acting,
        profiles_of(case, names, species_map.boundary), sources, own_sources, own_fields,
        cell_updates(acting, own_fields), phases(names, case.particles, species_map.deposition), attributes,
        species_map.boundary, notes=notes,
    )  # fmt: skip
    if case.boundary.files:
        files = open_outputs(case.files(case.boundary.files, "boundary.files"))
        parts.outer = outer_species(case, files, parts.masses, parts.clean, "boundary.files")
    return parts


def _refuse_species(network: ReactionNetwork, whole: Grid) -> None:
    """Raise CaseError for species named like coordinates of output, and for rates that follow sums of species."""
    taken = [name for name in network.names if name in reserved_names(whole.axes)]
    if taken:
        raise CaseError(
            f"mechanism {network.name}: species {', '.join(taken)}: output has coordinates of that name; "
            f"rename the species in {printable(network.sources[0]) if network.sources else 'the mechanism'}"
        )
    for name, weights in network.sums.items():  # transport would separate the sum from its species
        raise CaseError(
            f"mechanism {network.name} has rates that depend on {name}, the sum of {len(weights)} species, which only "
            f"boxes support; for a case write the reaction for each species X of the sum, A + X = B + X : k"
        )


def _inventory_of(case: Case) -> InventorySettings | None:
    """Return the folder and year of the inventory, None without one; raises CaseError for a missing folder."""
    settings = case.emissions
    if settings.inventory is None:
        return None
    folder = case.path(settings.inventory)
    if not folder.is_dir():
        raise CaseError(f"emissions.inventory = {settings.inventory!r}: there is no such folder in {case.base}")
    simulated = case.time.start.year
    year = settings.year or min(years_of(folder), key=lambda year: abs(year - simulated), default=simulated)
    return InventorySettings(
        folder, year, scale=settings.scale, countries_apart=case.assimilation.separates_countries,
        simulated=None if settings.year or year == simulated else simulated,
    )  # fmt: skip


def _stacks_of(
    case: Case, inventory: InventorySettings | None, emissions: EmissionMap, species: Sequence[str]
) -> StackInput | None:  # fmt: skip
    """Return the tables of stacks, None without any; profiles and split are of the inventory, or else the shipped ones.

    Raises CaseError for a missing file, DataError for an invalid one.
    """
    paths = case.files([each.file for each in case.emissions.stacks], "emissions.stacks.file")
    folder = resource(SHIPPED_TABLES) if inventory is None else inventory.folder
    return StackInput.of([read_stacks(path) for path in paths], folder, emissions, species) if paths else None


def initial_state(parts: Parts, pressure: Array, given: "xr.Dataset | None" = None) -> Array:
    """Return the initial mixing ratios (species, level, lat, lon) [mol/mol]: profiles, settings, then `given`."""
    case, names = parts.case, parts.network.names
    state = parts.boundary.at(pressure)
    if case.initial.files:
        files = open_outputs(case.files(case.initial.files, "initial.files"))
        outer = outer_species(case, files, parts.masses, parts.clean, "initial.files")
        parts.notes += [("initial state", outer.note(parts.boundary))]
        weather = parts.meteorology.at(parts.begin)
        for name, values in in_cells(outer, weather, parts.grid, parts.start).items():
            state[names.index(name)] = values
    for each in parts.own_fields:
        if each.is_species:
            state[names.index(each.name)] = each.field.start
    for name, value in case.initial.values.items():
        if name not in names:
            raise CaseError(f"initial.values: {name!r} is not a species of the mechanism; {suggestion(name, names)}")
        state[names.index(name)] = value.value
    if case.initial.file is not None:
        path = case.path(case.initial.file)
        if not path.is_file():
            raise CaseError(f"initial.file = {case.initial.file!r}: there is no such file in {case.base}")
        state = _from_dataset(parts, load_netcdf(path), state)
    if case.initial.run is not None and given is None:
        dataset = initial_of_run(case.path(case.initial.run), names, parts.whole, parts.start)
        parts.notes += [("initial state", f"read: {len(dataset)} species of {case.initial.run}, interpolated")]
        state = _from_dataset(parts, dataset, state)
    if given is not None and not is_dataset(given):
        raise CaseError(
            f"the initial state is a {type(given).__name__}; give an xarray.Dataset with a variable per species"
        )
    return state if given is None else _from_dataset(parts, given, state)


def _from_dataset(parts: Parts, dataset: "xr.Dataset", state: Array) -> Array:
    """Return the state of the columns of this rank, from a dataset of the whole area."""
    names = parts.network.names
    dataset, note = record_of_a_run(dataset, parts.start, names)
    parts.notes += [("initial state", note)] if note else []
    if parts.subdomain.alone:
        return initial_from_dataset(dataset, names, parts.grid, state)
    there = np.full((len(names), *parts.whole.shape), np.nan)
    whole = parts.subdomain.window.of(initial_from_dataset(dataset, names, parts.whole, there))
    return np.where(np.isnan(whole), state, whole)


def _fitted(
    case: Case, species_map: SpeciesMap, network: ReactionNetwork, compounds: Mapping[str, str]
) -> SpeciesMap:  # fmt: skip
    """Return the species map of a case; a section that the case does not use may be empty."""
    particles: Any = case.particles
    boundary, fixed = case.boundary, case.deposition
    given = {*fixed.velocities, *particles.diameters}
    return fit(
        species_map, network, case.mechanism, compounds=compounds,
        boundary=[each for each in network.names if boundary.profiles != ZERO and each not in boundary.values],
        deposition=[each for each in network.names if fixed.scheme != "none" and each not in given],
    )  # fmt: skip


def clean_air_of(case: Case) -> tuple[Case, dict[str, float | None], BoundaryMap]:
    """Return a case in the species of its mechanism, their molar masses [kg/mol], and clean air in them, for display.

    Species that processes of the case add are omitted.
    """
    network = case.network(looked_at=True)
    species_map = find_species_map(case.chemistry.species_map, case.mechanism, network.name, case.base)
    network = without_air(network, species_map)
    case = translated(case, species_map, network.names)
    species_map = _fitted(case, species_map, network, {})
    return case, {each.name: each.molar_mass for each in network.species}, species_map.boundary


def own_processes(case: Case) -> list[RequestedProcess]:
    """Return the processes in files of the case, which run only with the permission of the user.

    Raises CaseError for an invalid file, for a weather field with a different unit, and for two processes with the
    same name.
    """
    own = processes_of_files(case.process, case.base, "Case.allowing_code()", allowed=case.allow_code)
    units = {each.name: each.unit for each in of_use("state", "optional")}
    classes = {identifier(each.__name__): "the package" for each in processes_of(processes)}
    sections = {each.section: "the package" for each in processes_of(processes)}
    for each in own:
        for weather in each.process.declaration.weather.values():
            check_weather_unit(each.where, weather, units)
        for name, known, what in (
            (identifier(each.process.__name__), classes, "class name"), (each.process.section, sections, "section"),
        ):  # fmt: skip
            if name in known:
                raise CaseError(f"{each.where} has the same {what} as a process of {known[name]}: {name}; rename it")
            known[name] = each.where
    return own


def with_transported(network: ReactionNetwork, fields: Sequence[ProcessField]) -> ReactionNetwork:
    """Return a mechanism with transported fields as additional species without reactions."""
    known = {name.casefold() for name in network.names}
    for each in fields:
        if each.name.casefold() in known:
            raise CaseError(f"process {each.owner}: its field {each.name} is also a species of the case; rename it")
        known |= {each.name.casefold()} if each.field.transported else set()
    carried = tuple(
        Species(each.name, each.field.atoms, each.field.text.rstrip(".")) for each in fields if each.is_species
    )
    return replace(network, species=(*network.species, *carried)) if carried else network


def processes_in(case: Case, context: ProcessContext, own: Sequence[RequestedProcess]) -> Processes:
    """Return the active processes; raises CaseError for settings that do not fit the mechanism.

    own  processes in files of the case
    """
    built_in = [(each.section, each(getattr(case, each.section), context)) for each in processes_of(processes)]
    of_files = [(each.where, each.at(context, case.chemistry.mechanism)) for each in own]
    for where, each in (*built_in, *of_files):
        refuse_idle(where, each)
    return Processes(BoundProcess(each) for _, each in (*built_in, *of_files) if each.is_on())


def process_context(
    case: Case, network: ReactionNetwork, whole: Grid, subdomain: Subdomain, land: Array, light: Light,
    provided: Iterable[object] = (),
) -> ProcessContext:  # fmt: skip
    """Return the context of the processes of a case.

    whole      grid of the case;  subdomain  part of this rank;  land  (lat, lon) land fraction of its columns
    provided   objects for needs of processes, see :func:`airshed.process.kinds.need`
    """
    window = subdomain.window
    grid, wider = whole.part(window), window.grown(MARGIN, *whole.shape[1:])
    shapes = {each.name: each.shape(grid) for each in of_use("state", "optional")}
    return ProcessContext(
        network.names, grid, whole, land, light.cos_zenith, case.start,
        {name: shape[0] if len(shape) == 3 else 1 for name, shape in shapes.items()},
        whole.part(wider), window.within(wider),
        {species.name: species.molar_mass for species in network.species},
        {type(each): each for each in provided}, case.files, subdomain.total_over_columns,
        case.time.length.value,
    )  # fmt: skip


def weather_needs(case: Case, processes: Processes) -> WeatherNeeds:
    """Return the weather fields that processes and output require in addition to the state of the air.

    Raises DataError if two processes declare a field differently.
    """
    known = by_name()
    wanted = [
        known.get(each.field) or WeatherField(each.field, each.cf_name, each.unit, place=each.shape)
        for each in processes.weather
        if each.field not in known or known[each.field].use != "state"
    ]
    written = {name for output in case.output if output.fields != "all" for name in output.fields}
    wanted += [each for each in of_use("optional") if each.output in written]
    return WeatherNeeds.together([WeatherNeeds((), processes.margin), *(WeatherNeeds((each,)) for each in wanted)])
