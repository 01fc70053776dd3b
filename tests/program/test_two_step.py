"""The two-step formula: its weights, and the orders that they give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.program.weights import two_step_weights, weight_of_jump

STEPS = st.floats(0.1, 1000.0)
RATIOS = st.floats(0.05, 2.4)


def test_equal_steps_are_the_usual_formula() -> None:
    w = two_step_weights(60.0, 60.0)
    assert (w.c0, w.c1) == pytest.approx((4.0 / 3.0, -1.0 / 3.0))
    assert (w.t0, w.t1, w.g) == pytest.approx((4.0 / 3.0 * 60.0, -2.0 / 3.0 * 60.0, 2.0 / 3.0 * 60.0))
    assert (w.s0, w.s1) == pytest.approx((2.0, -1.0))


def test_the_first_step_is_euler() -> None:
    w = two_step_weights(60.0, None)
    assert (w.c0, w.c1, w.t0, w.t1, w.g, w.s0, w.s1) == (1.0, 0.0, 60.0, 0.0, 60.0, 1.0, 0.0)


@given(STEPS, RATIOS)
def test_what_does_not_change_keeps_its_bits(step: float, ratio: float) -> None:
    w = two_step_weights(step, step / ratio)
    assert w.c0 + w.c1 == 1.0
    assert w.s0 + w.s1 == pytest.approx(1.0, abs=1e-15)


def defect(degree: int, step: float, previous: float, *, implicit: bool) -> float:
    """Return the error of the formula for c = t^degree after a step, with c' as transport or as a column term."""
    w = two_step_weights(step, previous)
    before, now, after = 0.3 - previous, 0.3, 0.3 + step

    def rate(t: float) -> float:
        return degree * t ** (degree - 1) if degree else 0.0

    change = w.g * rate(after) if implicit else w.t0 * rate(now) + w.t1 * rate(before)
    return w.c0 * now**degree + w.c1 * before**degree + change - after**degree


@given(st.floats(0.05, 2.0), RATIOS, st.booleans())
def test_it_is_exact_up_to_the_second_degree(step: float, ratio: float, implicit: bool) -> None:
    for degree in range(3):
        assert defect(degree, step, step / ratio, implicit=implicit) == pytest.approx(
            0.0, abs=1e-12 * (1.0 + step / ratio) ** 2
        )


@given(st.floats(0.05, 2.0), RATIOS, st.booleans())
def test_it_is_not_exact_beyond(step: float, ratio: float, implicit: bool) -> None:
    assert abs(defect(3, step, step / ratio, implicit=implicit)) > 1e-3 * step**3


@given(st.floats(0.05, 2.0), RATIOS)
def test_the_start_of_the_iteration_is_the_linear_extrapolation(step: float, ratio: float) -> None:
    w = two_step_weights(step, step / ratio)
    assert w.s0 * 5.0 + w.s1 * (5.0 - 2.0 * step / ratio) == pytest.approx(5.0 + 2.0 * step)


@given(RATIOS)
def test_weights_scale_with_the_step(ratio: float) -> None:
    one, ten = two_step_weights(1.0, 1.0 / ratio), two_step_weights(10.0, 10.0 / ratio)
    assert (ten.t0, ten.t1, ten.g) == pytest.approx((10.0 * one.t0, 10.0 * one.t1, 10.0 * one.g))
    assert (ten.c0, ten.c1) == pytest.approx((one.c0, one.c1))
    # transport, extrapolated to the end of the step, has the weight of the implicit terms
    assert one.t0 + one.t1 == pytest.approx(one.g)


@pytest.mark.parametrize("implicit", [False, True])
def test_the_observed_order_is_two(implicit: bool) -> None:
    """c' = -c sin t with steps that change by a fifth, from an Euler step."""
    errors = []
    for count in (80, 160):
        lengths = np.tile([1.0, 1.2], count // 2)
        lengths *= 2.0 / lengths.sum()
        before, now, slope, t, previous = 1.0, 1.0, 0.0, 0.0, None
        for step in lengths:
            w = two_step_weights(step, previous)
            here = -now * np.sin(t)
            after = w.c0 * now + w.c1 * before
            after = after / (1.0 + w.g * np.sin(t + step)) if implicit else after + w.t0 * here + w.t1 * slope
            before, now, slope, t, previous = now, after, here, t + step, step
        errors.append(abs(now - np.exp(np.cos(2.0) - 1.0)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.25)


def emitted(lengths, rates, *, jumps=True):
    """Return the content of the air at the ends of steps with their own emission rates, after two without emission."""
    before = now = 0.0
    previous, old, found = lengths[0], 0.0, []
    for step, rate in zip(lengths, rates, strict=True):
        w = two_step_weights(step, previous)
        effective = rate + weight_of_jump(step, previous) * (rate - old) if jumps else rate
        before, now = now, w.c0 * now + w.c1 * before + w.g * effective
        previous, old = step, rate
        found.append(now)
    return np.array(found)


@given(st.lists(st.tuples(st.floats(1.0, 100.0), st.sampled_from([0.0, 1.0, 7.0])), min_size=2, max_size=30))
def test_what_is_in_the_air_is_what_was_emitted(steps):
    lengths, rates = np.array(steps).T
    np.testing.assert_allclose(emitted(lengths, rates), np.cumsum(lengths * rates), rtol=1e-9, atol=1e-9)


def test_the_rate_at_the_end_of_a_step_alone_emits_something_else():
    """The negative control: an hour's emission, in steps that are longer once it ends."""
    lengths, rates = np.array([60.0] * 90 + [300.0] * 12), np.array([0.0] * 30 + [1.0] * 60 + [0.0] * 12)
    assert emitted(lengths, rates)[-1] == pytest.approx(3600.0, rel=1e-12)
    assert abs(emitted(lengths, rates, jumps=False)[-1] / 3600.0 - 1.0) > 0.01


def test_a_rate_that_falls_to_a_third_needs_no_negative_emission():
    assert 1.0 + weight_of_jump(60.0, 60.0) * (1.0 - 3.0) == pytest.approx(0.0)


def test_a_step_that_restarts_is_euler_from_the_extrapolation():
    restarted, first, usual = (
        two_step_weights(60.0, 30.0, restart=True),
        two_step_weights(60.0, None),
        two_step_weights(60.0, 30.0),
    )
    euler = restarted.c0, restarted.c1, restarted.t0, restarted.t1, restarted.g
    assert euler == (first.c0, first.c1, first.t0, first.t1, first.g)
    assert (restarted.s0, restarted.s1) == (usual.s0, usual.s1)
