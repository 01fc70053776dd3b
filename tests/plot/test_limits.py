"""Scales: round, wide enough, the same for the same data."""

from math import floor, isclose, log10

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.plot.limits import axis_of, format_number, round_step, scale_of

numbers = st.one_of(
    st.just(0.0),
    st.floats(1e-20, 1e20),
    st.floats(-1e20, -1e-20),
    st.floats(0, 100).filter(lambda x: x == 0 or x > 1e-9),
)
data = st.lists(numbers, min_size=1, max_size=40)


def is_round(value: float) -> bool:
    """Return whether a number has two significant digits at most."""
    if value == 0:
        return True
    digits = abs(value) / 10.0 ** (floor(log10(abs(value))) - 2)
    return isclose(digits, round(digits / 5) * 5, rel_tol=1e-6)


@given(data)
def test_a_scale_is_round_and_holds_nearly_all_data(values: list[float]) -> None:
    scale = scale_of(values)
    low, high = np.percentile(values, (2.0, 99.7))
    slack = 1e-6 * max(abs(low), abs(high), 1e-300)
    assert scale.low <= low + slack
    assert scale.high >= high - slack
    assert scale.low < scale.high
    assert all(a < b for a, b in zip(scale.ticks, scale.ticks[1:], strict=False))
    assert scale.ticks[0] == scale.low
    assert scale.ticks[-1] == scale.high
    assert 2 <= len(scale.ticks) <= 10
    assert all(
        is_round(tick / (scale.high - scale.low)) or is_round(tick) for tick in scale.ticks[1:-1] if scale.power < 1
    )


@given(data)
def test_a_scale_tells_what_lies_beyond_it(values: list[float]) -> None:
    scale = scale_of(values)
    assert scale.below == (min(values) < scale.low)
    assert scale.above == (max(values) > scale.high)
    assert scale.extend == {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[scale.below, scale.above]


@given(st.floats(1e-12, 1e12), st.integers(1, 12))
def test_steps_are_round_and_enough(span: float, steps: int) -> None:
    step = round_step(span, steps)
    digit = step / 10.0 ** floor(log10(step) + 1e-9)
    assert any(isclose(digit, d, rel_tol=1e-9) for d in (1, 2, 2.5, 5))
    assert step * steps >= span * (1 - 1e-8)


@given(data)
def test_an_axis_holds_all_values_and_zero(values: list[float]) -> None:
    ticks = axis_of(values)
    slack = 1e-6 * max(abs(v) for v in (*values, 1e-300))
    assert ticks[0] <= min(0.0, *values) + slack
    assert ticks[-1] >= max(0.0, *values) - slack


def test_ozone_over_a_day() -> None:
    scale = scale_of(np.linspace(2, 129, 1000))
    assert (scale.low, scale.high, scale.power) == (0, 150, 1)
    assert scale.ticks == (0, 25, 50, 75, 100, 125, 150)


def test_few_plumes_in_clean_air_get_a_square_root_scale() -> None:
    values = np.full(1600, 1.0)
    values[:60] = np.linspace(5, 60, 60)
    values[60] = 100
    scale = scale_of(values)
    assert scale.power == 0.5
    assert scale.ticks[0] == 0
    assert scale.above
    assert scale_of(np.linspace(0, 60, 1600)).power == 1  # a plain spread does not


@pytest.mark.parametrize("value", [1.0, 288.15, 1e-12, -3.0])
def test_one_value_everywhere_gets_a_colour_from_the_middle(value: float) -> None:
    scale = scale_of(np.full((5, 5), value))
    assert 0.2 < (value - scale.low) / (scale.high - scale.low) < 0.8


@pytest.mark.parametrize("values", [[], [np.nan], [0.0, 0.0], [np.inf, np.nan]])
def test_no_values_still_make_a_scale(values: list[float]) -> None:
    assert (scale_of(values).low, scale_of(values).high) == (0, 1)
    assert axis_of(values) == (0, 1)


def test_nearly_constant_values_are_not_blown_up() -> None:
    scale = scale_of(1 + 1e-12 * np.arange(100))
    assert scale.high - scale.low > 0.5


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0, 3, "0"),
        (0.025, 3, "0.025"),
        (120, 3, "120"),
        (1234.6, 3, "1235"),
        (-5.0, 3, "−5"),
        (4.6123, 2, "4.6"),
        (2e-7, 2, "2.0e−7"),
    ],
)
def test_numbers_are_short(value: float, digits: int, text: str) -> None:
    assert format_number(value, digits) == text
