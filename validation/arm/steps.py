"""Compare compiled steps with their reference implementations, and print the largest relative differences as JSON.

Runs on the processor in question, so it imports only NumPy and Airshed. The steps are EMEP by forward Euler and by the
two-step formula, chemistry by a Rosenbrock method, and days of pasture in random cells.
"""

import json
import platform

import numpy as np

from airshed.kernels.backends.cpu.cells import CellSolver, compile_chemistry
from airshed.kernels.backends.cpu.kernel import compile_mechanism
from airshed.kernels.cells import METHODS, Tolerances, stack_inputs
from airshed.kernels.cells.arguments import integrate_cells
from airshed.kernels.cells.reference import Cell, StepControl, integrate
from airshed.kernels.schedule import noon
from airshed.kernels.step.trial import compiled_step, difference, random_trial, reference_step
from airshed.mechanism import load_mechanism
from airshed.program.weights import two_step_weights
from airshed.verify import pasture

LEVELS, SHAPE = 3, (4, 11)


def emep_steps() -> dict[str, float]:
    """Return the differences of a forward Euler step and of a two-step one, with two sweeps."""
    network = load_mechanism("emep")
    kernel = compile_mechanism(network, LEVELS, "double", families=("N", "S"))
    found = {}
    for name, before in (("Euler", None), ("two-step", 100.0)):
        weights = two_step_weights(100.0, before)
        trial = random_trial(kernel, SHAPE, weights, seed=1, sweeps=2)
        found[f"EMEP, {name}"] = difference(compiled_step(kernel, trial), reference_step(trial), weights.g)
    return found


def rosenbrock_step() -> float:
    """Return the difference of an accepted step of EMEP chemistry in a cell at noon."""
    kernel = compile_chemistry(load_mechanism("emep"), "double")
    values, tolerances, method = noon(kernel.network), Tolerances(1e-2, 1e3), METHODS["rodas3"]
    y = 10.0 ** np.random.default_rng(0).uniform(6.0, 11.0, len(kernel.network.species))
    control = StepControl(tolerances, most_steps=1, first=1e-6)
    (expected,) = integrate(Cell.still(kernel.network, values), method, y, 0.0, 600.0, control)
    solver = CellSolver(kernel, method, tolerances, most_steps=1)
    found = integrate_cells(solver, y[:, None], stack_inputs(kernel, values, (), 1), 0.0, 600.0, first=1e-6)
    assert expected.accepted
    assert found.accepted[0] == 1
    return float(np.max(np.abs(found.y[:, 0] - expected.y) / (np.abs(expected.y) + 1e-9 * tolerances.absolute)))


def pasture_days(options: str, cells: int = 200, days: int = 5) -> float:
    """Return the difference of the state after some days in random cells, each from the reference's state."""
    model, random = pasture.model(options), pasture.random_cells(cells, days, seed=3)
    step, worst = model.compiled(), 0.0
    for day in range(days):
        values = {name: np.broadcast_to(each, cells).astype(float) for name, each in random.day(day).items()}
        values |= model.numbers
        expected, found = model.reference(values), dict(zip(model.outputs, step(values), strict=True))
        for name, each in expected.items():
            scale = np.abs(each) + np.max(np.abs(each)) + 1e-30
            worst = max(worst, float(np.max(np.abs(found[name] - each) / scale)))
    return worst


if __name__ == "__main__":
    found = emep_steps() | {"EMEP, rodas3": rosenbrock_step()}
    for options in pasture.OPTIONS:
        found[f"pasture, {options}"] = pasture_days(options)
    print(json.dumps({"machine": platform.machine(), "differences": found}))
