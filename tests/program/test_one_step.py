"""The one-step formula: orders, damping, and the Courant numbers that the compiled transport allows with it."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.kernels.step.arguments import TransportForcing
from airshed.program.weights import GAMMA, one_step_weights
from airshed.verify.transport import driven
from airshed.verify.transport.driven import TransportDriver

ROOT = Path(__file__).parents[2]


def advance(now, t, step, transport, column):
    """Return a step of c' = T(c, t) + C(t) c with the arithmetic of the stepper, solved for the column term."""
    older, slope, start = now, 0.0, t
    for w, end in zip(one_step_weights(step), (t + GAMMA * step, t + step), strict=True):
        here = transport(now, start)
        right = w.c0 * now + w.c1 * older + w.t0 * here + w.t1 * slope
        now, older, slope, start = right / (1.0 - w.g * column(end)), now, here, end
    return now


@given(st.floats(0.1, 1e4))
def test_what_does_not_change_stays_and_weights_scale_with_the_step(step):
    for w, one in zip(one_step_weights(step), one_step_weights(1.0), strict=True):
        assert w.c0 + w.c1 == pytest.approx(1.0, abs=1e-15)
        assert (w.t0, w.t1, w.g) == pytest.approx((step * one.t0, step * one.t1, step * one.g))
    first, second = one_step_weights(1.0)
    # both terms act for the whole step: the first stage counts c0 times in the second
    assert second.c0 * first.t0 + second.t0 + second.t1 == pytest.approx(1.0)
    assert second.c0 * first.g + second.g == pytest.approx(1.0)


@pytest.mark.parametrize("problem", ["transport", "column", "both", "moving column"])
def test_the_observed_order_is_two(problem):
    def transport(c, t):
        return 0.0 if "column" in problem else -c * np.sin(t) + np.cos(3.0 * t)

    def column(t):
        return {"transport": 0.0, "moving column": -np.cos(t)}.get(problem, -0.7)

    def end(count):
        c, step = 1.0, 2.0 / count
        for number in range(count):
            c = advance(c, number * step, step, transport, column)
        return c

    fine = end(4096)
    errors = [abs(end(count) - fine) for count in (32, 64, 128)]
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.15)
    assert errors[2] > 1e-7  # it is not exact either


def test_stiff_column_terms_are_damped_to_nothing():
    """L-stable: one huge step leaves nothing, and no step makes anything larger."""
    for size in np.logspace(-2, 9, 60):
        assert abs(advance(1.0, 0.0, size, lambda c, t: 0.0, lambda t: -1.0)) < 1.0
    assert abs(advance(1.0, 0.0, 1e9, lambda c, t: 0.0, lambda t: -1.0)) < 1e-8


def test_transport_weighs_negative_in_the_first_stage():
    """Why no Courant number keeps rough data positive: delta < 0."""
    first, second = one_step_weights(1.0)
    assert second.c0 * first.t0 + second.t1 == pytest.approx(1.0 - 0.5 / GAMMA)
    assert (1.0 - GAMMA) * sqrt(2.0) == pytest.approx(1.0)


class OneStep(TransportDriver):
    """Tracers advanced by the one-step formula."""

    def step(self, fluxes, length, factor=1.0):
        given = (fluxes.eastward, fluxes.northward, fluxes.upward)
        x, y, z = (self.layout.pack(factor * each, padding="constant") for each in given)
        transport = TransportForcing((x, x), (y, y), (z, z), 0.0, 0.0)
        for weights in one_step_weights(length):
            *_, clipped = self.stepper.step(weights, transport, self._column)
            self.clipped += clipped


@pytest.mark.parametrize(
    "name", ["oblique", pytest.param("overturning", marks=[pytest.mark.thorough, pytest.mark.compiles])]
)
def test_courant_numbers(monkeypatch, name):
    """At 0.4 next to nothing of smooth data is clipped, and little of rough ones; bounded to 0.9, blown up at 1.4."""
    monkeypatch.syspath_prepend(ROOT)
    from validation.transport import limits

    monkeypatch.setattr(driven, "TransportDriver", OneStep)
    flow = getattr(limits, name)()
    usual, long, longer = (driven.attempt(flow, number) for number in (0.4, 0.9, 1.4))
    assert usual.clipped[0] < 1e-9
    assert 0.0 < usual.clipped[1] < 3e-4
    assert max(usual.greatest.max(), long.greatest.max()) <= 1.0 + 1e-12
    assert long.clipped[1] > usual.clipped[1]
    assert not limits.keeps(longer, "stable").any()
