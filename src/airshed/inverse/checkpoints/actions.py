"""Actions of checkpoint plans, which an executor runs in order.

A run has steps n = 0 ... N-1; step n advances time level n to n+1. There are two kinds of checkpoints:

restart n  the state that repeats step n bitwise identically: q(n), q(n-1), the tendency of step n-1, the air
level n    q(n) and the air, one array for each step of a *stretch*, the steps after a restart

The adjoint of step n reads level n+1 and either restart n, where a stretch begins, or levels n and n-1. In the second
step of a stretch level n-1 is that of the restart. Terms follow Griewank & Walther 2000, ACM TOMS 26, 19-45.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from airshed.core.text import counted

Place = Literal["memory", "disk"]


@dataclass(frozen=True)
class Advance:
    """Run steps first <= n < last from the current state of the model, which is that before step `first`.

    restarts     steps, from `first` to `last`, before which a restart is stored
    save_levels  whether levels first+1 to `last` are stored
    store        store of these checkpoints
    """

    first: int
    last: int
    save_levels: bool = False
    restarts: tuple[int, ...] = ()
    store: Place = "memory"


@dataclass(frozen=True)
class Restore:
    """Set the model to the restart before a step; the restart remains stored."""

    step: int
    store: Place


@dataclass(frozen=True)
class Reverse:
    """Reverse steps last-1, ..., first; the state of the model is undefined afterwards."""

    first: int
    last: int


@dataclass(frozen=True)
class DiscardRestart:
    """Discard the restart before a step."""

    step: int
    store: Place


@dataclass(frozen=True)
class DiscardLevels:
    """Discard levels first+1 to `last`, which :class:`Advance` with the same numbers stored."""

    first: int
    last: int
    store: Place


Action = Advance | Restore | Reverse | DiscardRestart | DiscardLevels


@dataclass(frozen=True)
class Sizes:
    """Sizes of a restart and of a level [bytes]."""

    restart: int
    level: int


@dataclass(frozen=True)
class Bytes:
    """Bytes stored in memory and on disk."""

    memory: int
    disk: int


@dataclass(frozen=True)
class Plan:
    """Actions of the forward run and the backward pass of a run with a known number of steps."""

    name: str
    steps: int
    actions: tuple[Action, ...]

    @property
    def forward_steps(self) -> int:
        """Total number of forward steps, repeated ones included."""
        return sum(each.last - each.first for each in self.actions if isinstance(each, Advance))

    @property
    def recomputation_factor(self) -> float:
        """Forward steps per step of the run: 1 where no step is repeated."""
        return self.forward_steps / self.steps

    def greatest(self, sizes: Sizes) -> Bytes:
        """Return the maximum storage in memory and on disk; the two need not occur at the same time."""
        memory, disk = zip(*_storage(self.actions, sizes), strict=True)
        return Bytes(max(memory), max(disk))

    def line(self, sizes: Sizes) -> str:
        """Return a description of the plan in one line."""
        stored, most = self.greatest(sizes), max(_restarts(self.actions), default=0)
        stretch = max((each.last - each.first for each in self.actions if isinstance(each, Reverse)), default=0)
        disk = f" and {_size(stored.disk)} on disk" if stored.disk else ""
        steps, restarts = counted(self.steps, "step"), counted(most, "restart")
        return (
            f"{self.name}: {steps}, up to {restarts} at a time and stretches of up to {counted(stretch, 'step')}; "
            f"{_size(stored.memory)} in memory{disk}; {self.recomputation_factor:.2f} runs forward"
        )


def _size(count: float) -> str:
    """Return a number of bytes in MB, or in GB where it is large."""
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"


def _storage(actions: Iterable[Action], sizes: Sizes) -> Iterator[tuple[int, int]]:
    """Yield the storage after each action, in memory and on disk [bytes]."""
    kept = {"memory": 0, "disk": 0}
    for action in actions:
        if isinstance(action, Advance):
            levels = action.last - action.first if action.save_levels else 0
            kept[action.store] += len(action.restarts) * sizes.restart + levels * sizes.level
        elif isinstance(action, DiscardRestart):
            kept[action.store] -= sizes.restart
        elif isinstance(action, DiscardLevels):
            kept[action.store] -= (action.last - action.first) * sizes.level
        yield kept["memory"], kept["disk"]


def _restarts(actions: Iterable[Action]) -> Iterator[int]:
    """Yield the number of stored restarts after each action that changes it."""
    count = 0
    for action in actions:
        count += len(action.restarts) if isinstance(action, Advance) else -isinstance(action, DiscardRestart)
        yield count
