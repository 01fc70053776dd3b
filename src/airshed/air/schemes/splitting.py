"""Puts together what Strang splitting advances a case by: chemistry, and what moves species here or elsewhere."""

from airshed.air.assembly import Parts
from airshed.air.case_weather import Given
from airshed.air.schemes.moving import Mover, without_reactions
from airshed.air.schemes.scheme import Setup
from airshed.air.schemes.strang import Strang
from airshed.air.stepping import make_chemistry, step_constants
from airshed.air.two_groups.remote_transport import RemoteTransport, TransportedSpecies, make_exchange
from airshed.kernels.backend import Stepper, backend
from airshed.kernels.step.data import OtherRanks
from airshed.parallel.groups import Groups
from airshed.process.processes import LIGHT


def make_strang(
    setup: Setup, families: tuple[str, ...], meteorology: Given, groups: Groups | None, threads: int
) -> Strang:
    """Return what advances the state of a stepper without reactions, and its chemistry.

    families     elements whose atoms are counted where reactions make or lose them
    meteorology  given to the case, for species that this rank moves for others
    groups       None where every rank moves the species of its own columns
    """
    parts = setup.parts
    chemistry = make_chemistry(parts, setup.stepper.layout, families, threads=threads)
    mover = _make_mover(setup, setup.stepper)
    moving = mover if groups is None else _transport_remotely(parts, mover, meteorology, groups, threads)
    columns = _make_column_stepper(setup, threads) if parts.case.moves_planes else None
    return Strang(setup, chemistry, moving, None if columns is None else _make_mover(setup, columns))


def _make_mover(setup: Setup, stepper: Stepper) -> Mover:
    courant = setup.parts.case.time.courant
    light = setup.light if setup.parts.processes.ask_for(LIGHT) else None
    return Mover(stepper, setup.forcing, setup.sources, light, emitted=setup.emitted, courant=courant)


def _transport_remotely(
    parts: Parts, mover: Mover, meteorology: Given, groups: Groups, threads: int
) -> RemoteTransport:
    exchange = make_exchange(parts, groups, mover.stepper.layout)
    here = TransportedSpecies(parts.case, meteorology, groups, threads, exchange) if groups.moves else None
    return RemoteTransport(mover, exchange, here)


def _make_column_stepper(setup: Setup, threads: int) -> Stepper:
    """What advances the same state along columns: it asks no neighbour."""
    parts, stepper = setup.parts, setup.stepper
    kernel = backend().compile_mechanism(
        without_reactions(parts.network), parts.grid.shape[0], parts.case.chemistry.precision, directions="vertical",
        operators=parts.processes.operators,
    )  # fmt: skip
    return kernel.stepper(
        stepper.layout, step_constants(parts, setup.sources.species), threads=threads, state=stepper.state,
        others=OtherRanks(total=parts.total(kernel)),
    )  # fmt: skip
