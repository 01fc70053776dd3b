"""Parabolas on layers of unequal thickness, and turbulent exchange between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.process.vertical import parabola_weights, turbulent_exchange

THICKNESSES = st.lists(st.floats(1.0, 1000.0), min_size=3, max_size=12).map(np.array)


def face_errors(thickness: np.ndarray, weights: np.ndarray, degree: int) -> list[float]:
    """Relative errors of the face values of z^degree from its means over the layers, for flow up and down."""
    faces = np.concatenate([[0.0], np.cumsum(thickness)]) / thickness.sum()
    means = np.diff(faces ** (degree + 1)) / (degree + 1) / np.diff(faces)
    errors = []
    for k in range(len(thickness) - 1):
        exact = faces[k + 1] ** degree
        if k > 0:
            alpha, beta = weights[k, :2]
            errors.append(means[k] + alpha * (means[k + 1] - means[k]) + beta * (means[k] - means[k - 1]) - exact)
        if k + 2 < len(thickness):
            alpha, beta = weights[k, 2:]
            up = means[k + 1] + alpha * (means[k] - means[k + 1]) + beta * (means[k + 1] - means[k + 2])
            errors.append(up - exact)
    return errors


@given(THICKNESSES)
def test_parabolas_are_met_exactly(thickness: np.ndarray) -> None:
    weights = parabola_weights(thickness)
    for degree in range(3):
        assert np.abs(face_errors(thickness, weights, degree)).max() < 1e-12


@given(THICKNESSES)
def test_cubics_are_not(thickness: np.ndarray) -> None:
    weights = parabola_weights(thickness)
    smallest = (thickness.min() / thickness.sum()) ** 3
    assert np.abs(face_errors(thickness, weights, 3)).max() > 1e-2 * smallest


def test_equal_weights_are_wrong_on_unequal_layers() -> None:
    thickness = np.array([20.0, 40.0, 60.0, 100.0])
    assert np.abs(face_errors(thickness, parabola_weights(np.ones(4)), 2)).max() > 1e-3


@pytest.mark.parametrize("levels", [1, 2, 3, 8])
def test_on_equal_layers_they_are_a_third_and_a_sixth(levels: int) -> None:
    np.testing.assert_allclose(parabola_weights(np.full(levels, 50.0)), np.tile([1 / 3, 1 / 6], (levels, 2)))


@given(THICKNESSES)
def test_weights_turn_with_the_column(thickness: np.ndarray) -> None:
    """Upside down, flow up is flow down."""
    there, turned = parabola_weights(thickness)[:-1], parabola_weights(thickness[::-1])[:-1]
    np.testing.assert_allclose(turned[::-1, 2:], there[:, :2])


def test_exchange_by_hand() -> None:
    """Layers of 20 and 60 m, 40 m between their middles, and the face a quarter of the way: density 43."""
    density = np.array([44.0, 40.0]).reshape(2, 1, 1)
    diffusivity = np.array([7.0, 8.0, 9.0]).reshape(3, 1, 1)
    exchange = turbulent_exchange(density, diffusivity, np.array([[1e6]]), np.array([20.0, 60.0]))
    assert exchange.ravel() == pytest.approx([43.0 * 8.0 * 1e6 / 40.0, 0.0])


@given(THICKNESSES)
def test_exchange_is_the_same_from_above(thickness: np.ndarray) -> None:
    random = np.random.default_rng(len(thickness))
    density = random.uniform(20.0, 45.0, (len(thickness), 2, 3))
    diffusivity = random.uniform(0.0, 100.0, (len(thickness) + 1, 2, 3))
    area = np.array([[1e8], [2e8]])
    up = turbulent_exchange(density, diffusivity, area, thickness)
    down = turbulent_exchange(density[::-1], diffusivity[::-1], area, thickness[::-1])
    np.testing.assert_allclose(down[:-1][::-1], up[:-1], rtol=1e-12)
    assert np.all(up[-1] == 0.0)


def test_the_density_at_a_face_is_that_of_a_straight_line() -> None:
    thickness = np.array([10.0, 30.0, 80.0])
    middle = np.cumsum(thickness) - thickness / 2.0
    density = (45.0 - 0.02 * middle).reshape(3, 1, 1)
    exchange = turbulent_exchange(density, np.ones((4, 1, 1)), np.ones((1, 1)), thickness)
    at_faces = 45.0 - 0.02 * np.cumsum(thickness)[:-1]
    np.testing.assert_allclose(exchange[:-1, 0, 0], at_faces / np.diff(middle))
