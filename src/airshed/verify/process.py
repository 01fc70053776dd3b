"""Holds a process against its twin: random trials of its operators, each with a negative control."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from airshed.kernels.cpu.pipeline import MechanismKernel, compile_mechanism
from airshed.kernels.reference.trial import changed, compiled_step, difference, random_trial, twin_step
from airshed.kernels.step.operator_fields import members
from airshed.kernels.step.operators import Operator
from airshed.mechanism.network import ReactionNetwork
from airshed.program.weights import two_step_weights
from airshed.verify.figure import Figure

SAME: Final = 1e-12
"""Greatest difference of a compiled step from its twin, in double precision."""

NOTICED: Final = 1e-10
"""Least difference by which a field or a number that is 10 % off is noticed."""

_SPOILT: Final = 1.1
_STEPS: Final = (two_step_weights(100.0, None), two_step_weights(130.0, 100.0))


def check_operators(name: str, operators: Sequence[Operator], network: ReactionNetwork) -> list[Figure]:
    """Return how far the compiled step of operators is from its twin, and whether the comparison notices a change.

    Fields and states are drawn at random, so that every formula, index and term of a budget counts; so the figures say
    nothing of whether the declaration is what its author meant. There is one control for each field and number.
    """
    kernel = compile_mechanism(replace(network, name=f"{network.name}-inert", reactions=()), 4, operators=(*operators,))
    found = [
        Figure(name, f"compiled step against its twin, trial {seed}", _difference(kernel, seed), SAME)
        for seed in range(len(_STEPS))
    ]
    controls = [
        Figure(name, f"control: {each.key} is 10 % off", _difference(kernel, 0, each.key), NOTICED, at_least=True)
        for each in members(operators)
    ]
    return found + controls


def _difference(kernel: MechanismKernel, seed: int, spoilt: str = "") -> float:
    trial = random_trial(kernel, (4, 11), _STEPS[seed], seed=seed)
    other = changed(trial, spoilt, _SPOILT) if spoilt else trial
    return difference(compiled_step(kernel, trial), twin_step(other), trial.weights.g)
