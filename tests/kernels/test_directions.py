"""Kernels of horizontal transport or of columns only: a part of the code of both."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from airshed.kernels.abi import TERMS
from airshed.kernels.backends.cpu.kernel import StepKernel, compile_mechanism, compile_tangent
from airshed.kernels.step.arguments import Directions
from airshed.kernels.step.reference import Fields, StepResult
from airshed.kernels.step.trial import Trial, compiled_step, random_trial, reference_step
from airshed.mechanism import ReactionNetwork
from airshed.program.weights import one_step_weights

from .kinds import every
from .tangents import complex_trial, difference, random_direction, tangent_step, twin_changes

LEVELS = 4


def kernel(network: Callable[[str], ReactionNetwork], directions: Directions, levels: int = LEVELS) -> StepKernel:
    inert = replace(network("toy"), name="inert", reactions=())
    return compile_mechanism(inert, levels, directions=directions, operators=every(len(inert.species)))


def trial_of(kernel: StepKernel, stage: int) -> Trial:
    return random_trial(kernel, (9, 17), one_step_weights(100.0)[stage], seed=stage, wind=0.2)


def still(trial: Trial, **names: bool) -> Trial:
    """The same trial without the air fluxes that are named."""

    def zeroed(record: Any) -> Any:
        return replace(record, **{name: np.zeros_like(getattr(record, name)) for name in names})

    one, two = map(zeroed, trial.air_fluxes)
    return replace(trial, air_fluxes=(one, two))


def without(trial: Trial, *kinds: str) -> Trial:
    """The same trial where operators of some kinds have fields of zero."""
    named = {field.name for each in trial.setup.operators if each.kind in kinds for field in each.fields}

    def zeroed(arrays: Any) -> Any:
        return {name: 0.0 * array if name in named else array for name, array in arrays.items()}

    first, second = (replace(each, fields=zeroed(each.fields)) for each in trial.columns)
    return replace(trial, columns=(first, second), explicit=(zeroed(trial.explicit[0]), zeroed(trial.explicit[1])))


def horizontal(trial: Trial) -> Trial:
    flat = without(still(trial, upward=True), "exchange", "loss", "source", "settling", "column_matrix")
    columns = tuple(replace(each, emission=each.emission[:0]) for each in flat.columns)
    return replace(flat, setup=replace(flat.setup, emitted=()), columns=columns)


def same(one: StepResult, other: StepResult) -> bool:
    return all(np.array_equal(getattr(one.fields, f.name), getattr(other.fields, f.name)) for f in fields(Fields))


@pytest.mark.compiles
@pytest.mark.parametrize("stage", [0, 1])
def test_planes_move_as_in_a_step_without_anything_vertical(network: Any, stage: int) -> None:
    everything, planes = kernel(network, "all"), kernel(network, "horizontal")
    trial = trial_of(everything, stage)
    expected = compiled_step(everything, horizontal(trial))
    found = compiled_step(planes, trial)
    assert same(found, expected)
    assert found.sums.shape == (*expected.sums.shape, LEVELS)
    np.testing.assert_allclose(found.sums.sum(axis=2), expected.sums, rtol=1e-12)
    assert (expected.sums[:2].sum(axis=1) > 0.0).all()  # inflow and outflow there are
    clipped = expected.sums[TERMS.index("clipped")].sum()
    assert (clipped > 0.0) == (stage == 1)  # and clipping, where a weight is negative
    assert not same(compiled_step(everything, trial), expected)  # the negative control


@pytest.mark.compiles
@pytest.mark.parametrize("stage", [0, 1])
def test_columns_move_as_in_a_step_without_anything_horizontal(network: Any, stage: int) -> None:
    everything, columns = kernel(network, "all"), kernel(network, "vertical")
    trial = trial_of(everything, stage)
    flat = without(trial, "face_exchange")
    expected = compiled_step(everything, still(flat, eastward=True, northward=True))
    found = compiled_step(columns, trial)
    assert same(found, expected)
    np.testing.assert_array_equal(found.sums, expected.sums)
    assert (expected.sums[:2].sum(axis=1) > 0.0).all()  # through the top
    assert not same(compiled_step(everything, trial), expected)


@pytest.mark.thorough
@pytest.mark.parametrize("stage", [0, 1])
def test_planes_and_columns_have_the_changes_of_the_whole(network: Any, stage: int) -> None:
    """Clipping acts where a weight is negative."""
    trial = trial_of(kernel(network, "all"), stage)
    flat = still(without(trial, "face_exchange"), eastward=True, northward=True)
    parts: list[tuple[Directions, Trial]] = [("horizontal", horizontal(trial)), ("vertical", flat)]
    for directions, alone in parts:
        to = random_direction(alone)
        twin = twin_changes(reference_step(complex_trial(alone, to)))
        part = compile_tangent(kernel(network, directions))
        assert difference(tangent_step(part, alone, to)[1], twin) < 1e-12
        assert difference(twin, twin_changes(reference_step(complex_trial(trial, random_direction(trial))))) > 1e-6


def compare_levels(network: Any, levels: slice, threads: int) -> None:
    """Compare some levels alone with the same among all, to the bit."""
    whole = kernel(network, "horizontal")
    trial = trial_of(whole, 1)
    part = kernel(network, "horizontal", len(range(LEVELS)[levels]))
    expected, found = compiled_step(whole, trial), compiled_step(part, of_levels(trial, levels), threads)
    for each in fields(Fields):
        np.testing.assert_array_equal(
            getattr(found.fields, each.name), getattr(expected.fields, each.name)[..., levels, :, :]
        )
    np.testing.assert_array_equal(found.sums, expected.sums[..., levels])


@pytest.mark.compiles
@pytest.mark.parametrize("threads", [1, 2])
def test_one_level_moves_with_the_bits_of_all(network: Any, threads: int) -> None:
    compare_levels(network, slice(0, 1), threads)


@pytest.mark.thorough
@pytest.mark.parametrize("levels", [slice(1, 4), slice(2, 4)], ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_some_levels_move_with_the_bits_of_all(network: Any, levels: slice, threads: int) -> None:
    compare_levels(network, levels, threads)


def of_levels(trial: Trial, levels: slice) -> Trial:
    def cut(record: Any, *names: str) -> Any:
        return replace(record, **{name: getattr(record, name)[..., levels, :, :] for name in names})

    def cut_fields(arrays: Any) -> Any:
        return {name: np.ascontiguousarray(array[..., levels, :, :]) for name, array in arrays.items()}

    one, two = (cut(each, *(field.name for field in fields(each))) for each in trial.air_fluxes)
    first, second = (cut(each, "temperature", "water") for each in trial.columns)
    setup = replace(
        trial.setup, density_factor=trial.setup.density_factor[levels],
        vertical_weights=trial.setup.vertical_weights[levels],
        boundary=replace(trial.setup.boundary, sides=trial.setup.boundary.sides[:, levels]),
    )  # fmt: skip
    before = cut(trial.fields, *(field.name for field in fields(Fields)))
    return replace(trial, setup=setup, fields=before, air_fluxes=(one, two), columns=(first, second),
                   explicit=(cut_fields(trial.explicit[0]), cut_fields(trial.explicit[1])))  # fmt: skip
