"""Gradient of a cost with respect to all inputs of a run, from one forward run and one backward pass."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.alarm import INSTANT
from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.text import duration
from airshed.inverse.backward import Adjoints, Backward
from airshed.inverse.checkpoints.actions import Action
from airshed.inverse.checkpoints.commits import Commits, Part, Problem, committing, fingerprints
from airshed.inverse.checkpoints.plans import as_executed, checkpoint_plan
from airshed.inverse.checkpoints.trajectory import Trajectory, steps_expected, storage_budget
from airshed.inverse.cost import Cost, cost_times
from airshed.inverse.reverse.derivatives import create_simulation
from airshed.inverse.reverse.runners import AdjointOptions
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel
from airshed.parallel.failure import raising_together
from airshed.runtime.clock import Clock, due_in
from airshed.runtime.locking import quick_turns
from airshed.runtime.simulation import Simulation


class Watcher:
    """Callbacks of a gradient; this base class ignores them."""

    def on_plan(self, line: str) -> None:
        """Receive the description of the checkpoint plan before the backward pass."""

    def on_step(self, seconds: float, jump: Callable[[], Array]) -> None:
        """Receive a time [s] of the backward pass.

        jump  returns the sensitivity to a jump of the mixing ratios at that time (species, level, lat, lon)
        """

    def on_notice(self, line: str) -> None:
        """Receive a message at the start: the commit from which the gradient resumes, or a damaged commit."""

    def save(self) -> Mapping[str, Mapping[str, Array]]:
        """Return the arrays to commit, by names of letters, digits and -; arrays of a name must not change later."""
        return {}

    def restore(self, saved: Mapping[str, Mapping[str, Array]]) -> None:
        """Restore the arrays of :meth:`save` when a gradient resumes."""

    def on_adjoints(self, model: AirModel, adjoints: Adjoints) -> None:
        """Receive the adjoints while the model is still open."""


@dataclass(frozen=True)
class Options:
    """Options of a gradient.

    Parameters
    ----------
    source_levels : int
        Number of lowest levels with adjoints of sources; 0 for all levels that have emission.
    frozen : bool
        Treat the limiters of transport as constant.
    read : bool
        Compute the adjoints of fields and numbers that processes read in steps.
    reactions : bool
        Compute the adjoints of factors on reaction rates. With `read` they take a sixth of the time of a reversed
        step, which is saved only if neither is computed.
    watcher : Watcher
        Callbacks.
    resume : Path or str, optional
        Folder of the commits, see `adjoint.commit` of the case. A killed gradient of the same case and cost resumes
        from the last commit; results are bitwise identical.
    keep : bool
        Retain the commits at the end, until :func:`airshed.inverse.checkpoints.commits.remove_commits`.
    """

    source_levels: int = 1
    frozen: bool = False
    read: bool = True
    reactions: bool = True
    watcher: Watcher = field(default_factory=Watcher)
    resume: Path | str | None = None
    keep: bool = False


DEFAULT: Final = Options()


_NOTED: Final = "noted-"


class CostEvaluator:
    """Evaluation of a cost at its times; its fields, and the arrays of the watcher, can be committed.

    times  times of the cost [s]
    keeps  store the fields that the cost reads; each rank stores its own part
    """

    def __init__(
        self, model: AirModel, cost: Cost, end: float, watcher: Watcher | None = None, *, keeps: bool = False
    ) -> None:
        self.cost, self.times, self._model = cost, cost_times(cost, end), model
        self._watcher, self._keeps = watcher or Watcher(), keeps
        self._observed: list[dict[str, Array]] = []  # the fields that the cost has read, by time

    def observe(self) -> None:
        """Evaluate the cost at each of its times that the model has reached since the last call."""
        while self._is_missing and self._model.seconds >= self.times[len(self._observed)]:
            self._observe_next({})

    @property
    def _is_missing(self) -> bool:
        return len(self._observed) < len(self.times)

    def _observe_next(self, fields: dict[str, Array], *, resumed: bool = False) -> None:
        """Evaluate the cost at its next time, with fields of a commit or of the model."""

        def of(name: str) -> Array:
            if resumed and name not in fields:
                raise CaseError(f"the gradient cannot resume with another cost: {name} was not requested before")
            own = fields[name] if resumed else species(self._model, name)
            if self._keeps:
                fields[name] = own.copy()
            return self._model.subdomain.whole(own)

        self.cost.observe(self.times[len(self._observed)], of)
        self._observed.append(fields)

    def parts(self) -> Mapping[str, Part]:
        """Return the fields that the cost has read, and the arrays of the watcher; see ``commits.CommitSource``."""
        seen = {f"seen-{number}": Part(0, partial(dict, fields)) for number, fields in enumerate(self._observed)}
        return seen | {_NOTED + name: Part(0, partial(dict, arrays)) for name, arrays in self._watcher.save().items()}

    def facts(self) -> Mapping[str, Any]:
        """Return the number of evaluations, the value of the cost, and the names of the watcher's arrays."""
        value = None if self._is_missing else repr(float(self.cost.value))
        return {"seen": len(self._observed), "value": value, "noted": list(self._watcher.save())}

    def resume(self, commits: Commits) -> None:
        """Repeat the evaluations before a commit, and restore the watcher; raise CaseError for another cost."""
        assert commits.note is not None
        note = commits.note
        for number in range(note["seen"]):
            self._observe_next(dict(commits.get(f"seen-{number}")), resumed=True)
        value = self.facts()["value"]
        if note["value"] != value:
            raise CaseError(
                f"the gradient cannot resume with another cost: its value was {note['value']}, now is {value}"
            )
        self._watcher.restore({name: commits.get(_NOTED + name) for name in note["noted"]})


