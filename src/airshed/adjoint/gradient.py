"""The gradient of a cost by all that a run is given: one run forward, and one backwards."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.adjoint.actions import Action, Advance, Restore
from airshed.adjoint.backward import Adjoints, Backward
from airshed.adjoint.choice import make_plan, make_stores, room_of
from airshed.adjoint.cost import Cost, times_of
from airshed.adjoint.online import OnlinePlan, as_executed
from airshed.adjoint.options import DEFAULT, Options
from airshed.adjoint.trajectory import Trajectory, steps_expected
from airshed.air.case import Case
from airshed.air.model import AirModel
from airshed.core.errors import CaseError
from airshed.kernels.memory import AnyArray
from airshed.parallel.failure import raising_together
from airshed.parallel.swap import edge_swap
from airshed.runtime.clock import Clock, due_in
from airshed.runtime.simulation import Simulation

Array = npt.NDArray[np.float64]

Progress = Callable[[str, float], None]
"""Is told what is being done, "forward" or "backward", and the part of it that is done, 0 to 1."""

_ENDLESS: Final = 2**62


@dataclass(frozen=True)
class Gradient:
    """The value of a cost, its adjoints, and the model at the end of the run.

    steps       of the run, spin-up and all
    recomputed  steps that were made again on the way back
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

        gradient("cases/west-europe", airshed.adjoint.CostOfFunction(86400.0, ["O3"], my_function)).adjoints.initial

    cost   a :class:`airshed.adjoint.cost.Cost`, or a function that makes one for the model, which knows its grid
    given  what :class:`airshed.Simulation` takes besides: meteorology, initial, allow_code
    Winds stay as they are. With several ranks all of them call this, show the cost whole fields, and get the whole
    gradient, with the bits that one rank alone gets. Raises AirshedError for what is wrong with the case, and for a
    cost at no time of it.
    """
    with Simulation(case, **given) as simulation, TemporaryDirectory(prefix="airshed-") as folder:
        model: AirModel = simulation.model
        with (
            raising_together(model.subdomain.ranks),
            closing(make_stores(simulation.case.adjoint, Path(folder))) as stores,
        ):
            return _gradient(simulation, Trajectory(model, stores), cost, options, progress)


def _gradient(
    simulation: Simulation, trajectory: Trajectory, cost: Cost | Callable[[AirModel], Cost], options: Options,
    progress: Progress,
) -> Gradient:  # fmt: skip
    asked = cost if not callable(cost) else cost(simulation.model)
    back = run_forward(simulation, trajectory, asked, progress, options.watcher.planned)
    found = _run_back(simulation.model, trajectory, (asked, back), options, lambda done: progress("backward", done))
    return Gradient(asked.value, found, len(trajectory.ends), trajectory.recomputed)


def _run_back(
    model: AirModel, trajectory: Trajectory, wanted: tuple[Cost, Iterable[Action]], options: Options,
    progress: Callable[[float], None],
) -> Adjoints:  # fmt: skip
    cost, actions = wanted
    levels = options.source_levels or max((source.levels for source in model.parts.own_sources), default=1)
    swap, chosen = edge_swap(model.subdomain), replace(options, source_levels=levels)
    with closing(Backward(model, trajectory.derivatives, costs_of(cost, model), chosen, swap)) as backward:
        found = backward.run(trajectory, actions, progress, options.watcher.passed)
    options.watcher.found(model, found)
    return found


def run_forward(
    simulation: Simulation, trajectory: Trajectory, cost: Cost, progress: Progress,
    planned: Callable[[str], None] = lambda line: None,
) -> Iterable[Action]:  # fmt: skip
    """Run a simulation that has not begun as far as a cost looks at it; return the actions that take the run back.

    The cost is shown what it asks for, and the plan told in a line, once the number of steps is known.
    """
    model, case, end = simulation.model, simulation.case, simulation.end
    times = times_of(cost, end)
    first, section, seen = model.seconds, case.adjoint, iter([*times, inf])
    ahead = next(seen)

    def look() -> None:
        nonlocal ahead
        progress("forward", (model.seconds - first) / max(times[-1] - first, 1.0))
        while model.seconds >= ahead:
            cost.see(ahead, lambda name: species(model, name))
            ahead = next(seen)

    look()
    room = room_of(section, trajectory.sizes)
    expected = steps_expected(model, times[-1]) if section.plan == "auto" else None
    plan = OnlinePlan(room, expected)
    known = section.plan not in ("auto", "two-level")
    actions = iter([Advance(0, _ENDLESS, restarts=(0,))]) if known else plan.first_run()
    trajectory.run(actions, [(Clock(model, due_in(case), time), time) for time in times], look)
    steps = len(trajectory.ends)
    chosen = make_plan(section.plan, steps, room) if known else as_executed(OnlinePlan(room, expected), steps)
    planned(chosen.line(room.sizes))
    return [Restore(0, "memory"), *chosen.actions] if known else plan.backward(steps)


def species(model: AirModel, name: str) -> Array:
    """The mixing ratio of a species now in the whole area; raises CaseError for another field."""
    if name not in model.network.names:
        model.fields.select([name], where="field")
        raise CaseError(f"{name} is no species; gradients are of mixing ratios")
    return model.subdomain.whole(model.value(name))


def costs_of(cost: Cost, model: AirModel) -> Mapping[float, Callable[[AnyArray], None]]:
    """Return for each time of a cost what adds its derivative to the packed adjoint of the mixing ratios."""

    def adder(time: float) -> Callable[[AnyArray], None]:
        def add(packed: AnyArray) -> None:
            for name, values in cost.gradient(time).items():
                here = model.subdomain.window.of(values)
                packed[:, :, model.network.index(name)] += model.layout.pack(here, padding="constant")

        return add

    return {time: adder(time) for time in cost.times}
