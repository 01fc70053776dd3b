"""The derivative of a run in a direction: its tangent-linear model, step by step with the run."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.inverse.cost import Cost, time_at, times_of
from airshed.inverse.direction import Direction
from airshed.inverse.programs.derivatives import derivatives_of, simulation_of
from airshed.inverse.recording import STEPS, CostOrMaker, observing, step_ends
from airshed.inverse.replay import change_of_cost
from airshed.kernels.step.data import Level
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel
from airshed.runtime.simulation import Simulation

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Tangent:
    """The end of a run, and its derivative in a direction.

    seconds         of the end;  state  mixing ratios then [mol/mol] and  change  their derivative, each
                    (species, level, lat, lon)
    cost            its value and  derivative, None without one
    """

    seconds: float
    state: Array
    change: Array
    cost: float | None
    derivative: float | None


def tangent(
    case: Case | str | Path, direction: Direction | Callable[[AirModel], Direction], cost: CostOrMaker = None, *,
    steps: int = STEPS, **given: Any,
) -> Tangent:  # fmt: skip
    """Return the derivative of the state after some steps, or of a cost at its times, in a direction.

        tangent("cases/west-europe", Direction(rates=np.ones(134))).change

    direction  changes of inputs, or a function that makes them for a model
    cost       see :func:`airshed.inverse.gradient`: the run goes to its last time, of any length
    given      what :class:`airshed.Simulation` takes besides: meteorology, initial, allow_code
    Takes three times as long as the run alone, once the tangent is compiled. With several ranks all of them call this,
    and get the whole of it. Raises AirshedError for what is wrong with
    the case.
    """
    with simulation_of(case, **given) as simulation:
        model: AirModel = simulation.model
        to = direction(model) if callable(direction) else direction
        asked = cost(model) if callable(cost) else cost
        return _run(simulation, to, asked, steps)


def _run(simulation: Simulation, to: Direction, cost: Cost | None, steps: int) -> Tangent:
    model: AirModel = simulation.model
    derivatives = derivatives_of(model)
    names, whole, found = model.network.names, derivatives.area.whole, {}
    executor = derivatives.tangent(model.stepper.threads)

    def see(seconds: float) -> None:
        time = None if cost is None else time_at(cost.times, seconds)
        if cost is not None and time is not None:
            cost.see(time, lambda name: model.subdomain.whole(model.value(name)))
            found[time] = whole(executor.change)

    with closing(executor), observing(model, executor.step):
        executor.start(model.stepper.state, to, derivatives.members)
        see(model.seconds)
        for end in step_ends(simulation, steps, None if cost is None else times_of(cost, simulation.end)[-1]):
            executor.put_level(Level(model.stepper.state.q, model.stepper.state.air))
            see(end)
        derivative = (
            None if cost is None else sum(change_of_cost(cost, time, each, names) for time, each in found.items())
        )
        change = whole(executor.change)
        state = whole(model.stepper.state.q)
    return Tangent(model.seconds, state, change, None if cost is None else cost.value, derivative)