def species(model: AirModel, name: str) -> Array:
    """Return the current mixing ratio of a species on this rank; raises CaseError for another field."""
    if name not in model.network.names:
        model.fields.select([name], where="field")
        raise CaseError(f"{name} is not a species; a cost can only read mixing ratios")
    return np.asarray(model.value(name))


Progress = Callable[[str, float], None]
"""Callback for the completed fraction of the "forward" run or the "backward" pass, 0 to 1."""


@dataclass(frozen=True)
class Gradient:
    """Value of a cost and its sensitivities.

    Attributes
    ----------
    value : float
        Value of the cost.
    adjoints : Adjoints
        Sensitivities to all inputs of the run.
    steps : int
        Number of steps of the run, spin-up included.
    recomputed : int
        Number of steps that the backward pass repeated.
    """

    value: float
    adjoints: Adjoints
    steps: int
    recomputed: int


def gradient(
    case: Case | str | Path, cost: Cost | Callable[[AirModel], Cost], *, options: Options = DEFAULT,
    progress: Progress = lambda part, done: None, **given: Any,
) -> Gradient:  # fmt: skip
    """Return the gradient of a cost with respect to all inputs: the exact derivative of the discrete steps of the run.

    Winds are no inputs of the gradient. With several ranks all of them call this. The cost receives the complete
    fields, and each rank returns the complete gradient, bitwise identical to one rank.

    Parameters
    ----------
    case
        A case, or the path or name of one.
    cost
        A :class:`airshed.inverse.Cost`, or a function that returns one for a model.
    options
        Options; with ``Options(resume=folder)`` a killed gradient continues from its last commit.
    progress
        Function that receives "forward" or "backward" and the completed part, 0 to 1.
    **given
        Further arguments of the model: meteorology, initial, boundary, allow_code.

    Returns
    -------
    Gradient
        The value of the cost, and its sensitivities to all inputs.

    Raises
    ------
    AirshedError
        If the case is wrong, or if the cost has no time within the case.

    Examples
    --------
    >>> cost = airshed.inverse.CostOfFunction(86400.0, ["O3"], my_function)
    >>> airshed.inverse.gradient("west-europe", cost).adjoints.initial
    """
    with create_simulation(case, **given) as simulation:
        model: AirModel = simulation.model
        with raising_together(model.subdomain.ranks), closing(Trajectory(model)) as trajectory:
            return _gradient(simulation, trajectory, cost, options, progress)


