"""Gives each rank of a machine its own cores, so that none wanders or shares while others idle."""

import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from airshed.parallel.communicator import Communicator
from airshed.parallel.decomposition import even_cuts

_CORES: Final = Path("/sys/devices/system/cpu")


def bind(ranks: Communicator) -> frozenset[int]:
    """Keep this rank to its share of the cores that the ranks of this machine have; return the cores it then has.

    Nothing is changed where a launcher has bound them already (their cores differ), where ranks outnumber cores, and
    on systems that bind no processes. Every rank must call it, before it starts threads.
    """
    if not hasattr(os, "sched_setaffinity"):
        return frozenset()
    mine = frozenset(os.sched_getaffinity(0))
    told = ranks.gather_all((socket.gethostname(), mine))
    here = [(rank, cores) for rank, (host, cores) in enumerate(told) if host == told[ranks.rank][0]]
    if len(here) == 1 or len(here) > len(mine) or any(cores != mine for _, cores in here):
        return mine
    place = [rank for rank, _ in here].index(ranks.rank)
    share = shares(in_order(mine), len(here))[place]
    os.sched_setaffinity(0, share)
    return share


def cores_each(ranks: Communicator) -> int:
    """Return how many cores each rank of this machine can count on, at least one, whether they are bound or not.

    Every rank must call it.
    """
    mine = (
        frozenset(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else frozenset(range(os.cpu_count() or 1))
    )
    told = ranks.gather_all((socket.gethostname(), mine))
    here = [cores for host, cores in told if host == told[ranks.rank][0]]
    return max(1, len(frozenset().union(*here)) // len(here))


def shares(cores: list[int], ranks: int) -> list[frozenset[int]]:
    """Return what each of so many ranks has of the cores: neighbours in the list, as even as can be."""
    cuts = even_cuts(len(cores), ranks)
    return [frozenset(cores[cuts[rank] : cuts[rank + 1]]) for rank in range(ranks)]


def in_order(cores: Iterable[int], folder: Path = _CORES) -> list[int]:
    """Return cores by socket, then by physical core: two threads of one core come together, not half a list apart."""
    return sorted(cores, key=lambda core: (*(_topology(folder, core, of) for of in _PLACES), core))


_PLACES: Final = ("physical_package_id", "core_id")


def _topology(folder: Path, core: int, of: str) -> int:
    try:
        return int((folder / f"cpu{core}" / "topology" / of).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0
