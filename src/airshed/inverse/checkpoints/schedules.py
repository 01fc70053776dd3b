"""The schedules of the package checkpoint_schedules as plans: Revolve, multistage, disk revolve and mixed.

A step of theirs is a block of `block` steps of ours, whose levels are stored during its reversal; their forward restart
data is a restart, their adjoint dependencies are the levels of a block. They know no restart that a stretch needs for
its first step, so one is stored there too. Sources: Griewank & Walther 2000, ACM TOMS 26, 19-45 (Revolve); Stumm &
Walther 2009, SIAM J. Sci. Comput. 31, 1946-1967 (multistage); Aupy et al. 2016, SIAM J. Sci. Comput. 38, C232-C255
(disk revolve); Maddison 2024, J. Comput. Sci. 82, 102405 (mixed).
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any, Final, cast

from airshed.core.errors import CaseError
from airshed.inverse.checkpoints.actions import (
    Action,
    Advance,
    DiscardLevels,
    DiscardRestart,
    Place,
    Plan,
    Restore,
    Reverse,
)
from airshed.inverse.checkpoints.plans import Room

_MOST_BLOCKS: Final = 256
"""Blocks at most: the package takes seconds, by their square or cube, to find some schedules of more."""


def packaged(name: str, steps: int, room: Room, block: int | None = None) -> Plan:
    """Return the plan of a schedule, by default with the block of fewest steps forward by Revolve's count.

    name    one of :data:`SCHEDULES`
    raises  CaseError where the package is not installed, or the room holds too little
    """
    package, schedule = _package(), SCHEDULES[name]
    block = block or _best_block(steps, partial(schedule.snapshots, room))
    ends = [*range(0, steps, block), steps]
    blocks, snapshots = len(ends) - 1, schedule.snapshots(room, block)
    if snapshots < 1:
        raise CaseError(
            f'adjoint.plan = "{name}" finds no room for two restarts and {block} levels in adjoint.memory; give more, '
            'or take plan "auto"'
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that Numba is not there
        found = list(schedule.make(package, blocks, min(snapshots, blocks - 1), room)) if blocks > 1 else []
    actions = _Translation(ends).of(found) if found else _one_block(steps)
    return Plan(f"{name} over blocks of {block}", steps, tuple(actions))


def _package() -> Any:
    try:
        import checkpoint_schedules
    except ImportError as error:
        raise CaseError(
            "this adjoint.plan is one of the package checkpoint_schedules, which is not installed: "
            'pip install "airshed[schedules]", or take plan "auto"'
        ) from error
    return checkpoint_schedules


@dataclass(frozen=True)
class Schedule:
    """A schedule of the package.

    make       from the package, the number of blocks and of units in memory, and the room
    snapshots  units that fit into memory, by the room and the block, beside what is being reversed
    """

    make: Callable[[Any, int, int, Room], Iterable[Any]]
    snapshots: Callable[[Room, int], int]


def _restarts(room: Room, block: int) -> int:
    return (room.memory - block * room.sizes.level) // room.sizes.restart - 1


def _stretches(room: Room, block: int) -> int:
    """A unit of the mixed schedule may be a block's levels with their restart."""
    return room.memory // (room.sizes.restart + block * room.sizes.level) - 1


def _revolve(package: Any, blocks: int, snapshots: int, room: Room) -> Iterable[Any]:
    """Revolve is the multistage schedule without a disk, which the package finds faster than by its class Revolve."""
    return cast(Iterable[Any], package.MultistageCheckpointSchedule(blocks, snapshots, 0))


def _multistage(package: Any, blocks: int, snapshots: int, room: Room) -> Iterable[Any]:
    on_disk = min(room.disk // room.sizes.restart, blocks - 1 - snapshots)
    return cast(Iterable[Any], package.MultistageCheckpointSchedule(blocks, snapshots, on_disk))


def _disk_revolve(package: Any, blocks: int, snapshots: int, room: Room) -> Iterable[Any]:
    return cast(Iterable[Any], package.DiskRevolve(blocks, snapshots))


def _mixed(package: Any, blocks: int, snapshots: int, room: Room) -> Iterable[Any]:
    memory = package.StorageType.RAM
    return cast(Iterable[Any], package.MixedCheckpointSchedule(blocks, snapshots, storage=memory))


SCHEDULES: Final[Mapping[str, Schedule]] = {
    "revolve": Schedule(_revolve, _restarts),
    "multistage": Schedule(_multistage, _restarts),
    "disk-revolve": Schedule(_disk_revolve, _restarts),
    "mixed": Schedule(_mixed, _stretches),
}
"""The schedules by name; the disk of disk revolve has no end."""


def _best_block(steps: int, snapshots: Callable[[int], int]) -> int:
    sizes = [2**power for power in range(steps.bit_length() + 1)]
    there = [size for size in sizes if -(-steps // size) <= _MOST_BLOCKS and snapshots(size) >= 1]
    return min(there, key=lambda size: size * _blocks_run(-(-steps // size), snapshots(size)), default=1)


def _blocks_run(blocks: int, snapshots: int) -> int:
    """Return how many blocks Revolve runs forward with s snapshots: l + t l - C(s + t, t - 1), l <= C(s + t, t)."""
    repeats = next(t for t in range(blocks + 1) if comb(snapshots + t, t) >= blocks)
    return blocks * (1 + repeats) - (comb(snapshots + repeats, repeats - 1) if repeats else 0)


def _one_block(steps: int) -> Iterator[Action]:
    yield Advance(0, steps, save_levels=True, restarts=(0,))
    yield from (Reverse(0, steps), DiscardLevels(0, steps, "memory"), DiscardRestart(0, "memory"))


class _Translation:
    """Actions of the package become ours; a restart is stored until the block after it has been reversed."""

    def __init__(self, ends: Sequence[int]) -> None:
        self._ends = ends
        self._restarts: dict[tuple[int, Place], None] = {}
        self._levels: dict[int, Place] = {}

    def of(self, schedule: Iterable[Any]) -> Iterator[Action]:
        for each in schedule:
            match type(each).__name__:
                case "Forward":
                    yield self._forward(int(each.n0), int(each.n1), each)
                case "Reverse":
                    yield from self._reverse(int(each.n0))
                case "Copy" | "Move" if int(each.n) not in self._levels:
                    yield Restore(self._ends[int(each.n)], _place(each.from_storage))

    def _forward(self, block: int, end: int, each: Any) -> Action:
        place = _place(each.storage)
        begins = each.write_adj_deps and block - 1 not in self._levels and not self._kept(block)
        is_new = each.write_ics or begins
        if is_new:
            self._restarts[block, place] = None
        if each.write_adj_deps:
            self._levels[block] = place
        first, last = self._ends[block], self._ends[end]
        return Advance(first, last, bool(each.write_adj_deps), (first,) if is_new else (), place)

    def _reverse(self, block: int) -> Iterator[Action]:
        first, last = self._ends[block], self._ends[block + 1]
        yield Reverse(first, last)
        yield DiscardLevels(first, last, self._levels.pop(block))
        for place in self._kept(block):
            del self._restarts[block, place]
            yield DiscardRestart(first, place)

    def _kept(self, block: int) -> list[Place]:
        return [place for number, place in self._restarts if number == block]


def _place(storage: Any) -> Place:
    return "disk" if storage.name == "DISK" else "memory"
