"""Plan and stores of checkpoints by the settings of a case."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from airshed.core.errors import OutputError
from airshed.inverse.checkpoints.actions import Place, Plan, Sizes
from airshed.inverse.checkpoints.behind import BehindStore
from airshed.inverse.checkpoints.outer import RoundedStore, SlowStore
from airshed.inverse.checkpoints.plans import (
    EveryLevel,
    FromStep,
    OnlinePlan,
    Room,
    as_executed,
    fewest_repetitions,
    two_levels,
)
from airshed.inverse.checkpoints.schedules import packaged
from airshed.inverse.checkpoints.shared_stores import GroupStore, SharedStore
from airshed.inverse.checkpoints.stores import FileStore, MemoryStore, Store, rank_folder
from airshed.io.block_file import BlockFile
from airshed.models.air.case.sections import AdjointSection
from airshed.parallel.communicator import Alone, Communicator

_NO_THREADS: Final = "adjoint.store = {!r}: this MPI serves one thread at a time, so nothing is written behind the run"


def room_of(section: AdjointSection, sizes: Sizes) -> Room:
    """Return the room for checkpoints by the settings of a case.

    A store of files holds all checkpoints on disk; otherwise restarts go to disk as far as it has room.

    sizes  of what is not rounded
    """
    if section.rounding == "single":
        sizes = replace(sizes, level=(sizes.level + 1) // 2)
    memory, disk = int(section.memory.value), int(section.disk.value)
    if section.store == "memory":
        return Room(sizes, memory, disk)
    return Room(sizes, memory, disk, levels="disk", restarts="disk")


def make_plan(name: str, steps: int, room: Room) -> Plan:
    """Return the plan of a name in the case file; raises CaseError where there is no room for it.

    `auto` runs the step that is run most often as rarely as can be: levels are never put on disk for that, since to
    write and read one takes longer than to run its step.
    """
    if name == "auto":
        return fewest_repetitions(steps, room)
    if name == "all":
        return as_executed(EveryLevel(room), steps)
    return two_levels(steps, room) if name == "two-level" else packaged(name, steps, room)


def plan_from_step(name: str, room: Room, expected: int | None) -> FromStep | None:
    """Return the plan of a name that is followed before the number of steps is known; None where it has to be.

    expected  about how many steps there will be
    """
    if name == "all":
        return EveryLevel(room)
    return OnlinePlan(room, expected) if name in ("auto", "two-level") else None


@dataclass(frozen=True)
class Stores:
    """Stores of restarts and levels, by the places of a plan; restarts are never rounded.

    notices  lines on what differs from the settings
    """

    restarts: Mapping[Place, Store]
    levels: Mapping[Place, Store]
    notices: tuple[str, ...] = ()

    def close(self) -> None:
        """Close all; see :meth:`airshed.inverse.checkpoints.stores.Store.close`."""
        for store in self.restarts.values():
            store.close()


def make_stores(
    section: AdjointSection, folder: Path, ranks: Communicator | None = None, bandwidth: float | None = None
) -> Stores:
    """Return the stores of a case.

    folder     of this rank alone for files; those that ranks share lie in that of the first rank, which is there
    ranks      that call this together; one alone without them
    bandwidth  [byte/s] of this rank's disk, for trials
    Raises OutputError, which names the folder, where this rank has not got that of the first one.
    """
    disk, notices = _disk_store(section.store, folder, ranks or Alone(), bandwidth)
    exact: dict[Place, Store] = {"memory": MemoryStore(), "disk": disk}
    if section.rounding == "none":
        return Stores(exact, exact, notices)
    return Stores(exact, {place: RoundedStore(store) for place, store in exact.items()}, notices)


def _disk_store(text: str, folder: Path, ranks: Communicator, bandwidth: float | None) -> tuple[Store, tuple[str, ...]]:
    """Return what keeps files as a case says, such as "mpiio:async", and notices; files where all is in memory."""
    name, _, mode = text.partition(":")
    has_threads = True
    if name == "mpiio":
        file = BlockFile(_shared(folder, ranks) / "checkpoints", ranks)
        has_threads = file.has_threads
        store: Store = SharedStore(file)
    elif name == "zarr":
        store = GroupStore(rank_folder(_shared(folder, ranks), ranks.rank))
    else:
        store = FileStore(folder)
    if bandwidth is not None:
        store = SlowStore(store, bandwidth)
    if mode != "async":
        return store, ()
    return (BehindStore(store), ()) if has_threads else (store, (_NO_THREADS.format(text),))


def _shared(folder: Path, ranks: Communicator) -> Path:
    """Return the first rank's folder, which another machine would make as a private one where it is not there."""
    shared: Path = ranks.broadcast(folder)
    if not shared.is_dir():
        raise OutputError(
            f"rank {ranks.rank} cannot see {shared}, where the first rank stores checkpoints; set TMPDIR to a folder "
            "that all machines share, or adjoint.store to files or memory"
        )
    return shared
