"""One simulation that runs repeatedly from its start, each time with other inputs, and is reversed."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.inverse.backward import Adjoints, Backward
from airshed.inverse.checkpoints.actions import Action
from airshed.inverse.checkpoints.trajectory import Trajectory, as_arrays, as_snapshot
from airshed.inverse.cost import Fields
from airshed.inverse.gradient import ObservedCost, Progress, run_forward
from airshed.inverse.reverse.runners import AdjointOptions
from airshed.models.air.model import AirModel
from airshed.runtime.simulation import Simulation

Array = npt.NDArray[np.float64]

See = Callable[[int, Array], None]
"""Takes the fields (species, level, lat, lon) [mol/mol] of a time, by its number."""

Force = Callable[[int], Array]
"""Returns the gradient of a cost by those fields, for the number of a time."""


class RepeatedRun:
    """Runs a simulation that has not begun, any number of times.

    times     [s] since the start of the case, rising: fields are shown there, and steps end there
    species   that are shown, in the order of the fields
    progress  callback for the progress of a run, "forward" or "backward"; an exception ends the run
    """

    def __init__(
        self, simulation: Simulation, times: Sequence[float], species: Sequence[str], progress: Progress
    ) -> None:
        self._simulation, self._model, self.progress = simulation, simulation.model, progress
        self._times, self._species = [float(time) for time in times], tuple(species)
        self._beginning = {name: np.array(array) for name, array in as_arrays(self._model.save()).items()}
        self._kept: ReversibleRun | None = None

    def forward(self, change: Callable[[], None], see: See) -> "ReversibleRun":
        """Run from the start, where ``change`` is called; return the run, which exists until the next one starts."""
        self.close()
        self._model.restore(as_snapshot({name: array.copy() for name, array in self._beginning.items()}))
        change()
        self._kept = kept = ReversibleRun(self._model, self._times, self._species)
        try:
            observed = ObservedCost(self._model, FieldsCost(self._times, self._species, see), self._simulation.end)
            kept.actions = list(run_forward(self._simulation, kept.trajectory, observed, self.progress))
        except BaseException:
            self.close()
            raise
        return kept

    def close(self) -> None:
        """Discard the stored run."""
        if self._kept is not None:
            self._kept.close()
        self._kept = None


class ReversibleRun:
    """A run that can be reversed once, before another run starts."""

    def __init__(self, model: AirModel, times: Sequence[float], species: Sequence[str]) -> None:
        self._model, self._times, self._species = model, times, species
        self.trajectory = Trajectory(model)
        self.actions: list[Action] = []
        self.is_available = True

    def reverse(self, force: Force, source_levels: int, progress: Progress, *, reactions: bool = False) -> Adjoints:
        """Reverse the run, and discard it.

        force          returns the gradient at each time, the last one first
        source_levels  number of lowest levels with adjoints of sources
        reactions      compute adjoints of factors on reaction rates
        """
        cost = FieldsCost(self._times, self._species, force=force)
        options = AdjointOptions(self._model.stepper.threads, read=False, reactions=reactions)
        try:
            with closing(Backward(self._model, self.trajectory.derivatives, cost, options, source_levels)) as backward:
                return backward.run(self.trajectory, self.actions, lambda done: progress("backward", done))
        finally:
            self.close()

    def close(self) -> None:
        """Discard its checkpoints."""
        self.is_available = False
        self.trajectory.close()


@dataclass
class FieldsCost:
    """The fields of some species at some times, as a :class:`airshed.inverse.cost.Cost` without a value.

    on_fields  receives the fields of a time in the forward run
    force      returns the gradient by them in the backward pass
    """

    times: Sequence[float]
    species: Sequence[str]
    on_fields: See = lambda number, fields: None
    force: Force | None = None
    value: float = 0.0

    def see(self, seconds: float, fields: Fields) -> None:
        """See :class:`airshed.inverse.cost.Cost`."""
        self.on_fields(self.times.index(seconds), np.stack([fields(name) for name in self.species]))

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """See :class:`airshed.inverse.cost.Cost`."""
        assert self.force is not None
        return dict(zip(self.species, self.force(self.times.index(seconds)), strict=True))
