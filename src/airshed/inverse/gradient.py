"""The gradient of a cost by all that a run is given: one run forward, and one backwards."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.every import INSTANT
from airshed.inverse.actions import Action, Advance, Restore
from airshed.inverse.backward import Adjoints, Backward
from airshed.inverse.choice import make_plan, make_stores, plan_from_step, room_of
from airshed.inverse.commits import NOWHERE, AnyCommits, Commits, Problem, committing
from airshed.inverse.cost import Cost, times_of
from airshed.inverse.cost_observer import CostObserver, WatcherState
from airshed.inverse.fingerprints import fingerprints
from airshed.inverse.online import as_executed
from airshed.inverse.options import DEFAULT, Options
from airshed.inverse.programs.derivatives import Derivatives, simulation_of
from airshed.inverse.trajectory import Trajectory, steps_expected
from airshed.kernels.host import AnyArray
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel
from airshed.parallel.failure import raising_together
from airshed.runtime.clock import Clock, due_in
from airshed.runtime.simulation import Simulation
from airshed.runtime.using import quick_turns

Array = npt.NDArray[np.float64]

Progress = Callable[[str, float], None]
"""Callback for the part of the "forward" run or the "backward" pass that is done, 0 to 1."""

_ENDLESS: Final = 2**62


@dataclass(frozen=True)
class Gradient:
    """The value of a cost, and its adjoints.

    steps       of the run, spin-up included
    recomputed  number of steps that the backward pass ran again
    """

    value: float
    adjoints: Adjoints
    steps: int
    recomputed: int


def gradient(
    case: Case | str | Path, cost: Cost | Callable[[AirModel], Cost], *, options: Options = DEFAULT,
    progress: Progress = lambda part, done: None, **given: Any,
) -> Gradient:  # fmt: skip
    """Return the gradient of a cost: the exact derivative of the very steps that ran.

        gradient("cases/west-europe", airshed.inverse.CostOfFunction(86400.0, ["O3"], my_function)).adjoints.initial

    cost   a :class:`airshed.inverse.cost.Cost`, or a function that makes one for a model
    given  what :class:`airshed.Simulation` takes besides: meteorology, initial, allow_code
    With `Options(resume=folder)` one that was killed goes on from there.
    Winds stay as they are. With several ranks all of them call this, show the cost whole fields, and get the whole
    gradient, with the bits that one rank alone gets. Raises AirshedError for what is wrong with the case, and for a
    cost at no time of it.
    """
    with simulation_of(case, **given) as simulation, _folder() as folder:
        model: AirModel = simulation.model
        with (
            raising_together(model.subdomain.ranks),
            closing(make_stores(simulation.case.adjoint, Path(folder), model.subdomain.ranks)) as stores,
        ):
            for line in stores.notices:
                options.watcher.on_notice(line)
            return _gradient(simulation, Trajectory(model, stores), cost, options, progress)


def _folder() -> "TemporaryDirectory[str]":
    """A folder for checkpoints; another rank may still remove its own from it."""
    return TemporaryDirectory(prefix="airshed-", ignore_cleanup_errors=True)


def _gradient(
    simulation: Simulation, trajectory: Trajectory, cost: Cost | Callable[[AirModel], Cost], options: Options,
    progress: Progress,
) -> Gradient:  # fmt: skip
    cost = cost if not callable(cost) else cost(simulation.model)
    with committing(_commits(simulation, cost, options), keep=options.keep) as commits:
        for line in commits.notices:
            options.watcher.on_notice(line)
        back = run_forward(simulation, trajectory, cost, progress, options.watcher.on_plan, commits)
        with _backward(simulation.model, trajectory.derivatives, cost, options) as backward:
            watcher = WatcherState(cost, options.watcher)
            if trajectory.left is not None:
                watcher.resume(commits)
                backward.resume(commits, trajectory)
            commits.add(backward)
            commits.add(watcher)
            shown = partial(progress, "backward")
            found = backward.run(trajectory, back, shown, options.watcher.on_step, commits.offer)
        options.watcher.on_adjoints(simulation.model, found)
    return Gradient(cost.value, found, len(trajectory.ends), trajectory.recomputed)


def _commits(simulation: Simulation, cost: Cost, options: Options) -> AnyCommits:
    if options.resume is None:
        return NOWHERE
    case, subdomain = simulation.case, simulation.model.subdomain
    asked = (
        f"{getattr(cost, 'words', type(cost).__name__)}, {len(cost.times)} times from {cost.times[0]:g} s to "
        f"{cost.times[-1]:g} s, frozen={options.frozen}, read={options.read}, reactions={options.reactions}, "
        f"levels={options.source_levels}"
    )
    place = f"rank {subdomain.ranks.rank} of {subdomain.ranks.size} with {subdomain.window}"
    problem = Problem(case.to_toml(), asked, place, fingerprints(simulation.model))
    return Commits(Path(options.resume), subdomain.ranks, problem, case.adjoint.commit.value)


@contextmanager
def _backward(model: AirModel, derivatives: Derivatives, cost: Cost, options: Options) -> Iterator[Backward]:
    levels = options.source_levels or max((source.levels for source in model.parts.own_sources), default=1)
    chosen = replace(options, source_levels=levels)
    with closing(Backward(model, derivatives, costs_of(cost, model), chosen)) as backward:
        yield backward


def run_forward(
    simulation: Simulation, trajectory: Trajectory, cost: Cost, progress: Progress,
    planned: Callable[[str], None] = lambda line: None, commits: AnyCommits = NOWHERE,
) -> Iterable[Action]:  # fmt: skip
    """Run a simulation that has not begun to the last time of a cost; return the actions of the backward pass.

    planned  callback for the checkpoint plan, a line, when the number of steps is known
    commits  to continue from; a commit of the backward pass runs nothing here
    """
    model, section, first = simulation.model, simulation.case.adjoint, simulation.model.seconds
    times = times_of(cost, simulation.end)
    if times[-1] <= first + INSTANT:
        raise CaseError(f"a cost at the beginning of the run, {first:g} s, depends on no step; give a later time")
    observer, room = CostObserver(model, cost, times, keeps=commits.keeps), room_of(section, trajectory.sizes)
    expected = steps_expected(model, times[-1]) if section.plan == "auto" else None
    first_plan, plan = (plan_from_step(section.plan, room, expected) for _ in range(2))
    if commits.note is not None:
        trajectory.resume(commits)
        observer.resume(commits)
    commits.add(trajectory)
    commits.add(observer)

    def look() -> None:
        progress("forward", (model.seconds - first) / max(times[-1] - first, 1.0))
        observer.observe()
        commits.offer()

    if trajectory.left is None:
        look()
        actions = first_plan.first_run() if first_plan else iter([Advance(0, _ENDLESS, restarts=(0,))])
        due = due_in(simulation.case)
        with quick_turns():
            trajectory.run(actions, [(Clock(model, due, time, trajectory.planned), time) for time in times], look)
        commits.turn()
    steps = len(trajectory.ends)
    chosen = as_executed(plan, steps) if plan else make_plan(section.plan, steps, room)
    planned(chosen.line(room.sizes))
    return plan.backward(steps) if plan else [Restore(0, "memory"), *chosen.actions]


def costs_of(cost: Cost, model: AirModel) -> Mapping[float, Callable[[AnyArray], None]]:
    """Return for each time of a cost what adds its derivative to the packed adjoint of the mixing ratios."""

    def adder(time: float) -> Callable[[AnyArray], None]:
        def add(packed: AnyArray) -> None:
            for name, values in cost.gradient(time).items():
                if name not in model.network.names or np.shape(values) != model.whole.shape:
                    raise CaseError(
                        f"the gradient of the cost at {time:g} s has {name} with the shape {np.shape(values)}; "
                        f"it is to have species with that of the grid, {model.whole.shape}"
                    )
                here = model.subdomain.window.of(values)
                packed[:, :, model.network.index(name)] += model.layout.pack(here, padding="constant")

        return add

    return {time: adder(time) for time in cost.times}
