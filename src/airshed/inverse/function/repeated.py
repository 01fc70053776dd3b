"""Repeated forward runs and backward passes of one simulation with different inputs."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from airshed.core.arrays import Array
from airshed.inverse.backward import Backward
from airshed.inverse.checkpoints.actions import Action
from airshed.inverse.checkpoints.trajectory import Trajectory, as_arrays, as_snapshot
from airshed.inverse.cost import AdjointForcing, Fields, OnFields
from airshed.inverse.function.inputs import Inputs
from airshed.inverse.gradient import CostEvaluator, Progress, run_forward
from airshed.inverse.reverse.runners import AdjointOptions
from airshed.models.air.model import AirModel
from airshed.runtime.simulation import Simulation

Values = Mapping[str, Mapping[str, Array]]
"""Values of inputs by their kind and name."""


class RepeatedRun:
    """Repeated runs of a simulation from its start. The checkpoints of one run at a time are stored.

    times     times [s] since the start of the case at which fields are output, in ascending order; steps end there
    species   output species, in the order of the fields
    inputs    inputs that differ between runs, by their kind
    progress  callback for the progress of a run, "forward" or "backward"; an exception stops the run
    """

    def __init__(
        self, simulation: Simulation, times: Sequence[float], species: Sequence[str], inputs: Mapping[str, Inputs],
        progress: Progress = lambda part, done: None,
    ) -> None:  # fmt: skip
        model: AirModel = simulation.model
        self._simulation, self._model, self.progress = simulation, model, progress
        self._times, self._species, self._inputs = [float(time) for time in times], tuple(species), inputs
        self._beginning = {name: np.array(array) for name, array in as_arrays(model.save()).items()}
        self._last: tuple[Values, Trajectory, list[Action]] | None = None

    def forward(self, values: Values, on_fields: OnFields) -> None:
        """Run from the start with these inputs and store checkpoints."""
        self.close()
        self._model.restore(as_snapshot({name: array.copy() for name, array in self._beginning.items()}))
        for kind, each in self._inputs.items():
            each.apply(values[kind])
        trajectory = Trajectory(self._model)
        try:
            cost = FieldsCost(self._times, self._species, on_fields)
            observed = CostEvaluator(self._model, cost, self._simulation.end)
            actions = list(run_forward(self._simulation, trajectory, observed, self.progress))
        except BaseException:
            trajectory.close()
            raise
        self._last = values, trajectory, actions

    def reverse(self, values: Values, force: AdjointForcing) -> dict[str, dict[str, Array]]:
        """Reverse the run with these inputs, and discard its checkpoints; return the adjoints of the inputs.

        The forward run is repeated, unless it was the last run and has not been reversed yet.
        """
        if self._last is None or not _are_equal(self._last[0], values):
            self.forward(values, lambda number, fields: None)
        assert self._last is not None
        _, trajectory, actions = self._last
        inputs = self._inputs.values()
        levels = max((each.source_levels for each in inputs), default=1)
        reactions = any(each.reactions for each in inputs)
        options = AdjointOptions(self._model.stepper.threads, read=False, reactions=reactions)
        cost = FieldsCost(self._times, self._species, force=force)
        with (
            closing(self),
            closing(Backward(self._model, trajectory.derivatives, cost, options, levels)) as backward,
        ):
            found = backward.run(trajectory, actions, lambda done: self.progress("backward", done))
        return {kind: each.adjoints(values[kind], found) for kind, each in self._inputs.items()}

    def close(self) -> None:
        """Discard the checkpoints of the last run."""
        if self._last is not None:
            self._last[1].close()
        self._last = None


def _are_equal(one: Values, other: Values) -> bool:
    return all(np.array_equal(array, other[kind][name]) for kind in one for name, array in one[kind].items())


@dataclass
class FieldsCost:
    """Fields of some species at some times, as a :class:`airshed.inverse.cost.Cost` without a value.

    on_fields  callback for the fields of a time in the forward run
    force      function that returns the gradient with respect to these fields in the backward pass
    """

    times: Sequence[float]
    species: Sequence[str]
    on_fields: OnFields = lambda number, fields: None
    force: AdjointForcing | None = None
    value: float = 0.0

    def observe(self, seconds: float, fields: Fields) -> None:
        """Pass the fields of a time to the callback."""
        self.on_fields(self.times.index(seconds), np.stack([fields(name) for name in self.species]))

    def gradient(self, seconds: float) -> Mapping[str, Array]:
        """Return the gradient with respect to the fields of a time."""
        assert self.force is not None
        return dict(zip(self.species, self.force(self.times.index(seconds)), strict=True))
