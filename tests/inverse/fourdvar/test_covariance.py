"""Background covariances: square roots, variances, transposes, and invalid covariances."""

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.grid import Grid
from airshed.inverse.fourdvar.control import SHAPES, Covariance, axis_root, correlation, symmetric_root

RANDOM = np.random.default_rng(11)
GRID = Grid.regular((0.0, 5.0), (45.0, 49.0), 0.5, [20.0, 100.0, 400.0, 1000.0])


def covariance(shape: str = "exponential") -> Covariance:
    horizontal = GRID.mapping.correlation_coordinates(GRID)
    roots = [axis_root(places, 100e3, shape, period=period) for places, period in horizontal]
    return Covariance(0.2 + RANDOM.random(GRID.shape), [axis_root(GRID.level, 300.0, shape), *roots])


def dense(operator: Covariance) -> np.ndarray:
    columns = [operator(one.reshape(operator.sigma.shape)).ravel() for one in np.eye(operator.sigma.size)]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_covariance_is_deviations_times_the_product_of_correlations(shape: str) -> None:
    roots = [axis_root(np.arange(2.0), 1.0, shape), axis_root(np.arange(3.0), 2.0, shape)]
    small = Covariance(np.array([[0.5, 1.0, 2.0], [3.0, 0.1, 0.7]]), roots)
    kron = np.kron(correlation(np.arange(2.0), 1.0, shape), correlation(np.arange(3.0), 2.0, shape))
    sigma = small.sigma.ravel()
    np.testing.assert_allclose(dense(small), sigma[:, None] * kron * sigma, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
def test_variances_are_those_given_and_b_is_positive(shape: str) -> None:
    b = covariance(shape)
    matrix = dense(b)
    np.testing.assert_allclose(np.diag(matrix), b.sigma.ravel() ** 2, rtol=1e-12)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-14)
    assert np.linalg.eigvalsh(matrix).min() > -1e-13


def test_the_root_and_its_transpose_are_a_pair() -> None:
    b = covariance()
    for _ in range(10):
        v, x = RANDOM.standard_normal((2, *b.sigma.shape))
        left, right = np.vdot(b.root(v), x), np.vdot(v, b.root_transposed(x))
        assert abs(left - right) <= 1e-14 * np.linalg.norm(b.root(v)) * np.linalg.norm(x)


def test_a_wrong_transpose_is_caught() -> None:
    b = covariance()
    v, x = RANDOM.standard_normal((2, *b.sigma.shape))
    wrong = b.sigma * b._correlated(x)
    assert abs(np.vdot(b.root(v), x) - np.vdot(v, wrong)) > 1e-3 * np.linalg.norm(b.root(v))


def test_correlations_fall_with_distance_as_named() -> None:
    places = np.array([0.0, 200.0])
    assert correlation(places, 200.0, "exponential")[0, 1] == pytest.approx(np.exp(-1))
    assert correlation(places, 200.0, "gaussian")[0, 1] == pytest.approx(np.exp(-0.5))
    assert correlation(places, 200.0, "balgovind")[0, 1] == pytest.approx(2 * np.exp(-1))
    assert np.array_equal(correlation(places, 0.0), np.eye(2))


@pytest.mark.parametrize("shape", SHAPES)
def test_around_a_circle_correlations_stay_positive_and_close(shape: str) -> None:
    hours = np.arange(24.0)
    c = correlation(hours, 20.0, shape, period=24.0)
    assert c[0, 23] == pytest.approx(c[0, 1])
    assert np.linalg.eigvalsh(c).min() > -1e-13
    root = symmetric_root(c)
    np.testing.assert_allclose(root @ root, c, atol=1e-13)


def test_lon_correlations_go_by_the_middle_parallel() -> None:
    grid = Grid.regular((-0.5, 1.5), (58.0, 62.0), (1.0, 2.0), [20.0])
    _, (places, period) = grid.mapping.correlation_coordinates(grid)
    root = axis_root(places, 100e3, period=period)
    km = np.pi / 180 * 6371e3 * np.cos(np.radians(60.0))
    assert (root @ root)[0, 1] == pytest.approx(np.exp(-km / 100e3), rel=1e-4)


@pytest.mark.parametrize(
    ("sigma", "roots", "message"),
    [
        (np.array([0.5, 0.0]), [None], "not above 0"),
        (np.array([0.5, np.nan]), [None], "not finite"),
        (np.ones(2), [None, None], "2 correlations for a control with 1 axes"),
        (np.ones(2), [np.eye(3)], r"axis 0 has shape \(3, 3\), but there are 2 points"),
    ],
)
def test_invalid_covariances_are_refused(sigma: np.ndarray, roots: list, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        Covariance(sigma, roots)


@pytest.mark.parametrize("length", [-1.0, np.inf, np.nan])
def test_invalid_correlation_lengths_are_refused(length: float) -> None:
    with pytest.raises(CaseError, match="correlation length"):
        correlation(np.arange(3.0), length)


def test_too_many_points_are_refused() -> None:
    with pytest.raises(CaseError, match="5000 points"):
        correlation(np.arange(5000.0), 1.0)
