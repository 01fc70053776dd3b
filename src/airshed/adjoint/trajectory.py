"""The forward run, kept so that it can be gone through backwards: the executor of a checkpoint plan.

A restart is all that the model saves. A level is the mixing ratios and the air. What steps were given (forcing,
weights, emission) is noted beside the levels, in memory, whenever these are kept: fields of the forcing are shared by
the steps of an hour.
"""

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Final

from airshed.adjoint.actions import (
    Action,
    Advance,
    DiscardLevels,
    DiscardRestart,
    Restore,
    Reverse,
    Sizes,
)
from airshed.adjoint.choice import Stores
from airshed.adjoint.schemes.of_model import derivatives_of
from airshed.adjoint.schemes.protocol import Passed
from airshed.adjoint.snapshots import as_arrays, as_snapshot
from airshed.adjoint.stores.store import Arrays, size_of
from airshed.air.model import AirModel
from airshed.air.schemes.taken import TakenStep
from airshed.kernels.memory import ALIGNMENT, AnyArray, address, aligned_copy
from airshed.kernels.step.data import Level
from airshed.runtime.clock import Clock

_STATE: Final = "tiled.state."


class Trajectory:
    """Executes the actions of a plan with a model.

    ends       [s] of the steps of the first run
    begin      [s] of the first
    recomputed steps done again so far
    """

    def __init__(self, model: AirModel, stores: Stores) -> None:
        self._model, self._stores = model, stores
        self.derivatives = derivatives_of(model, lend=True)
        self.begin = model.seconds
        self.ends: list[float] = []
        self.recomputed = 0
        self._taken: dict[int, TakenStep] = {}

    @property
    def sizes(self) -> Sizes:
        """The size of a restart and of a level on the rank that has the greatest, so that all ranks plan alike."""
        model, state = self._model, self._model.stepper.state
        own = size_of(as_arrays(model.save())), state.q.nbytes + state.air.nbytes + self.derivatives.noted
        return Sizes(*(int(model.subdomain.greatest(float(each))) for each in own))

    def run(self, actions: Iterator[Action], clocks: Iterable[tuple[Clock, float]], seen: Callable[[], None]) -> None:
        """Make the first run by the actions of a plan, cut short where the run ends.

        clocks  one after the other, with the time [s] to which each leads; `seen` is called there and after each batch
        """
        wanted = iter(actions)
        action = next(wanted)
        for clock, until in clocks:
            while self._model.seconds < until:
                number = len(self.ends)
                while not isinstance(action, Advance) or number >= action.last:
                    if isinstance(action, Advance):
                        self._keep_restarts(action, number)
                    else:
                        self.do(action)
                    action = next(wanted)
                self._keep_restarts(action, number)
                most = 1 if action.keep_levels else min(self._model.pace.batch, action.last - number)
                ends = clock.next_steps(until, most)
                self._advance(action, number, ends)
                self.ends += ends
                seen()

    def back(self, actions: Iterable[Action]) -> Iterator[Passed]:
        """Do what takes the run back; yield its steps, the last one first."""
        for action in actions:
            if isinstance(action, Reverse):
                yield from (self._passed(step) for step in reversed(range(action.first, action.last)))
            else:
                self.do(action)

    def do(self, action: Action) -> None:
        """Do an action that takes nothing back."""
        match action:
            case Advance():
                for step in range(action.first, action.last):
                    self._keep_restarts(action, step)
                    self._advance(action, step, self.ends[step : step + 1])
                    self.recomputed += 1
                self._keep_restarts(action, action.last)
            case Restore(step, store):
                self._model.restore(as_snapshot(self._stores.restarts[store].get(_restart(step))))
            case DiscardRestart(step, store):
                self._stores.restarts[store].drop(_restart(step))
            case DiscardLevels(first, last, store):
                for level in range(first + 1, last + 1):
                    self._stores.levels[store].drop(_level(level))
                    self._taken.pop(level - 1, None)

    def _advance(self, action: Advance, number: int, ends: list[float]) -> None:
        if not action.keep_levels:
            self._model.step_through(ends)
            return
        self._model.scheme.tell(lambda taken: self._taken.__setitem__(number, taken.lasting()))
        try:
            self._model.step_through(ends)
        finally:
            self._model.scheme.tell(None)
        state = self._model.stepper.state
        self._stores.levels[action.store].put(_level(number + 1), {"q": state.q, "air": state.air})

    def _keep_restarts(self, action: Advance, step: int) -> None:
        store = self._stores.restarts[action.store]
        if step in action.restarts and _restart(step) not in store.keys:
            store.put(_restart(step), as_arrays(self._model.save()))

    def _passed(self, step: int) -> Passed:
        newest, restart = self._kept(step + 1), self._restart(step)
        assert newest is not None
        if restart is not None:
            first, earlier = self._level(restart, "q", "air"), self._level(restart, "q_other", "air_other")
            return Passed(self._taken[step], (earlier, first, newest), _aligned(restart[f"{_STATE}tendency"]))
        beginning, now = self._restart(step - 1), self._kept(step)
        before = self._kept(step - 1) if beginning is None else self._level(beginning, "q", "air")
        assert now is not None
        assert before is not None
        return Passed(self._taken[step], (before, now, newest), self._taken[step - 1])

    def _kept(self, number: int) -> Level | None:
        arrays = next((s.get(_level(number)) for s in self._stores.levels.values() if _level(number) in s.keys), None)
        return None if arrays is None else Level(_aligned(arrays["q"]), _aligned(arrays["air"]))

    def _restart(self, step: int) -> Arrays | None:
        return next((s.get(_restart(step)) for s in self._stores.restarts.values() if _restart(step) in s.keys), None)

    def _level(self, restart: Arrays, q: str, air: str) -> Level:
        return Level(_aligned(restart[_STATE + q]), _aligned(restart[_STATE + air]))


def _restart(step: int) -> str:
    return f"restart-{step}"


def _level(number: int) -> str:
    return f"level-{number}"


def _aligned(array: AnyArray) -> AnyArray:
    return array if address(array) % ALIGNMENT == 0 else aligned_copy(array)


def steps_expected(model: AirModel, until: float) -> int:
    """Return about how many steps a run will have, by the longest step of now."""
    step = model.longest_step(min(until, model.next_change()))
    return max(1, int((until - model.seconds) / step)) if step < inf else 1
