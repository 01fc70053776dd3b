"""The gradient of a cost by all that a run is given: one run forward, and one backwards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.adjoint.backward import Adjoints, Backward
from airshed.adjoint.cost import Cost
from airshed.adjoint.trajectory import Trajectory
from airshed.air.case import Case
from airshed.air.model import AirModel
from airshed.core.errors import CaseError
from airshed.core.every import Every
from airshed.kernels.memory import AnyArray
from airshed.runtime.clock import Clock
from airshed.runtime.simulation import Simulation

Array = npt.NDArray[np.float64]

Progress = Callable[[str, float], None]
"""Is told what is being done, "forward" or "backward", and the part of it that is done, 0 to 1."""

EVERY: Final = 47
"""Steps between two restarts of the first run."""


@dataclass(frozen=True)
class Options:
    """How a gradient is computed.

    every          steps between two restarts: memory is that of N/every restarts and of `every` levels
    source_levels  lowest levels into which sources are asked for
    frozen         whether limiters of the transport stay as they were, rather than change with the mixing ratios
    """

    every: int = EVERY
    source_levels: int = 1
    frozen: bool = False


DEFAULT: Final = Options()


@dataclass(frozen=True)
class Gradient:
    """The value of a cost, its adjoints, and the model at the end of the run.

    steps  of the run, spin-up and all
    """

    value: float
    adjoints: Adjoints
    steps: int


def gradient(
    case: Case | str | Path, cost: Cost | Callable[[AirModel], Cost], *, options: Options = DEFAULT,
    progress: Progress = lambda part, done: None, **given: Any,
) -> Gradient:  # fmt: skip
    """Return the gradient of a cost: the exact derivative of the very steps that ran.

        gradient("cases/west-europe", airshed.adjoint.CostOfFunction(86400.0, ["O3"], my_function)).adjoints.initial

    cost   a :class:`airshed.adjoint.cost.Cost`, or a function that makes one for the model, which knows its grid
    given  what :class:`airshed.Simulation` takes besides: meteorology, initial, allow_code
    Winds stay as they are. Raises AirshedError for what is wrong with the case, and for a cost at no time of it.
    """
    with Simulation(case, **given) as simulation:
        model: AirModel = simulation.model
        asked = cost if not callable(cost) else cost(model)
        trajectory = run_forward(simulation, asked, options, progress)
        backward = Backward(
            model, trajectory, costs_of(asked, model), source_levels=options.source_levels, frozen=options.frozen
        )
        try:
            found = backward.run(lambda done: progress("backward", done))
        finally:
            backward.close()
        return Gradient(asked.value, found, len(trajectory.ends))


def run_forward(simulation: Simulation, cost: Cost, options: Options, progress: Progress) -> Trajectory:
    """Run a simulation that has not begun as far as a cost looks at it, and show the cost what it asks for."""
    model, end = simulation.model, simulation.end
    times = list(cost.times)
    if not times or times != sorted(times) or not 0.0 <= times[0] <= times[-1] <= end:
        raise CaseError(f"a cost is to have times that rise within the case, 0 to {end:g} s, not {times[:4]}")
    trajectory = Trajectory(model, options.every)
    every = [*(Every(each.every.value, first=0.0) for each in simulation.case.output)]
    every.append(Every(simulation.case.restart.every.value))
    first = model.seconds
    for time in times:
        clock = Clock(model, every, time)
        trajectory.run(clock, time, lambda: progress("forward", (model.seconds - first) / max(times[-1] - first, 1.0)))
        cost.see(time, lambda name: species(model, name))
    return trajectory


def species(model: AirModel, name: str) -> Array:
    """The mixing ratio of a species now; raises CaseError for another field."""
    if name not in model.network.names:
        model.fields.select([name], where="field")
        raise CaseError(f"{name} is no species; gradients are of mixing ratios")
    return model.value(name)


def costs_of(cost: Cost, model: AirModel) -> Mapping[float, Callable[[AnyArray], None]]:
    """Return for each time of a cost what adds its derivative to the packed adjoint of the mixing ratios."""

    def adder(time: float) -> Callable[[AnyArray], None]:
        def add(packed: AnyArray) -> None:
            for name, values in cost.gradient(time).items():
                packed[:, :, model.network.index(name)] += model.layout.pack(values, padding="constant")

        return add

    return {time: adder(time) for time in cost.times}
