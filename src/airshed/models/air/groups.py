"""The two groups of ranks that a case may request, and the work of the transport ranks."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from airshed.models.air.case import Case
from airshed.models.air.case_weather import Given
from airshed.models.air.programs.groups import TransportRank
from airshed.parallel.binding import cores_each
from airshed.parallel.communicator import Communicator, world
from airshed.parallel.failure import raising_together
from airshed.parallel.groups import Groups


def only_transports(case: Case, ranks: Communicator | None = None) -> bool:
    """Return whether this rank is a transport rank alone, which calls :func:`transport_for_others`."""
    wanted, rank = case.parallel.groups, (world() if ranks is None else ranks).rank
    return wanted.transport not in ("same", 0) and rank >= wanted.chemistry


def make_groups(case: Case, ranks: Communicator) -> Groups | None:
    """Return the groups that the case requests, None where it requests none; all ranks of both call this together.

    Raises CaseError where its numbers do not fit the ranks, or its integrator has a single stage.
    """
    if not case.has_groups:
        return None
    wanted = case.parallel.groups
    return Groups.of(ranks, wanted.transport, wanted.chemistry)


@contextmanager
def allowing_service(groups: Groups | None) -> Iterator[None]:
    """Let the transport ranks begin where the block ends well, and end where it raises."""
    ready = False
    try:
        with closed_on_error(groups):
            yield
        ready = True
    finally:
        if groups is not None and not groups.same:
            groups.world.broadcast(ready)


@contextmanager
def closed_on_error(groups: Groups | None) -> Iterator[None]:
    """Give the group's communicator back where the block raises."""
    try:
        yield
    except BaseException:
        if groups is not None:
            groups.close()
        raise


def transport_for_others(
    case: Case, meteorology: Given = None, ranks: Communicator | None = None, *, allow_code: bool = False
) -> None:
    """Run the stages of transport of the simulation that the chemistry ranks make of the case, until they close it.

    For ranks that `only_transports` names, with the case, meteorology and permission to run code of the others.
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
