"""Puts together what Strang splitting advances a case by: chemistry, and what moves species here or elsewhere."""

from airshed.air.assembly import Parts
from airshed.air.case_weather import Given
from airshed.air.forcing import Forcing
from airshed.air.light import PackedLight
from airshed.air.moving import Mover, without_reactions
from airshed.air.sources import PackedSources
from airshed.air.stepping import make_chemistry, make_own_stepper, number_per_mole
from airshed.air.strang import Strang
from airshed.air.two_groups.remote_transport import RemoteTransport, TransportedSpecies, make_exchange
from airshed.kernels.backend import Stepper, backend
from airshed.parallel.groups import Groups


def make_strang(
    parts: Parts, stepper: Stepper, forcing: Forcing, sources: PackedSources, light: PackedLight, *,
    families: tuple[str, ...], meteorology: Given, groups: Groups | None, threads: int,
) -> Strang:  # fmt: skip
    """Return what advances the state of a stepper without reactions, and its chemistry.

    families     elements whose atoms are counted where reactions make or lose them
    meteorology  given to the case, for species that this rank moves for others
    groups       None where every rank moves the species of its own columns
    """
    case = parts.case
    chemistry = make_chemistry(parts, stepper.layout, families, threads=threads)
    mover = _make_mover(parts, stepper, forcing, sources)
    moving = mover if groups is None else _transport_remotely(parts, mover, meteorology, groups, threads)
    vertical = None
    if case.moves_planes:
        columns = _make_column_stepper(parts, stepper, sources, threads)
        vertical = _make_mover(parts, columns, forcing, sources)
    return Strang(
        stepper, chemistry, moving, forcing, light, density_factor=number_per_mole(parts.grid),
        total=parts.share.total, concurrent=case.chemistry.concurrent, vertical=vertical,
    )  # fmt: skip


def _make_mover(parts: Parts, stepper: Stepper, forcing: Forcing, sources: PackedSources) -> Mover:
    emitted = [parts.network.index(name) for name in sources.species]
    return Mover(stepper, forcing, sources, emitted=emitted, courant=parts.case.time.courant)


def _transport_remotely(
    parts: Parts, mover: Mover, meteorology: Given, groups: Groups, threads: int
) -> RemoteTransport:
    exchange = make_exchange(parts, groups, mover.stepper.layout)
    here = TransportedSpecies(parts.case, meteorology, groups, threads, exchange) if groups.moves else None
    return RemoteTransport(mover, exchange, here)


def _make_column_stepper(parts: Parts, stepper: Stepper, sources: PackedSources, threads: int) -> Stepper:
    """What advances the same state along columns: it asks no neighbour."""
    network, levels = without_reactions(parts.network), parts.grid.shape[0]
    kernel = backend().compile_mechanism(
        network, levels, parts.case.chemistry.precision, directions="vertical",
        operators=parts.processes.operators,
    )  # fmt: skip
    return make_own_stepper(parts, kernel, stepper.layout, sources, threads=threads, state=stepper.state)
