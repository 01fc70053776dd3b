"""The compiled tangent of a step equals that of the complex reference, and is the transpose of the adjoint."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import KernelError
from airshed.formula.tree import Number
from airshed.kernels.backends.cpu.kernel import StepDerivative, StepKernel, compile_mechanism, compile_tangent
from airshed.kernels.cpp import GeneratedText
from airshed.kernels.step import emit
from airshed.kernels.step.arguments import StepChanges
from airshed.kernels.step.trial import compiled_step, random_trial, reference_step, with_boundary
from airshed.mechanism import ReactionNetwork
from airshed.program.weights import StageWeights, two_step_weights

from .conftest import toy_of_all_kinds
from .kinds import every, usual
from .planted import DECLARATION, acting
from .tangents import (
    PARTS,
    adjoints,
    compare,
    complex_trial,
    difference,
    make_tangent_stepper,
    packed_changes,
    random_direction,
    step_forcing,
    tangent_step,
    twin_changes,
    unpacked,
)

Compiled = Callable[..., StepKernel]

EXACT, SINGLE = 1e-12, 1e-5
SHAPES = [(1, 1), (2, 9), (4, 8), (4, 10), (5, 17)]
WEIGHTS = {
    "Euler": two_step_weights(100.0, None),
    "equal steps": two_step_weights(100.0, 100.0),
    "longer step": two_step_weights(130.0, 100.0),
}
OTHERS = {"tracer": ("tracer", 3, usual), "tracer, every": ("tracer", 4, every), "toy, one level": ("toy", 1, usual),
          "emep": ("emep", 3, usual)}  # fmt: skip
"""Mechanisms, levels and operators of kernels with libraries of their own."""

Tangent = Callable[[str], StepDerivative]


@pytest.fixture(scope="module", name="tangent")
def tangent_fixture(compiled: Compiled) -> Tangent:
    """Return the tangent of one of OTHERS, compiled once."""

    @cache
    def tangent(name: str) -> StepDerivative:
        mechanism, levels, operators = OTHERS[name]
        return compile_tangent(compiled(mechanism, levels, operators=operators))

    return tangent


@pytest.fixture(scope="module", name="toy")
def toy_fixture() -> StepDerivative:
    """Return the tangent of the toy mechanism with all kinds of operators."""
    return compile_tangent(toy_of_all_kinds())


def compare_steps(kernel: StepDerivative, shape: tuple[int, int]) -> None:
    """Compare the tangents of steps of all weights with the reference."""
    for seed, weights in enumerate(WEIGHTS.values()):
        trial = random_trial(kernel.forward, shape, weights, seed=seed, sweeps=1 + seed)
        assert compare(kernel, trial, random_direction(trial, seed=seed)) < EXACT
        trial = with_boundary(trial, seed, 1 + seed % 2)
        assert compare(kernel, trial, random_direction(trial, seed=seed)) < EXACT


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_tangent_equals_that_of_the_twin(toy: StepDerivative, shape: tuple[int, int]) -> None:
    compare_steps(toy, shape)


@pytest.mark.compiles
def test_the_tangent_in_one_level_equals_that_of_the_twin(tangent: Tangent) -> None:
    compare_steps(tangent("toy, one level"), (4, 10))


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", OTHERS)
def test_other_tangents_equal_those_of_the_twin(tangent: Tangent, name: str, shape: tuple[int, int]) -> None:
    compare_steps(tangent(name), shape)


@pytest.mark.thorough
def test_single_precision_is_close_to_the_twin() -> None:
    kernel = compile_tangent(toy_of_all_kinds("single"))
    trial = random_trial(kernel.forward, (4, 10), WEIGHTS["longer step"], seed=1, sweeps=2)
    assert compare(kernel, trial, random_direction(trial)) < SINGLE


def compare_values(kernel: StepDerivative) -> None:
    """Compare the state after a step with changes with that after a step without."""
    trial = random_trial(kernel.forward, (4, 10), WEIGHTS["longer step"], seed=4, sweeps=2)
    expected = vars(compiled_step(kernel.forward, trial).fields)
    values, _ = tangent_step(kernel, trial, random_direction(trial))
    for field, array in expected.items():
        scale = np.abs(array).max(axis=(-3, -2, -1), keepdims=True)
        assert (np.abs(values[field] - array) <= 1e-13 * scale).all(), field


def test_values_are_those_of_the_step(toy: StepDerivative) -> None:
    compare_values(toy)


@pytest.mark.thorough
@pytest.mark.parametrize("name", OTHERS)
def test_other_values_are_those_of_the_step(tangent: Tangent, name: str) -> None:
    compare_values(tangent(name))


@pytest.mark.compiles
def test_a_rate_that_is_one_has_a_factor_too(network: Callable[[str], ReactionNetwork]) -> None:
    """Generated code then has only the factor."""
    toy = network("toy")
    first = [len(reactants) == 1 for reactants in toy.reactant_indices]
    reactions = tuple(
        replace(reaction, rate=Number(1.0)) if alone else reaction
        for reaction, alone in zip(toy.reactions, first, strict=True)
    )
    kernel = compile_tangent(compile_mechanism(replace(toy, name="ones", reactions=reactions), 2))
    assert "const value L = f[" in kernel.source.text
    trial = random_trial(kernel.forward, (2, 9), WEIGHTS["Euler"], sweeps=2)
    assert compare(kernel, trial, random_direction(trial)) < EXACT


def test_several_steps_in_a_row(toy: StepDerivative) -> None:
    kernel = toy
    trial = random_trial(kernel.forward, (5, 9), WEIGHTS["Euler"], seed=11, sweeps=2, wind=0.03)
    to = random_direction(trial, seed=1)
    stepper, previous = make_tangent_stepper(kernel, trial, to), None
    twin = complex_trial(trial, to)
    for length in (60.0, 60.0, 90.0, 45.0):
        twin = replace(twin, weights=two_step_weights(length, previous))
        trial = replace(trial, weights=twin.weights)
        stepped = reference_step(twin)
        stepper.step(step_forcing(trial, stepper.layout), packed_changes(kernel, to, stepper.layout))
        twin, previous = replace(twin, fields=stepped.fields), length
        assert difference(unpacked(stepper)[1], twin_changes(stepped)) < 4.0 * EXACT


def test_threads_give_the_same_bits(toy: StepDerivative) -> None:
    kernel = toy
    trial = random_trial(kernel.forward, (9, 17), WEIGHTS["longer step"], seed=2, sweeps=2)
    to = random_direction(trial)
    one, several = tangent_step(kernel, trial, to), tangent_step(kernel, trial, to, threads=3)
    for first, second in zip(one, several, strict=True):
        assert all(np.array_equal(first[name], second[name]) for name in first)


# ---- the adjoint -----------------------------------------------------------------------------------------------------


def worth(kernel: StepDerivative, weights: StageWeights, shape: tuple[int, int], sweeps: int) -> tuple[float, float]:
    """Return the change of a random cost by the tangent and by the adjoint, relative to their terms."""
    trial = random_trial(kernel.forward, shape, weights, seed=sweeps, sweeps=sweeps)
    to = random_direction(trial, parts={"state", "sides", "top", "emission", "factors"})
    changes = tangent_step(kernel, trial, to)[1]
    random, costs = np.random.default_rng(sweeps), {}
    for name in to.state:
        size = np.abs(changes[name]).max(axis=(1, 2, 3), keepdims=True)
        costs[name] = random.uniform(0.5, 1.0, changes[name].shape) / np.where(size > 0.0, size, np.inf)
    given = {**to.state, "emission": to.emission, "sides": to.sides, "top": to.top, "factors": to.factors}
    parts = [adjoint * given[name] for name, adjoint in adjoints(kernel.forward, trial, costs).items()]
    size = sum(float(np.abs(part).sum()) for part in parts)
    by_adjoint = sum(float(part.sum()) for part in parts)
    return sum(float((costs[name] * changes[name]).sum()) for name in costs) / size, by_adjoint / size


def compare_transposes(kernel: StepDerivative, shape: tuple[int, int]) -> None:
    for sweeps, weights in enumerate(WEIGHTS.values(), 1):
        by_tangent, by_adjoint = worth(kernel, weights, shape, sweeps)
        assert abs(by_tangent - by_adjoint) < EXACT
        assert abs(by_tangent) > 1e3 * EXACT


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_adjoint_is_the_transpose(toy: StepDerivative, shape: tuple[int, int]) -> None:
    compare_transposes(toy, shape)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["tracer, every", "emep"])
def test_other_adjoints_are_the_transpose(tangent: Tangent, name: str, shape: tuple[int, int]) -> None:
    compare_transposes(tangent(name), shape)


# ---- the comparison can fail -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_a_change_of_any_part_is_noticed(toy: StepDerivative, part: str) -> None:
    kernel = toy
    trial = random_trial(kernel.forward, (4, 10), WEIGHTS["longer step"], seed=3, sweeps=2)
    trial = with_boundary(trial) if part == "boundary" else trial
    to = random_direction(trial, seed=1)
    changes = tangent_step(kernel, trial, to)[1]
    without = random_direction(trial, seed=1, parts=set(PARTS) - {part})
    assert difference(changes, twin_changes(reference_step(complex_trial(trial, to)))) < EXACT
    assert difference(changes, twin_changes(reference_step(complex_trial(trial, without)))) > 1e-6


WRONG = {
    "a product's second term": ("a.d * b.v}", "(airshed_planted == 0 ? V{} : a.d * b.v)}"),
    "a reciprocal's sign":
        ("-(inverse * inverse)", "(airshed_planted == 1 ? inverse * inverse : -(inverse * inverse))"),
    "the change of a reaction's factor":
        ("a.d + real(f.change) * a.v", "a.d + real(airshed_planted == 2 ? 0 : f.change) * a.v"),
    "the tie at an extremum": ("a.v > b, a, dual(b))", "airshed_planted == 3 ? a.v >= b : a.v > b, a, dual(b))"),
    "the tie at zero":
        ("select(a.v < 0, value{}, a)", "select(airshed_planted == 4 ? a.v <= 0 : a.v < 0, value{}, a)"),
}  # fmt: skip
"""Rules of derivatives, and code where the rule is wrong if the error of its number acts."""


@pytest.mark.compiles
def test_a_wrong_rule_is_noticed(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    read = emit.header

    def spoiled(*names: str) -> GeneratedText:
        text = read(*names)
        if "step/tangent.hpp" not in names:
            return text
        for right, planted in WRONG.values():
            assert right in text
            text = GeneratedText(text.replace(right, planted))
        return GeneratedText(DECLARATION + text)

    monkeypatch.setattr(emit, "header", spoiled)
    kernel = compile_tangent(compiled("toy", 2))
    trial = random_trial(kernel.forward, (5, 17), WEIGHTS["Euler"], seed=2, sweeps=1)
    assert compare(kernel, trial, random_direction(trial)) < EXACT
    for number, name in enumerate(WRONG):
        with acting(kernel.functions, number):
            assert compare(kernel, trial, random_direction(trial)) > 1e-6, name


def test_changes_that_do_not_fit_are_refused(toy: StepDerivative) -> None:
    kernel = toy
    trial = random_trial(kernel.forward, (2, 9), WEIGHTS["Euler"])
    stepper = make_tangent_stepper(kernel, trial, random_direction(trial))
    step = step_forcing(trial, stepper.layout)
    wrong: list[tuple[Any, str]] = [
        (StepChanges(fields={"snow": step.transport.flux_x}), "a change of snow"),
        (StepChanges(numbers={"waves": 1.0}), "a change of waves"),
        (StepChanges(emission=np.zeros((1, 1))), "the change of emission is"),
    ]
    for changes, message in wrong:
        with pytest.raises(KernelError, match=message):
            stepper.step(step, changes)
