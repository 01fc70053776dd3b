"""The backward pass: reverses the steps of a trajectory, and sums the adjoints of all inputs of a run."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.inverse.checkpoints.actions import Action
from airshed.inverse.checkpoints.commits import AnyCommits, Part
from airshed.inverse.checkpoints.trajectory import Trajectory
from airshed.inverse.cost import Cost, add_gradient
from airshed.inverse.reverse.derivatives import Derivatives
from airshed.inverse.reverse.field_adjoints import FieldInstants, ReadSensitivities
from airshed.inverse.reverse.runners import AdjointOptions, ReverseStep
from airshed.kernels.host import AnyArray, aligned_copy
from airshed.kernels.step.data import Level
from airshed.models.air.model import AirModel
from airshed.models.air.programs.records import StepRecord
from airshed.runtime.using import quick_turns

Array = npt.NDArray[np.float64]

Progress = Callable[[float], None]
"""Callback for the part of the backward pass that is done, 0 to 1."""

Passing = Callable[[float, Callable[[], Array]], None]
"""Callback for a time [s] of the backward pass; the function returns the adjoint of a jump of the mixing ratios then
(species, level, lat, lon)."""


@dataclass(frozen=True)
class Adjoints:
    """What changes of all that a run was given are worth to its cost, per unit of each; whole, and alike on all ranks.

    initial    of mixing ratios at the beginning (species, level, lat, lon)
    sources    of sources [s/mol] in periods, by the beginning [s] of each: (species, lowest levels, lat, lon)
    boundary   of boundary concentrations (species, level, face cell) by their instants [s]; of a profile at 0 s
    boundary_profile  their sum over faces and instants (species, level)
    top        of mixing ratios above the area (species,)
    reactions  of a factor on the rate of each reaction (reaction,)
    read       of what processes read in steps; both are None where they were not requested
    """

    initial: Array
    sources: Mapping[float, Array]
    boundary: Mapping[float, Array]
    boundary_profile: Array
    top: Array
    reactions: Array | None
    read: ReadSensitivities | None


class Backward:
    """Reverses the steps of a model.

    derivatives    of its steps
    cost           that observed the run
    source_levels  number of lowest levels with adjoints of sources
    """

    def __init__(
        self, model: AirModel, derivatives: Derivatives, cost: Cost, options: AdjointOptions, source_levels: int = 1
    ) -> None:
        self._model, self._cost, self._source_levels, self._options = model, cost, source_levels, options
        self._executor = derivatives.adjoint(self._options)
        self._area, self._instants = derivatives.area, FieldInstants(model, derivatives.area)
        self._sources: dict[float, AnyArray] = {}
        self._changed: dict[float, int] = {}  # steps that were left when a source was added to last
        self._left = 0

    def run(
        self, trajectory: Trajectory, actions: Iterable[Action], progress: Progress = lambda part: None,
        passing: Passing = lambda seconds, worth: None, pause: Callable[[], None] = lambda: None,
    ) -> Adjoints:  # fmt: skip
        """Reverse all steps; pause: called between steps, where all may be committed."""
        with quick_turns():
            self._reverse_all(trajectory, actions, progress, passing, pause)
        self._add_cost(trajectory.begin, self._executor.x)
        return self._found()

    def _reverse_all(
        self, trajectory: Trajectory, actions: Iterable[Action], progress: Progress, passing: Passing,
        pause: Callable[[], None],
    ) -> None:  # fmt: skip
        count = len(trajectory.ends)
        for step in trajectory.reverse(actions):
            left = self._left = trajectory.left or 0
            if left == count - 1:
                self._executor.start(self._model.stepper.state.tendency)
            self._reverse(step)
            passing(step.record.begin, partial(self._jump, step.levels[1], step.record.begin))
            progress(1.0 - left / count)
            if left:
                pause()
            else:
                self._executor.finish(step.levels[1])

    def _reverse(self, step: ReverseStep) -> None:
        self._add_cost(step.record.end, self._executor.x)
        if self._executor.reads:
            step = replace(step, record=self._instants.unified(step.record))
        self._make_sources(step.record)
        self._executor.reverse(step, self._sources)

    def parts(self) -> Mapping[str, Part]:
        """Return the adjoints between two steps; see :class:`airshed.inverse.checkpoints.commits.Committed`."""
        found = {"adjoints": Part(self._left, self._executor.save)}
        for number, (begin, each) in enumerate(self._sources.items()):
            found[f"source-{number}"] = Part(self._changed[begin], partial(dict, adjoint=each))
        return found | self._instants.parts(self._executor.reads)

    def facts(self) -> Mapping[str, Any]:
        """See :class:`airshed.inverse.checkpoints.commits.Committed`."""
        return {"sources": list(self._changed.items()), **self._instants.facts(self._executor.reads)}

    def resume(self, commits: AnyCommits, trajectory: Trajectory) -> None:
        """Continue from a commit behind a step, whose part of the run the trajectory has recomputed."""
        assert commits.note is not None
        assert trajectory.left is not None
        self._changed = dict(commits.note["sources"])
        for number, begin in enumerate(self._changed):
            self._sources[begin] = aligned_copy(commits.get(f"source-{number}")["adjoint"])
        reads, record = self._executor.reads, trajectory.record(trajectory.left)
        self._instants.resume(reads, commits)
        self._executor.restore(commits.get("adjoints"), self._instants.unified(record) if reads else record)

    def _jump(self, now: Level, seconds: float) -> Array:
        worth = self._executor.jump(now)
        self._add_cost(seconds, worth)
        return self._area.whole(worth)

    def _add_cost(self, seconds: float, adjoint: AnyArray) -> None:
        add_gradient(self._cost, seconds, self._area, self._model.network.names, adjoint)

    def _make_sources(self, record: StepRecord) -> None:
        """Allocate the adjoint of the sources of each period of a step."""
        species = len(self._model.network.species)
        for begin in {begin for step in record.formula_steps for begin, _ in step.emission}:
            if begin not in self._sources:
                self._sources[begin] = self._model.layout.zeros(species, self._source_levels)
            self._changed[begin] = self._left

    def _found(self) -> Adjoints:
        totals = self._executor.totals
        boundary_profile, top = self._area.total(totals.boundary_profile), self._area.total(totals.top)
        reactions = self._area.total(totals.reactions) if self._options.reactions else None
        boundary = {seconds: self._area.around(each) for seconds, each in totals.boundary.items()}
        sources = {begin: self._area.whole(each) for begin, each in sorted(self._sources.items())}
        read = None if totals.read is None else self._instants.read(totals.read)
        return Adjoints(self._area.whole(self._executor.x), sources, boundary, boundary_profile, top, reactions, read)

    def close(self) -> None:
        """End the threads."""
        self._executor.close()
