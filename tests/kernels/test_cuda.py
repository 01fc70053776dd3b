"""A step of the CUDA backend, through the shim, equals the reference implementation."""

import pytest

from airshed.kernels.step.trial import compiled_step, difference, random_trial, reference_step, with_boundary
from airshed.program.weights import two_step_weights

from .conftest import toy_on_a_device

SHAPES = [(1, 1), (2, 5), (1, 33), (2, 64), (3, 70)]
"""Rows x columns: one column in the last warp, full warps, and in between."""


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_step_of_all_operators_equals_its_reference(shape: tuple[int, int]) -> None:
    kernel = toy_on_a_device()
    for seed, weights in enumerate((two_step_weights(100.0, None), two_step_weights(130.0, 100.0))):
        trial = random_trial(kernel, shape, weights, seed=seed, sweeps=1 + seed)
        for given in (trial, with_boundary(trial, seed), with_boundary(trial, seed, 2)):
            assert difference(compiled_step(kernel, given), reference_step(given), weights.g) < 1e-13
