"""Rates of operators change with their fields by every function that formulas have."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from airshed.formula import cos, exp, log, log10, maximum, minimum, sin, sqrt, tan, where
from airshed.kernels.backends.cpu.kernel import StepDerivative, compile_mechanism, compile_tangent
from airshed.kernels.operators import Operator, OperatorField
from airshed.kernels.step.trial import Trial, compiled_step, random_trial, reference_step
from airshed.mechanism import ReactionNetwork
from airshed.program.weights import two_step_weights

from .kinds import rate
from .tangents import Arrays, complex_trial, difference, random_direction, tangent_step, twin_changes

Network = Callable[[str], ReactionNetwork]

FORMULAS: tuple[Callable[..., Any], ...] = (
    lambda x, y: exp(-x) + log(1.0 + y) * log10(2.0 + x) + sqrt(x) / (1.0 + sin(x) + cos(y)) + tan(x) + x**y,
    lambda x, y: where((x > y) & (x < 0.5), x * y, 2.0 * x) + minimum(x, y) * maximum(x, 0.3) + (y > x),
    lambda x, y: abs(x - y) + (3.0 * x) % y + (y != x),
)
"""Smooth functions, selections, and functions without a complex form: each acts on its own species."""


@pytest.fixture(name="kernel")
def kernel_fixture(network: Network) -> StepDerivative:
    fields = OperatorField("x"), OperatorField("y", "ground")
    lost = [
        Operator(f"lost_{number}", "loss", rate(formula), (number,), fields, term="lost")
        for number, formula in enumerate(FORMULAS)
    ]
    inert = replace(network("toy"), name="inert", reactions=())
    return compile_tangent(compile_mechanism(inert, 2, operators=tuple(lost)))


def trial_of(kernel: StepDerivative) -> Trial:
    trial = random_trial(kernel.forward, (4, 10), two_step_weights(100.0, None), seed=3)
    random = np.random.default_rng(5)
    given = {"x": random.uniform(0.1, 1.0, (2, 4, 10)), "y": random.uniform(0.1, 1.0, (4, 10))}
    return with_fields(trial, given)


def with_fields(trial: Trial, given: Arrays) -> Trial:
    """A trial with these fields at both ends of the interval."""
    first, second = (replace(each, fields=given) for each in trial.columns)
    return replace(trial, columns=(first, second))


@pytest.mark.compiles
def test_functions_change_as_in_complex_numbers(kernel: StepDerivative) -> None:
    trial = trial_of(kernel)
    to = random_direction(trial, parts={"fields"})
    alone = replace(
        trial, setup=replace(trial.setup, operators=trial.setup.operators[:2])
    )  # without functions that NumPy refuses
    found, twin = tangent_step(kernel, trial, to)[1], twin_changes(reference_step(complex_trial(alone, to)))
    for species in (0, 1):
        one, other = ({"q": each["q"][species : species + 1]} for each in (found, twin))
        assert difference(one, other) < 1e-12, species
        assert np.abs(other["q"]).max() > 0.0


@pytest.mark.compiles
def test_what_complex_numbers_lack_changes_as_differences_do(kernel: StepDerivative) -> None:
    trial = trial_of(kernel)
    to = random_direction(trial, parts={"fields"})
    given, change = trial.columns[0].fields, to.fields[0]

    def after(size: float) -> np.ndarray:
        moved = {name: given[name] + size * change[name] for name in given}
        return compiled_step(kernel.forward, with_fields(trial, moved)).fields.q[2:3]

    slope = {"q": (after(1e-6) - after(-1e-6)) / 2e-6}
    found = tangent_step(kernel, trial, replace(to, fields=(change, change)))[1]["q"][2:3]
    assert difference({"q": found}, slope) < 1e-7
    assert difference({"q": 1.001 * found}, slope) > 1e-4
