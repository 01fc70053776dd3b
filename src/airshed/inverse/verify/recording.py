"""A short run recorded in memory with all levels and steps, and random directions and costs for it."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.text import duration
from airshed.inverse.cost import Cost, CostOfFunction, cost_times
from airshed.inverse.reverse.area import Area
from airshed.inverse.reverse.derivatives import Derivatives, create_derivatives, create_simulation, observing
from airshed.inverse.reverse.direction import Direction, given_fields, given_numbers
from airshed.kernels.host import AnyArray, aligned_copy
from airshed.kernels.operators import Member
from airshed.kernels.step.arguments import State, StepConstants, TimeLevel
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel
from airshed.models.air.programs.records import FormulaStep, StepRecord
from airshed.runtime.clock import Clock, due_in
from airshed.runtime.simulation import Simulation

STEPS = 12
"""Default number of recorded steps."""


@dataclass(frozen=True)
class RecordedRun:
    """RecordedFields run.

    first     state before the first step
    tendency  tendency T(n) [mol/s] of the last step
    levels    time levels: level 0 before the first step, and the level after each step
    begin     beginning of the first step [s]
    """

    derivatives: Derivatives
    first: State
    tendency: AnyArray
    levels: tuple[TimeLevel, ...]
    steps: tuple[StepRecord, ...]
    begin: float

    @property
    def area(self) -> Area:
        """Area of the model and columns of this rank."""
        return self.derivatives.area

    @property
    def constants(self) -> StepConstants:
        """Inputs that do not change between steps."""
        return self.derivatives.constants

    @property
    def network(self) -> ReactionNetwork:
        """Mechanism."""
        return self.derivatives.network

    @property
    def members(self) -> Mapping[str, Member]:
        """Fields and numbers that operators read, by name."""
        return self.derivatives.members

    @property
    def formula_steps(self) -> Iterator[FormulaStep]:
        """Formula steps of all steps, in order."""
        return (each for step in self.steps for each in step.formula_steps)

    @property
    def times(self) -> list[float]:
        """Times [s] of the levels."""
        return [self.begin, *(step.end for step in self.steps)]

    @property
    def emission(self) -> dict[float, int]:
        """Number of lowest levels with emission, by the beginning [s] of each period of sources."""
        return {
            begin: each.forcing.column.emission.shape[-2]
            for each in self.formula_steps if each.forcing.column is not None
            for begin, _ in each.emission
        }  # fmt: skip

    def numbers(self) -> dict[str, Array]:
        """Return the numbers of operators in the first step."""
        given = given_numbers(next(self.formula_steps).forcing)
        return {
            name: np.array(given.get(name, member.values), dtype=np.float64)
            for name, member in self.members.items() if member.shape is None
        }  # fmt: skip

    @cached_property
    def instants(self) -> dict[str, list[AnyArray]]:
        """Packed fields that operators read at each instant, in order of time."""
        found: dict[str, dict[int, AnyArray]] = {
            name: {} for name, each in self.members.items() if each.shape is not None
        }
        for step in self.formula_steps:
            for name, pair in given_fields(step.forcing).items():
                for each in pair if name in found else ():
                    found[name].setdefault(id(each), each)
        return {name: list(each.values()) for name, each in found.items()}

    @cached_property
    def boundary(self) -> dict[float, Array]:
        """Boundary concentrations (species, level, face cell) at each instant [s]; empty with a profile."""
        given = [each.forcing.transport.boundary for each in self.formula_steps]
        packed = {end.seconds: end for each in given if each is not None for end in (each.start, each.end)}
        levels = self.constants.profile.shape[1]
        return {seconds: self.area.whole_boundary(packed[seconds], levels) for seconds in sorted(packed)}


def step_ends(simulation: Simulation, steps: int, until: float | None) -> Iterator[float]:
    """Run a simulation step by step until a time [s], or for a number of steps; yield the end of each step.

    Raises CaseError if the case ends before the first step.
    """
    model, case = simulation.model, simulation.case
    end = simulation.end if until is None else until
    clock, done = Clock(model, due_in(case), end), 0
    while model.seconds < end and (until is not None or done < steps):
        model.step_through(clock.next_steps(end, 1))
        done += 1
        yield model.seconds
    if not done:
        raise CaseError(f"there is no step to record: {steps} steps of a case that ends at {duration(simulation.end)}")


def record(simulation: Simulation, steps: int = STEPS, until: float | None = None) -> RecordedRun:
    """Record the first steps of a simulation, or all steps until a time [s].

    With several ranks all of them call this, and each records its own columns. Raises CaseError for a case without an
    adjoint.
    """
    model: AirModel = simulation.model
    derivatives = create_derivatives(model)
    records: list[StepRecord] = []
    state, begin = model.stepper.state, model.seconds
    first = State(**{name: aligned_copy(array) for name, array in vars(state).items()})
    levels = [TimeLevel(first.q, first.air)]
    with observing(model, lambda record: records.append(record.detached()), lengths=True):
        for _ in step_ends(simulation, steps, until):
            levels.append(TimeLevel(aligned_copy(state.q), aligned_copy(state.air)))
    tendency = aligned_copy(state.tendency)
    return RecordedRun(derivatives, first, tendency, tuple(levels), tuple(records), begin)


def record_case(
    case: Case | str | Path, cost: "CostOrMaker" = None, *, steps: int = STEPS, **given: Any
) -> tuple[RecordedRun, Callable[[], Cost] | None]:  # fmt: skip
    """Return a recorded run of a case, until the last time of a cost if there is one, and a function that copies it.

    The cost may refer to the model, which cannot be copied: the copies share it.

    given  further parameters of :class:`airshed.Simulation`: meteorology, initial, allow_code
    """
    with create_simulation(case, **given) as simulation:
        model = simulation.model
        made = cost(model) if callable(cost) else cost
        if made is None:
            return record(simulation, steps), None
        run = record(simulation, steps, cost_times(made, simulation.end)[-1])
        return run, lambda: deepcopy(made, {id(model): model})


CostOrMaker = Cost | Callable[[AirModel], Cost] | None
"""Cost, function that returns one for a model, or None for a random cost."""


def random_cost(recorded: RecordedRun, seed: int, change: Array | None = None) -> CostOfFunction:
    """Return a random weighted sum of all mixing ratios at the end of a recorded run.

    The weights are 0.5 to 1, divided by the mean of the species, so that rare species have the same influence.

    change  perturbation (species, level, lat, lon) [mol/mol]; a species is divided by its mean where that is larger
    """
    random = np.random.default_rng(seed)
    q = recorded.area.whole(recorded.levels[-1].q)
    sizes = np.abs(q if change is None else np.maximum(q, np.abs(change))).mean(axis=(1, 2, 3))
    cells = q[0].size
    weights = {
        name: random.uniform(0.5, 1.0, q.shape[1:]) / (cells * size)
        for name, size in zip(recorded.network.names, sizes, strict=True)
        if size > 0.0
    }

    def weighted(fields: Mapping[str, Array]) -> tuple[float, Mapping[str, Array]]:
        return float(sum(np.sum(each * fields[name]) for name, each in weights.items())), weights

    return CostOfFunction(recorded.steps[-1].end, list(weights), weighted)


def random_direction(recorded: RecordedRun, seed: int = 0, *, zeros: bool = False) -> Direction:
    """Return random perturbations of all inputs of a recorded run, -1 to 1 times their values.

    zeros  also perturb zeros, by up to a tenth of the mean of the array. Mixing ratios are perturbed by a tenth of the
           mean of their species at the end, so that short-lived species remain rare.
    """
    random, whole = np.random.default_rng(seed), recorded.area.whole
    means = np.abs(whole(recorded.levels[-1].q)).mean(axis=(1, 2, 3))

    def change(values: Array, mean: Array | float | None = None) -> Array:
        if mean is None:
            mean = np.abs(values).mean() if values.size else 0.0
        size = np.where(values == 0.0, 0.1 * mean if zeros else 0.0, values)
        return np.asarray(random.uniform(-1.0, 1.0, values.shape) * size)

    def ratio_change(values: Array) -> Array:
        return change(values, np.resize(means, len(values)).reshape(-1, *[1] * (values.ndim - 1)))

    first: dict[float, Array] = {}
    for step in recorded.formula_steps if recorded.constants.emitted else ():
        for begin, _ in step.emission:
            if begin not in first and step.forcing.column is not None:
                first[begin] = change(np.abs(whole(step.forcing.column.emission)))
    constants = recorded.constants
    boundary = {seconds: ratio_change(each) for seconds, each in recorded.boundary.items()}
    fields = {
        name: [allowed(recorded.members[name], change(whole(each))) for each in instants]
        for name, instants in recorded.instants.items()
    }
    return Direction(
        ratio_change(whole(recorded.first.q)), first, ratio_change(constants.profile),
        ratio_change(constants.top),
        random.uniform(-1.0, 1.0, len(recorded.network.reactions)),
        {name: change(each) for name, each in recorded.numbers().items()}, fields, boundary,
    )  # fmt: skip


def allowed(member: Member, change: Array) -> Array:
    """Return a valid perturbation of a field: zero fluxes at the edges, and matrices that conserve mass."""
    if member.shape == "west faces":
        change[..., [0, -1]] = 0.0
    if member.shape == "south faces":
        change[..., [0, -1], :] = 0.0
    if member.shape == "matrix":
        levels = np.arange(len(change))
        change[levels, levels] = 0.0
        change[levels, levels] = -change.sum(axis=1)
    return change
