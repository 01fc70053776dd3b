"""The air-quality model as a kind of model of the runtime: its cases, and the construction of the model."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from airshed.case.failure import FAILED_CELL
from airshed.core.errors import CaseError
from airshed.core.settings import settings_of
from airshed.kernels.backend import backend
from airshed.models.air.boundary.field import BoundaryField, FaceConcentrations, GivenBoundary, LateralBoundary
from airshed.models.air.budget import FaceBudget
from airshed.models.air.case import Case, case_notices
from airshed.models.air.emissions.gridded import GriddedEmissions
from airshed.models.air.emissions.inventory import Inventory
from airshed.models.air.emissions.report import emission_notices
from airshed.models.air.emissions.stacks import StackEmissions
from airshed.models.air.fields import weather_of_output
from airshed.models.air.inflow import boundary_of, describe, on_faces
from airshed.models.air.levers import levers_of
from airshed.models.air.model import AirModel
from airshed.models.air.placements import device_trials, fastest, on_device, placement_report, shared_gpus
from airshed.models.air.programs.groups import TransportRank
from airshed.models.air.rates import RateFactors
from airshed.models.air.report import budget_dataset
from airshed.models.air.weather.case_weather import Given
from airshed.models.air.weather.dataset import Calls
from airshed.parallel.binding import cores_each, find_local_rank
from airshed.parallel.communicator import Communicator, world
from airshed.parallel.decomposition import Decomposition
from airshed.parallel.failure import raising_together
from airshed.parallel.groups import Groups
from airshed.runtime.registry import BuiltModel, ModelInfo, ModelKind

if TYPE_CHECKING:
    import xarray as xr


def only_transports(case: Case, ranks: Communicator | None = None) -> bool:
    """Return whether this rank is a transport rank, which calls :func:`transport_for_others` in place of a simulation.

    Parameters
    ----------
    case
        Case with two groups of ranks, see ``parallel.groups``.
    ranks
        Communicator of the run, by default of all ranks that were started together.

    Returns
    -------
    bool
        True on the ranks of transport; False on those of chemistry, and without groups.

    Examples
    --------
    >>> if airshed.only_transports(case):
    ...     airshed.transport_for_others(case)
    ... else:
    ...     airshed.Simulation(case).run()
    """
    wanted, rank = case.parallel.groups, (world() if ranks is None else ranks).rank
    return wanted.transport not in ("same", 0) and rank >= wanted.chemistry


def make_groups(case: Case, ranks: Communicator) -> Groups | None:
    """Return the groups of ranks of a case, None for a case without groups; collective over all ranks.

    Raises CaseError if the sizes do not match the number of ranks, or the integrator has a single stage.
    """
    if {case.device_of("transport"), case.device_of("chemistry")} != {"cpu"}:
        find_local_rank(ranks)
    if not case.has_groups:
        return None
    wanted = case.parallel.groups
    return Groups.of(ranks, wanted.transport, wanted.chemistry)


@contextmanager
def closed_on_error(groups: Groups | None) -> Iterator[None]:
    """Free the communicators of the groups if the block raises."""
    try:
        yield
    except BaseException:
        if groups is not None:
            groups.close()
        raise


def transport_for_others(
    case: Case, meteorology: Given = None, ranks: Communicator | None = None, *, allow_code: bool = False
) -> None:
    """Compute the transport of the simulation of the chemistry ranks, until they close it.

    Parameters
    ----------
    case
        The case of the chemistry ranks.
    meteorology
        The meteorology of the chemistry ranks, by default that of the case.
    ranks
        Communicator of the run, by default of all ranks that were started together.
    allow_code
        Whether Python code of the case may run, with the rights of the user.

    Raises
    ------
    CaseError
        If this rank is not a transport rank.

    Examples
    --------
    >>> if airshed.only_transports(case):
    ...     airshed.transport_for_others(case)
    """
    case = case.allowing_code() if allow_code else case
    ranks = world() if ranks is None else ranks
    with raising_together(ranks):
        groups = make_groups(case, ranks)
        assert groups is not None
        with closing(groups):
            if not groups.world.broadcast(None):
                return
            threads = case.run.threads or cores_each(groups.world)
            with closing(TransportRank(case, meteorology, groups, threads)) as rank:
                rank.run()


def build(
    case: Case, ranks: Communicator, check: Callable[[Communicator], None],
    meteorology: Given = None, initial: "xr.Dataset | None" = None, rate_factors: RateFactors | None = None,
    boundary: "GivenBoundary | FaceConcentrations" = None,
) -> BuiltModel:  # fmt: skip
    """Return the model of a case, see :class:`airshed.runtime.registry.ModelKind`.

    meteorology   replaces that of the case, see :class:`airshed.runtime.simulation.Simulation`
    initial       replaces the initial state of the case
    rate_factors  factors on rate constants
    boundary      concentrations of the lateral face cells, see ``boundary.field``
    """
    if only_transports(case, ranks):
        raise CaseError(
            f"rank {ranks.rank} runs only transport (parallel.groups): call airshed.transport_for_others(case) on it, "
            "see airshed.only_transports"
        )
    groups = make_groups(case, ranks)
    own = ranks if groups is None else groups.own
    ready = False  # transport ranks start if this succeeds, and end if it raises
    try:
        with closed_on_error(groups):
            check(own)
            if (boundary is not None or case.boundary.run is not None or case.boundary.files) and case.has_groups:
                raise CaseError(
                    "boundary concentrations of face cells do not work with groups of ranks: remove parallel.groups"
                )
        ready = True
    finally:
        if groups is not None and not groups.same:
            groups.world.broadcast(ready)
    threads = case.run.threads or cores_each(own if groups is None else groups.world)
    with closed_on_error(groups):
        make = partial(
            AirModel, meteorology=meteorology, initial=initial, threads=threads, ranks=own, groups=groups,
            rate_factors=rate_factors,
        )  # fmt: skip
        chooses = case.run.device == "auto" and groups is None
        trials, notices = device_trials(case, make, own) if chooses else ({}, [])
        model = make(on_device(case, fastest(trials)) if chooses else case)
        model.trials = trials
        if case.boundary.budget == "faces":
            model.budget.faces = FaceBudget(model.layout, model.subdomain, lambda: model.constants)
            model.budget.faces.watch(model.executor.steppers)
        length = case.time.length.value
        every = min(3600.0, length / 24.0)
        if isinstance(boundary, FaceConcentrations):
            boundary.attach(model)
            boundary = None
        else:
            boundary = boundary_of(model) if boundary is None else on_faces(model, boundary)
        if boundary is not None:
            every = min(every, getattr(boundary, "interval", every))
            calls = Calls(case.start, every, 0.0, length)
            field = BoundaryField(boundary, model.network.names, model.whole, model.constants.profile, calls)
            model.forcing.boundary = LateralBoundary(field, model.layout, model.subdomain)
        notices = [*notices, *case_notices(case, model.network), *emission_notices(model.parts.sources)]
        notices += shared_gpus(model.backend, own)
        if model.parts.outer is not None:
            notices += [f"{part}: {note}" for part, note in model.parts.notes if part == "boundary"]
    return BuiltModel(model, notices, model.parts.case.output)


def check_ranks(case: Case, ranks: int) -> None:
    """Raise CaseError if the columns of a case cannot be decomposed over this number of ranks."""
    tiles = None if case.parallel.tiles == "auto" else case.parallel.tiles
    Decomposition.of(
        *case.make_grid().shape[1:],
        backend(case.device_of("chemistry")).width,
        case.parallel.groups.chemistry or ranks,
        tiles,
    )


def info(model: AirModel) -> ModelInfo:
    """Return the processes, the groups of fields, and the keys of tables: species and inventory codes."""
    species = model.network.names
    scaled = [
        name
        for source in model.parts.sources
        if isinstance(source, Inventory | StackEmissions)
        for name in (*source.pollutants, *source.sectors, *source.countries)
        if name
    ]
    gridded = [source for source in model.parts.sources if isinstance(source, GriddedEmissions)]
    scaled += [name for source in gridded for name in (*source.names, source.sector) if name and source.sector]
    groups = {
        **dict.fromkeys(species, "species"),
        **{name: "weather" for name in model.fields if weather_of_output(name)},
        **{name: model.settable.place(name)[0].process.section for name in model.settable},
        **{each.name: each.section for each in model.parts.own_fields},
    }
    keys = {
        "emissions.scale": tuple(dict.fromkeys(scaled)),
        **{each.key: species for each in settings_of(Case) if each.keys == "species"},
    }
    sections = dict.fromkeys(each.process.section for each in model.parts.processes)  # transport has two
    levers = levers_of(model.parts.case, keys["emissions.scale"], species)
    return ModelInfo(tuple(sections), groups, keys, ("O3", *species), "air_density", levers)


def release(case: Case, seconds: float, requested: Mapping[str, Any]) -> dict[str, Any]:
    """Return the patch of a case that adds a point source, which begins at a time [s].

    requested  species, lon, lat [degrees], height [m], rate, unit and duration [s] of the source
    """
    source = {
        **{key: requested[key] for key in ("species", "lon", "lat")}, "height": f"{requested['height']!r} m",
        "rate": f"{requested['rate']!r} {requested['unit']}", "begin": f"{seconds!r} s",
        "duration": f"{requested['duration']!r} s",
    }  # fmt: skip
    return {f"emissions.point.{len(case.emissions.point)}": source}


KIND = ModelKind(
    Case, build, check_ranks=check_ranks, helps=only_transports,
    help=lambda case, ranks: transport_for_others(case, ranks=ranks), release=release, budget=budget_dataset,
    info=info, cells=lambda case: prod(case.make_grid().shape), evidence=(FAILED_CELL,), describe=describe,
    gradients="airshed.inverse.receptors.sensitivity", placements=placement_report,
)  # fmt: skip
