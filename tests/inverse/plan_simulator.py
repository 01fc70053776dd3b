"""Simulator of plans on an abstract machine that checks each action; it shares no code with the plans."""

from collections.abc import Iterable

from airshed.inverse.checkpoints.actions import (
    Action,
    Advance,
    Bytes,
    DiscardLevels,
    DiscardRestart,
    Place,
    Restore,
    Reverse,
    Sizes,
)


class PlanError(Exception):
    """Impossible action of a plan: a defect of the program."""


class Machine:
    """Model that consists of the number of its next step and its checkpoints.

    forward_steps  steps done so far
    greatest       greatest number of bytes stored in each place
    """

    def __init__(self, steps: int, sizes: Sizes, most: Bytes) -> None:
        self._sizes, self._most = sizes, {"memory": most.memory, "disk": most.disk}
        self._steps, self._at, self._to_reverse = steps, 0, steps
        self._restarts: set[tuple[int, Place]] = set()
        self._levels: dict[int, Place] = {}
        self.forward_steps = 0
        self.greatest = {"memory": 0, "disk": 0}

    def do(self, action: Action) -> None:
        """Execute one action; raises PlanError."""
        match action:
            case Advance():
                self._advance(action)
            case Restore(step, store):
                self._need((step, store) in self._restarts, f"{action}: there is no such restart")
                self._at = step
            case Reverse(first, last):
                for step in reversed(range(first, last)):
                    self._reverse(step)
                self._at = -1
            case DiscardRestart(step, store):
                self._need((step, store) in self._restarts, f"{action}: there is no such restart")
                self._restarts.remove((step, store))
            case DiscardLevels(first, last, store):
                for level in range(first + 1, last + 1):
                    self._need(self._levels.pop(level, None) == store, f"{action}: level {level} is not there")

    def end(self) -> None:
        """Check that all steps are reversed and no checkpoint remains."""
        self._need(self._to_reverse == 0, f"step {self._to_reverse - 1} is not reversed")
        self._need(not self._restarts and not self._levels, f"{self._restarts} and {self._levels} are left")

    def _advance(self, action: Advance) -> None:
        self._need(action.first == self._at, f"{action}: the model is before step {self._at}")
        self._need(action.first <= action.last <= self._to_reverse, f"{action}: beyond step {self._to_reverse}")
        for step in action.restarts:
            key = (step, action.store)
            self._need(action.first <= step <= action.last, f"{action}: does not come by step {step}")
            self._need(key not in self._restarts, f"{action}: restart {step} is there already")
            self._restarts.add(key)
        for level in range(action.first + 1, action.last + 1) if action.save_levels else ():
            self._need(level not in self._levels, f"{action}: level {level} is there already")
            self._levels[level] = action.store
        self._at, self.forward_steps = action.last, self.forward_steps + action.last - action.first
        self._weigh(action)

    def _reverse(self, step: int) -> None:
        self._need(step == self._to_reverse - 1, f"step {step} is reversed before step {self._to_reverse - 1}")
        self._need(step + 1 in self._levels, f"step {step} is reversed without level {step + 1}")
        begins = self._is_restart(step)
        self._need(begins or step in self._levels, f"step {step} is reversed without level {step}")
        earlier = begins or step - 1 in self._levels or self._is_restart(step - 1)
        self._need(earlier, f"step {step} is reversed without level {step - 1}")
        self._to_reverse = step

    def _is_restart(self, step: int) -> bool:
        return (step, "memory") in self._restarts or (step, "disk") in self._restarts

    def _weigh(self, action: Action) -> None:
        for place, most in self._most.items():
            restarts = sum(store == place for _, store in self._restarts)
            levels = sum(store == place for store in self._levels.values())
            kept = restarts * self._sizes.restart + levels * self._sizes.level
            self._need(kept <= most, f"{action}: {kept} bytes are stored in {place}, more than {most}")
            self.greatest[place] = max(self.greatest[place], kept)

    @staticmethod
    def _need(holds: bool, message: str) -> None:
        if not holds:
            raise PlanError(message)


def simulate(steps: int, actions: Iterable[Action], sizes: Sizes, most: Bytes) -> Machine:
    """Return the machine after a whole plan with at most `most` stored bytes; raises PlanError."""
    machine = Machine(steps, sizes, most)
    for action in actions:
        machine.do(action)
    machine.end()
    return machine
