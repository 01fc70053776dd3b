"""How many steps fit: what restarts leave for levels, and how many steps can be reversed with a number of repetitions.

With h stored restarts, the last of them where a span begins, let L(h) be the levels that still fit. A span of

    C(1, h) = L(h)                                      steps is run once, each level stored
    C(t, h) = C(t-1, h) + C(t-1, h+1) + ...             steps is cut by further restarts, no step run more than t times

so that C(t, h) = C(t-1, h) + C(t, h+1). Where a level is as large as a restart and s of them fit beside h, this is the
binomial coefficient (s + t - 1 over t) of Revolve, Griewank & Walther 2000, ACM TOMS 26, 19-45; here a level is
smaller, so a stretch of many levels ends each branch.
"""

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, Literal

from airshed.core.errors import CaseError
from airshed.inverse.actions import Place, Sizes

MOST_RESTARTS: Final = 4096
"""Greatest number of stored restarts: more would gain nothing."""

MOST_REPETITIONS: Final = 100
"""Greatest number of runs of a step."""


@dataclass(frozen=True)
class Room:
    """Room for checkpoints: how much, and where.

    memory    [bytes]
    disk      [bytes]
    levels    place of levels
    restarts  place of restarts; "both" is the disk as far as it goes, then memory
    """

    sizes: Sizes
    memory: int
    disk: int = 0
    levels: Place = "memory"
    restarts: Place | Literal["both"] = "both"

    def place(self, number: int) -> Place:
        """Return the place of the `number`-th restart at its time, counted from 1."""
        return "disk" if self._on_disk(number) == number else "memory"

    def levels_beside(self, held: int) -> int:
        """Return how many levels fit beside so many restarts; 0 where not even these do."""
        on_disk, size = self._on_disk(held), self.sizes.restart
        disk, memory = self.disk - on_disk * size, self.memory - (held - on_disk) * size
        if disk < 0 or memory < 0 or held > MOST_RESTARTS:
            return 0
        return (memory if self.levels == "memory" else disk) // self.sizes.level

    def _on_disk(self, held: int) -> int:
        if self.restarts == "both":
            return min(held, self.disk // self.sizes.restart)
        return held if self.restarts == "disk" else 0


@dataclass
class Capacities:
    """How many steps can be reversed, by repetitions t and stored restarts h; see the head of this file."""

    room: Room
    _rows: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        first: list[int] = []
        while (fit := self.room.levels_beside(len(first) + 1)) > 0:
            first.append(fit)
        self._rows = [first]

    def of(self, repetitions: int, held: int) -> int:
        """Return C(t, h)."""
        while len(self._rows) < repetitions:
            self._rows.append(list(accumulate(reversed(self._rows[-1])))[::-1])
        row = self._rows[repetitions - 1]
        return row[held - 1] if held <= len(row) else 0

    def repetitions(self, steps: int, held: int = 1) -> int:
        """Return how often a step is run forward at most, at least 1; raises CaseError for more than anybody waits."""
        for repetitions in range(1, MOST_REPETITIONS + 1):
            if self.of(repetitions, held) >= steps:
                return repetitions
        raise self.too_little(steps)

    def cut(self, steps: int, held: int = 1) -> list[int]:
        """Return the lengths of the spans into which one is cut, of one span where its levels fit.

        There are as few as repetitions allow; the last ones, next to which most restarts are stored, are full, so that
        the longest possible stretch is reversed without being run again.
        """
        repetitions = self.repetitions(steps, held)
        if repetitions == 1:
            return [steps]
        full: list[int] = []
        while sum(full) < steps:
            full.append(self.of(repetitions - 1, held + len(full)))
        return [steps - sum(full[1:]), *full[1:]]

    def too_little(self, steps: int) -> CaseError:
        """Return the error of a room with which a run would take longer than anybody waits."""
        room = self.room
        return CaseError(
            f"adjoint.memory and adjoint.disk leave {(room.memory + room.disk) / 1e9:.3g} GB for checkpoints of "
            f"{steps} steps, of which a restart takes {room.sizes.restart / 1e9:.3g} GB and a level "
            f"{room.sizes.level / 1e9:.3g} GB: a step would be run more than {MOST_REPETITIONS} times; give more"
        )
