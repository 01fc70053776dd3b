"""Comparison of a process with its reference implementation: random trials, and negative controls."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from airshed.kernels.backend import StepKernel, compile_mechanism
from airshed.kernels.operators import Operator, members
from airshed.kernels.step.trial import changed, compiled_step, difference, random_trial, reference_step
from airshed.mechanism.network import ReactionNetwork
from airshed.program.weights import two_step_weights
from airshed.verify.figure import Figure

SAME: Final = 1e-12
"""Largest difference of a compiled step from the reference implementation, in double precision."""

NOTICED: Final = 1e-10
"""Smallest difference that a field or a number with an error of 10 % must cause."""

_SPOILT: Final = 1.1
_STEPS: Final = (two_step_weights(100.0, None), two_step_weights(130.0, 100.0))


def check_operators(name: str, operators: Sequence[Operator], network: ReactionNetwork) -> list[Figure]:
    """Return differences of the compiled step from the reference, with correct and with wrong inputs.

    Fields and states are random, so that every formula, index and term of a budget contributes. The figures do not
    check whether the declaration is the intended one. There is one control for each field and number.
    """
    kernel = compile_mechanism(replace(network, name=f"{network.name}-inert", reactions=()), 4, operators=(*operators,))
    found = [
        Figure(name, f"compiled step against the reference, trial {seed}", _difference(kernel, seed), SAME)
        for seed in range(len(_STEPS))
    ]
    controls = [
        Figure(name, f"control: {each.key} is 10 % off", _difference(kernel, 0, each.key), NOTICED, at_least=True)
        for each in members(operators)
    ]
    return found + controls


def _difference(kernel: StepKernel, seed: int, spoilt: str = "") -> float:
    trial = random_trial(kernel, (4, 11), _STEPS[seed], seed=seed)
    other = changed(trial, spoilt, _SPOILT) if spoilt else trial
    return difference(compiled_step(kernel, trial), reference_step(other), trial.weights.g)
