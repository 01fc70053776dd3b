"""Takes adjoints back over a trajectory, and adds up what all that a run was given is worth to its cost."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.adjoint.actions import Action
from airshed.adjoint.trajectory import Trajectory
from airshed.air.model import AirModel
from airshed.air.schemes.imex import Taken
from airshed.kernels.backend import Reverser
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import Share

Array = npt.NDArray[np.float64]

Progress = Callable[[float], None]
"""Is told the part of the way back that is done, 0 to 1."""


@dataclass(frozen=True)
class Adjoints:
    """What changes of all that a run was given are worth to its cost, per unit of each.

    initial    of mixing ratios at the beginning (species, level, lat, lon)
    sources    of sources [s/mol] in periods, by the beginning [s] of each: (species, lowest levels, lat, lon)
    outside    of mixing ratios outside the area (species, level);  top  above it (species,)
    reactions  of a factor on the rate of each reaction (reaction,)
    """

    initial: Array
    sources: Mapping[float, Array]
    outside: Array
    top: Array
    reactions: Array


class Backward:
    """Takes the adjoints of a model's state back.

    costs  by the time [s] of a level: adds what the cost at that time is worth to the adjoint of its mixing ratios
    """

    def __init__(
        self, model: AirModel, costs: Mapping[float, Callable[[AnyArray], None]], *, source_levels: int = 1,
        frozen: bool = False,
    ) -> None:  # fmt: skip
        self._model, self._costs = model, costs
        kernel = model.kernel.reversed(frozen=frozen)
        self._reverser: Reverser = kernel.reverser(model.layout, model.constants, threads=model.stepper.threads)
        self._source_levels = source_levels
        self._sources: dict[float, AnyArray] = {}

    def run(
        self, trajectory: Trajectory, actions: Iterable[Action], progress: Progress = lambda part: None
    ) -> Adjoints:
        """Go back to the beginning."""
        count = len(trajectory.ends)
        for done, passed in enumerate(trajectory.back(actions)):
            if not done:
                self._reverser.start(self._model.stepper.state.tendency)
            self._add_cost(passed.taken.end)
            self._reverser.reverse(passed.taken.forcing, passed.levels, passed.before, self._shares(passed.taken))
            progress((done + 1) / count)
            if done + 1 == count:
                self._reverser.finish(passed.levels[1])
        self._add_cost(trajectory.begin)
        return self._found()

    def _add_cost(self, seconds: float) -> None:
        if seconds in self._costs:
            self._costs[seconds](self._reverser.x)

    def _shares(self, step: Taken) -> list[Share]:
        species = len(self._model.network.species)
        for begin, _ in step.emission:
            if begin not in self._sources:
                self._sources[begin] = self._model.layout.zeros(species, self._source_levels)
        return [Share(share, self._sources[begin]) for begin, share in step.emission]

    def _found(self) -> Adjoints:
        reverser, unpack = self._reverser, self._model.layout.unpack
        outside, top, reactions = (
            each.reshape(each.shape[0] * each.shape[1], *each.shape[2:]).sum(axis=0)
            for each in (reverser.outside, reverser.top, reverser.reactions)
        )
        sources = {begin: unpack(each) for begin, each in sorted(self._sources.items())}
        return Adjoints(unpack(reverser.x), sources, outside, top, reactions)

    def close(self) -> None:
        """End the threads."""
        self._reverser.close()
