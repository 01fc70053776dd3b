"""The plan and the stores that a case asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airshed.adjoint.actions import Place, Plan, Sizes
from airshed.adjoint.plans import all_levels, fewest_repetitions, two_levels
from airshed.adjoint.room import Room
from airshed.adjoint.schedules import packaged
from airshed.adjoint.stores.behind import BehindStore
from airshed.adjoint.stores.files import FileStore
from airshed.adjoint.stores.rounded import RoundedStore
from airshed.adjoint.stores.store import MemoryStore, Store
from airshed.air.case.sections import AdjointSection


def room_of(section: AdjointSection, sizes: Sizes) -> Room:
    """Return what a case lets be kept: with the store `files` all of it on disk, else restarts as far as they go.

    sizes  of what is not rounded
    """
    if section.rounding == "single":
        sizes = replace(sizes, level=(sizes.level + 1) // 2)
    memory, disk = int(section.memory.value), int(section.disk.value)
    if section.store == "memory":
        return Room(sizes, memory, disk)
    return Room(sizes, memory, disk, levels="disk", restarts="disk")


def make_plan(name: str, steps: int, room: Room) -> Plan:
    """Return the plan of a name that the case file knows; raises CaseError where there is no room for it.

    `auto` runs the step that is run most often as rarely as can be: levels are never put on disk for that, since to
    write and read one takes longer than to run its step.
    """
    if name == "auto":
        return fewest_repetitions(steps, room)
    if name == "all":
        return all_levels(steps, room)
    return two_levels(steps, room) if name == "two-level" else packaged(name, steps, room)


@dataclass(frozen=True)
class Stores:
    """Where restarts and levels are kept, by the place that a plan names; restarts are never rounded."""

    restarts: Mapping[Place, Store]
    levels: Mapping[Place, Store]

    def commit(self, note: Mapping[str, Any]) -> None:
        """Commit what is on disk; see :meth:`airshed.adjoint.stores.store.Store.commit`."""
        self.restarts["disk"].commit(note)

    def close(self, *, keep: bool = False) -> None:
        """Close all; see :meth:`airshed.adjoint.stores.store.Store.close`."""
        for store in self.restarts.values():
            store.close(keep=keep)


def make_stores(section: AdjointSection, folder: Path, resume: int | None = None) -> Stores:
    """Return the stores of a case, with files in a folder of this rank alone, from a commit on where there is one."""
    files: Store = FileStore(folder, resume)
    if section.store == "files:async":
        files = BehindStore(files)
    exact: dict[Place, Store] = {"memory": MemoryStore(), "disk": files}
    if section.rounding == "none":
        return Stores(exact, exact)
    return Stores(exact, {place: RoundedStore(store) for place, store in exact.items()})