def _gradient(
    simulation: Simulation, trajectory: Trajectory, cost: Cost | Callable[[AirModel], Cost], options: Options,
    progress: Progress,
) -> Gradient:  # fmt: skip
    model: AirModel = simulation.model
    cost = cost if not callable(cost) else cost(model)
    with committing(_commits(simulation, cost, options), keep=options.keep) as commits:
        for line in commits.notices if commits else ():
            options.watcher.on_notice(line)

        # The forward run.
        observed = CostEvaluator(model, cost, simulation.end, options.watcher, keeps=commits is not None)
        actions = run_forward(simulation, trajectory, observed, progress, options.watcher.on_plan, commits)

        # The backward pass.
        levels = options.source_levels or max((source.levels for source in model.parts.own_sources), default=1)
        chosen = AdjointOptions(
            model.stepper.threads, read=options.read, reactions=options.reactions, frozen=options.frozen
        )  # fmt: skip
        with closing(Backward(model, trajectory.derivatives, cost, chosen, levels)) as backward:
            if commits is not None:
                if trajectory.left is not None:
                    backward.resume(commits, trajectory)
                commits.add(backward)
            pause = commits.offer if commits is not None else lambda: None
            found = backward.run(trajectory, actions, partial(progress, "backward"), options.watcher.on_step, pause)
        options.watcher.on_adjoints(model, found)
    return Gradient(cost.value, found, len(trajectory.ends), trajectory.recomputed)


def _commits(simulation: Simulation, cost: Cost, options: Options) -> Commits | None:
    if options.resume is None:
        return None
    case, subdomain = simulation.case, simulation.model.subdomain
    request = (
        f"{getattr(cost, 'words', type(cost).__name__)}, {len(cost.times)} times from {duration(cost.times[0])} to "
        f"{duration(cost.times[-1])}, frozen={options.frozen}, read={options.read}, reactions={options.reactions}, "
        f"levels={options.source_levels}"
    )
    tile = f"rank {subdomain.ranks.rank} of {subdomain.ranks.size} with {subdomain.window}"
    problem = Problem(case.to_toml(), request, tile, fingerprints(simulation.model))
    return Commits(Path(options.resume), subdomain.ranks, problem, case.adjoint.commit.value)


def run_forward(
    simulation: Simulation, trajectory: Trajectory, observed: CostEvaluator, progress: Progress,
    planned: Callable[[str], None] = lambda line: None, commits: Commits | None = None,
) -> Iterable[Action]:  # fmt: skip
    """Run a simulation from its start to the last time of a cost; return the actions of the backward pass.

    planned  callback for the description of the checkpoint plan, called when the number of steps is known
    commits  commits to resume from; with a commit of the backward pass no step is run here
    """
    model, section, first = simulation.model, simulation.case.adjoint, simulation.model.seconds
    times = observed.times
    if times[-1] <= first + INSTANT:
        raise CaseError(
            f"the cost is at the beginning of the run, {duration(first)}, before any step; give a later time"
        )
    budget = storage_budget(section, trajectory.sizes)
    expected = steps_expected(model, times[-1])
    first_plan, plan = (checkpoint_plan(section.plan, budget, expected) for _ in range(2))
    if commits is not None:
        if commits.note is not None:
            trajectory.resume(commits)
            observed.resume(commits)
        commits.add(trajectory)
        commits.add(observed)

    def after_batch() -> None:
        progress("forward", (model.seconds - first) / max(times[-1] - first, 1.0))
        observed.observe()
        if commits is not None:
            commits.offer()

    if trajectory.left is None:
        after_batch()
        due = due_in(simulation.case)
        with quick_turns():
            clocks = [(Clock(model, due, time, trajectory.planned), time) for time in times]
            trajectory.run(first_plan.first_run(), clocks, after_batch)
        if commits is not None:
            commits.offer_before_backward()
    steps = len(trajectory.ends)
    planned(as_executed(plan, steps).line(budget.sizes))
    return plan.backward(steps)
