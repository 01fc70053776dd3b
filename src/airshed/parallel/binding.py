"""Binding of each rank of a machine to its own cores."""

import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from airshed.parallel.communicator import Communicator
from airshed.parallel.decomposition import even_cuts

_CORES: Final = Path("/sys/devices/system/cpu")


def bind(ranks: Communicator) -> frozenset[int]:
    """Bind this rank to its share of the cores that the ranks of this machine may use; return its cores.

    Nothing changes if the launcher has already bound the ranks (their cores differ), if ranks outnumber cores, or if
    the system does not support binding. Collective; call it before starting threads.
    """
    if not hasattr(os, "sched_setaffinity"):
        return frozenset()
    mine = frozenset(os.sched_getaffinity(0))
    bound = ranks.gather_all((socket.gethostname(), mine))
    here = [(rank, cores) for rank, (host, cores) in enumerate(bound) if host == bound[ranks.rank][0]]
    if len(here) == 1 or len(here) > len(mine) or any(cores != mine for _, cores in here):
        return mine
    place = [rank for rank, _ in here].index(ranks.rank)
    share = shares(in_order(mine), len(here))[place]
    os.sched_setaffinity(0, share)
    return share


def find_local_rank(ranks: Communicator) -> None:
    """Set the index of this rank among those of its machine, which selects its GPU; collective.

    Ranks exchange the names of their hosts, since environment variables differ between launchers.
    """
    hosts = ranks.gather_all(socket.gethostname())
    ranks.local_rank = hosts[: ranks.rank].count(hosts[ranks.rank])


def cores_each(ranks: Communicator) -> int:
    """Return the number of cores for each rank of this machine, at least one, whether bound or not.

    Collective.
    """
    mine = (
        frozenset(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else frozenset(range(os.cpu_count() or 1))
    )
    bound = ranks.gather_all((socket.gethostname(), mine))
    here = [cores for host, cores in bound if host == bound[ranks.rank][0]]
    return max(1, len(frozenset().union(*here)) // len(here))


def shares(cores: list[int], ranks: int) -> list[frozenset[int]]:
    """Divide cores evenly among ranks; each gets consecutive cores of the list."""
    cuts = even_cuts(len(cores), ranks)
    return [frozenset(cores[cuts[rank] : cuts[rank + 1]]) for rank in range(ranks)]


def in_order(cores: Iterable[int], folder: Path = _CORES) -> list[int]:
    """Return cores ordered by socket, then by physical core, so that two threads of one core are adjacent."""
    return sorted(cores, key=lambda core: (*(_topology(folder, core, of) for of in _PLACES), core))


_PLACES: Final = ("physical_package_id", "core_id")


def _topology(folder: Path, core: int, of: str) -> int:
    try:
        return int((folder / f"cpu{core}" / "topology" / of).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0
