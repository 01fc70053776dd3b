"""Control vector: conversion to blocks and back, the tangent and its transpose, and invalid input."""

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.inverse.fourdvar.control import Block, ControlVector, Covariance, axis_root

RANDOM = np.random.default_rng(5)


def vector() -> ControlVector:
    emission = Covariance(
        np.full((2, 3, 4), 0.7), [None, axis_root(np.arange(3.0), 1.0), axis_root(np.arange(4.0), 2.0)]
    )
    initial = Covariance(0.1 + RANDOM.random(5), [axis_root(np.arange(5.0), 1.0, "gaussian")])
    return ControlVector(
        [
            Block("emission", ("part_of_day", "lat", "lon"), emission, background=0.1),
            Block("increment", ("level",), initial, "gaussian", background=np.arange(5.0)),
        ]
    )


def test_flat_and_blocks_are_the_same_both_ways() -> None:
    control = vector()
    v = RANDOM.standard_normal(control.size)
    assert control.size == 29
    assert np.array_equal(control.join(control.split(v)), v)
    other = {"emission": RANDOM.standard_normal((2, 3, 4)), "increment": RANDOM.standard_normal(5)}
    left = sum(np.vdot(part, other[name]) for name, part in control.split(v).items())
    assert left == pytest.approx(v @ control.join(other), rel=1e-14)


def test_at_zero_the_model_gets_the_background() -> None:
    control = vector().controls(np.zeros(29))
    np.testing.assert_allclose(control["emission"], np.exp(0.1), rtol=1e-15)
    assert np.array_equal(control["increment"], np.arange(5.0))


def test_the_tangent_is_the_derivative() -> None:
    control = vector()
    v, dv = RANDOM.standard_normal((2, control.size))
    e = 1e-6
    for name, tangent in control.push(v, dv).items():
        difference = (control.controls(v + e * dv)[name] - control.controls(v - e * dv)[name]) / (2 * e)
        np.testing.assert_allclose(tangent, difference, rtol=1e-7, atol=1e-8)


def gap(pull: object, control: ControlVector) -> float:
    v, dv = RANDOM.standard_normal((2, control.size))
    g = {"emission": RANDOM.standard_normal((2, 3, 4)), "increment": RANDOM.standard_normal(5)}
    left = sum(np.vdot(part, g[name]) for name, part in control.push(v, dv).items())
    return abs(left - dv @ pull(v, g)) / abs(left)  # type: ignore[operator]


def test_push_and_pull_are_a_pair() -> None:
    control = vector()
    assert max(gap(control.pull, control) for _ in range(5)) < 1e-13


def test_a_pull_without_the_slope_of_the_exponential_is_caught() -> None:
    control = vector()

    def wrong(v: np.ndarray, g: dict) -> np.ndarray:
        return control.pull(np.zeros_like(v), g)

    assert max(gap(wrong, control) for _ in range(5)) > 1e-2


def test_drawn_controls_have_the_covariance() -> None:
    control = vector()
    (block,) = (each for each in control.blocks if each.name == "emission")
    vectors = (RANDOM.standard_normal(control.size) for _ in range(4000))
    draws = np.stack([block.state(control.split(v)["emission"]) for v in vectors])
    assert draws.mean() == pytest.approx(0.1, abs=0.03)
    np.testing.assert_allclose(draws.std(axis=0), 0.7, rtol=0.08)


def test_blocks_that_do_not_fit_are_refused() -> None:
    control = vector()
    one = Covariance(np.ones(3), [None])
    with pytest.raises(CaseError, match="shape"):
        control.split(np.zeros(3))
    with pytest.raises(CaseError, match="the control vector has"):
        control.pull(np.zeros(29), {"emission": np.zeros((2, 3, 4))})
    with pytest.raises(CaseError, match="blocks with different names"):
        ControlVector([Block("a", ("lon",), one), Block("a", ("lon",), one)])
    with pytest.raises(CaseError, match="blocks with different names"):
        ControlVector([])
    with pytest.raises(CaseError, match="has axes"):
        Block("a", ("lat", "lon"), one)
    with pytest.raises(CaseError, match="must be finite"):
        Block("a", ("lon",), one, background=np.zeros(2))
    with pytest.raises(CaseError, match="its sigma is too large"):
        Block("a", ("lon",), one).control(np.full(3, 400.0))
