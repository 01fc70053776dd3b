"""Chebyshev series of values over time: exact for smooth values, with detection of others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.models.box.series import Series, fit, series_degree, times_in

START, END = np.array([100.0, 500.0]), np.array([500.0, 800.0])
TIMES = times_in(START, END)


def at(series: Series, interval: int, time: float) -> float:
    x = (2.0 * time - START[interval] - END[interval]) / (END[interval] - START[interval])
    return float(np.polynomial.chebyshev.chebval(x, series.coefficients[0, interval]))


def test_a_smooth_value() -> None:
    series = fit((np.sin(TIMES / 100.0) + 2.0)[None])
    assert series.good().all()
    for interval, time in ((0, 100.0), (0, 333.0), (1, 500.0), (1, 800.0)):
        assert at(series, interval, time) == pytest.approx(np.sin(time / 100.0) + 2.0, rel=1e-12)


@pytest.mark.parametrize("value", [np.abs(TIMES - 300.0), TIMES >= 499.9999, 1.0 / (TIMES - 99.9)])
def test_what_is_not_smooth_is_seen(value: np.ndarray) -> None:
    assert not fit(np.asarray(value, float)[None]).good()[0, 0]


def test_a_jump_at_an_end_does_no_harm() -> None:
    series = fit((1.0 + (TIMES >= 500.0))[None])
    assert series.good().all()
    assert series.coefficients[0, :, 0].tolist() == [1.0, 2.0]


def test_constants_have_one_term() -> None:
    assert fit(np.full((3, 1, 1), 7.0)).constant
    assert fit(np.full((1, *TIMES.shape), 7.0)).constant
    assert not fit(TIMES[None]).constant


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=9), st.floats(0.0, 1.0))
def test_polynomials_are_exact_and_no_longer_than_needed(terms: list[float], where: float) -> None:
    x = (2.0 * TIMES - (START + END)[:, None]) / (END - START)[:, None]
    series = fit(np.polynomial.chebyshev.chebval(x, terms)[None])
    time = START[0] + where * (END[0] - START[0])
    scale = max(map(abs, terms))
    assert at(series, 0, time) == pytest.approx(
        float(np.polynomial.chebyshev.chebval(2.0 * where - 1.0, terms)), abs=1e-13 * scale + 1e-300
    )
    if scale > 0.0 and max(abs(each) for each in terms) < 1e3 * abs(terms[-1]):
        assert series_degree([series.of(slice(None), 0)]) <= len(terms) - 1


def test_derivative_of_a_logarithm() -> None:
    series = fit((3.0 * np.exp(-TIMES / 250.0))[None]).derivative_of_logarithm(END - START)
    assert at(series, 0, 321.0) == pytest.approx(-1.0 / 250.0, rel=1e-10)
    assert at(series, 1, 600.0) == pytest.approx(-1.0 / 250.0, rel=1e-10)


def test_a_cell_does_not_depend_on_others() -> None:
    rng = np.random.default_rng(3)
    samples = np.exp(rng.uniform(-3, 3, (40, 1, 1)) * TIMES / 500.0)
    together = fit(samples)
    for cell in (0, 7, 39):
        alone = fit(samples[cell : cell + 1])
        assert np.array_equal(alone.coefficients[0], together.coefficients[cell])
