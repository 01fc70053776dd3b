"""Steps of a mechanism in random air, recorded like those of a run, for mechanisms without a case."""

from dataclasses import replace

import numpy as np

from airshed.inverse.reverse.area import Area
from airshed.inverse.reverse.derivatives import Derivatives
from airshed.inverse.verify.recording import RecordedRun
from airshed.kernels.backends.cpu.kernel import compile_mechanism
from airshed.kernels.host import aligned_copy
from airshed.kernels.step.arguments import State, StepConstants, StepForcing, TimeLevel
from airshed.kernels.step.trial import Trial, forcing, make_stepper, random_trial
from airshed.mechanism import load_mechanism
from airshed.models.air.programs.records import FormulaStep, MoveRecord, StepRecord
from airshed.program.integrators import integrator
from airshed.program.weights import two_step_weights

_OPEN = 1e-3
"""Rate constants of open reactions [1/s]."""


def random_air(mechanism: str, steps: int, cells: tuple[int, int, int] = (18, 20, 40)) -> RecordedRun:
    """Return steps of 100 s in random air, of cells (level, lat, lon)."""
    network = load_mechanism(mechanism).with_defaults()
    network = network.bind({each.name: _OPEN for each in network.parameters})
    kernel = compile_mechanism(network, cells[0])
    trial = _as_in_runs(random_trial(kernel, cells[1:], two_step_weights(100.0, 100.0), sweeps=2, wind=0.01))
    stepper = make_stepper(kernel, trial)
    layout, state, setup = stepper.layout, stepper.state, trial.setup
    constants = StepConstants(
        setup.boundary.sides, setup.boundary.top, setup.density_factor, setup.vertical_weights, setup.thickness,
        setup.emitted, setup.sweeps, setup.oxygen, setup.nitrogen,
    )  # fmt: skip
    step = StepForcing(trial.weights, *forcing(trial, layout))
    first = State(**{name: aligned_copy(np.asarray(array)) for name, array in vars(state).items()})
    levels, records = [TimeLevel(first.q, first.air)], []
    program = integrator("imex")
    for number in range(steps):
        stepper.step(step.weights, step.transport, step.column)
        levels.append(TimeLevel(aligned_copy(state.q), aligned_copy(state.air)))
        begin, end = 100.0 * number, 100.0 * (number + 1)
        stage = MoveRecord((FormulaStep(begin, end, step, ((0.0, 1.0),)),))
        records.append(StepRecord(begin, end, program, (stage,)))
    stepper.close()
    kernels = {program.stages[0].key: kernel}
    derivatives = Derivatives(program, kernels, {}, Area.single_rank(layout), constants, network, np.ones(1))
    return RecordedRun(derivatives, first, aligned_copy(state.tendency), tuple(levels), tuple(records), 0.0)


def _as_in_runs(trial: Trial) -> Trial:
    """Return air whose cells differ by a third, at both time levels: in runs few values are clipped."""
    random, fields = np.random.default_rng(1), trial.fields
    species = np.exp(random.uniform(np.log(1e-14), np.log(1e-8), (len(fields.q), 1, 1, 1)))
    q = species * random.uniform(0.7, 1.3, fields.q.shape)
    return replace(trial, fields=replace(fields, q=q, q_previous=q, tendency=np.zeros_like(q)))
