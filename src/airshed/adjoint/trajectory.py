"""The forward run, kept so that it can be gone through backwards, stretch by stretch.

The first run keeps a restart (all that a model saves) every so many steps. A stretch between two restarts is then run
again, with the same bits, and keeps every level and all that its steps were given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from airshed.air.model import AirModel
from airshed.air.schemes.imex import Imex, Taken
from airshed.core.errors import CaseError
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import Level
from airshed.runtime.clock import Clock
from airshed.runtime.model import Snapshot


@dataclass(frozen=True)
class Stretch:
    """Steps from n to m: levels n-1 to m+1, what each step was given, and the tendencies T(n-1) and T(m)."""

    levels: Sequence[Level]
    steps: Sequence[Taken]
    first_tendency: AnyArray
    last_tendency: AnyArray


class Trajectory:
    """Runs a model forward, and again in stretches.

    ends    [s] of all steps so far
    begin   [s] of the first
    """

    def __init__(self, model: AirModel, every: int) -> None:
        if not isinstance(model.scheme, Imex):
            raise CaseError('the adjoint of chemistry.integrator = "strang" is not there yet; take "imex"')
        self._model, self._scheme, self._every = model, model.scheme, every
        self.begin = model.seconds
        self.ends: list[float] = []
        self._restarts: list[tuple[int, Snapshot]] = []
        self._pool: list[Level] = []

    def run(self, clock: Clock, until: float, seen: Callable[[], None]) -> None:
        """Advance to a time [s] at which a step ends; `seen` is called after each batch of steps."""
        model = self._model
        while model.seconds < until:
            number = len(self.ends)
            if number % self._every == 0:
                self._restarts.append((number, model.save().copied()))
            ends = clock.next_steps(until, min(model.pace.batch, self._every - number % self._every))
            model.step_through(ends)
            self.ends += ends
            seen()

    @property
    def stretches(self) -> int:
        """Return their number."""
        return len(self._restarts)

    def stretch(self, number: int) -> Stretch:
        """Run a stretch again and return it; it is valid until the next one is asked for."""
        model, (first, restart) = self._model, self._restarts[number]
        following = self._restarts[number + 1][0] if number + 1 < len(self._restarts) else len(self.ends)
        model.restore(restart)
        state = model.stepper.state
        first_tendency = state.tendency.copy()
        levels = [self._kept(0, state.q_other, state.air_other), self._kept(1, state.q, state.air)]
        steps: list[Taken] = []
        self._scheme.note = lambda taken: steps.append(self._lasting(taken))
        for place, end in enumerate(self.ends[first:following]):
            model.step_through([end])
            levels.append(self._kept(place + 2, state.q, state.air))
        self._scheme.note = None
        return Stretch(levels, steps, first_tendency, state.tendency.copy())

    def _kept(self, place: int, q: AnyArray, air: AnyArray) -> Level:
        """A copy of a level, in memory of a place that the next stretch takes again."""
        if place == len(self._pool):
            memory = self._model.layout.memory
            self._pool.append(Level(memory.empty(q.shape, q.dtype), memory.empty(air.shape, air.dtype)))
        level = self._pool[place]
        level.q[...], level.air[...] = q, air
        return level

    def _lasting(self, taken: Taken) -> Taken:
        """A step with a sun of its own: steps to come write where that was."""
        step = taken.forcing
        assert step.column is not None
        sun = self._model.layout.memory.empty(step.column.sun.shape, step.column.sun.dtype)
        sun[...] = step.column.sun
        return replace(taken, forcing=replace(step, column=replace(step.column, sun=sun)))
