"""Rates of operators change with their fields by every function that formulas have."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from airshed.formula import cos, exp, log, log10, maximum, minimum, sin, sqrt, tan, where
from airshed.kernels.cpu.pipeline import compile_mechanism
from airshed.kernels.cpu.tangent.pipeline import TangentKernel
from airshed.kernels.reference.trial import Trial, compiled_step, random_trial
from airshed.kernels.step.operators import Operator, OperatorField
from airshed.mechanism import ReactionNetwork
from airshed.process.twostep import two_step_weights

from .kinds import rate
from .tangents import Arrays, compare, difference, random_direction, tangent_step

Network = Callable[[str], ReactionNetwork]

FORMULAS: dict[str, Callable[..., Any]] = {
    "smooth": lambda x, y: exp(-x) + log(1.0 + y) * log10(2.0 + x) + sqrt(x) / (1.0 + sin(x) + cos(y)) + tan(x) + x**y,
    "choices": lambda x, y: where((x > y) & (x < 0.5), x * y, 2.0 * x) + minimum(x, y) * maximum(x, 0.3) + (y > x),
}
KINKS: Callable[..., Any] = lambda x, y: abs(x - y) + (3.0 * x) % y + (y != x)  # noqa: E731


def kernel_and_trial(network: Network, formula: Callable[..., Any]) -> tuple[TangentKernel, Trial]:
    fields = OperatorField("x"), OperatorField("y", "ground")
    lost = Operator("lost", "loss", rate(formula), (0,), fields, term="lost")
    kernel = compile_mechanism(network("tracer"), 2, operators=(lost,)).tangent()
    trial = random_trial(kernel.forward, (4, 10), two_step_weights(100.0, None), seed=3)
    random = np.random.default_rng(5)
    given = {"x": random.uniform(0.1, 1.0, (2, 4, 10)), "y": random.uniform(0.1, 1.0, (4, 10))}
    return kernel, with_fields(trial, given)


def with_fields(trial: Trial, given: Arrays) -> Trial:
    """A trial with these fields at both ends of the interval."""
    first, second = (replace(each, fields=given) for each in trial.columns)
    return replace(trial, columns=(first, second))


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_functions_change_as_in_complex_numbers(network: Network, formula: Callable[..., Any]) -> None:
    kernel, trial = kernel_and_trial(network, formula)
    assert compare(kernel, trial, random_direction(trial, parts={"fields"})) < 1e-12


def test_what_complex_numbers_lack_changes_as_differences_do(network: Network) -> None:
    kernel, trial = kernel_and_trial(network, KINKS)
    to = random_direction(trial, parts={"fields"})
    given, change = trial.columns[0].fields, to.fields[0]

    def after(size: float) -> np.ndarray:
        moved = {name: given[name] + size * change[name] for name in given}
        return compiled_step(kernel.forward, with_fields(trial, moved)).fields.q

    slope = {"q": (after(1e-6) - after(-1e-6)) / 2e-6}
    found = tangent_step(kernel, trial, replace(to, fields=(change, change)))[1]
    assert difference(found, slope) < 1e-7
    assert difference({"q": 1.001 * found["q"]}, slope) > 1e-4
