import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.grid.coordinates import around_meridian, faces_around
from airshed.grid.weights import Weights, apply


def test_longitudes_around_a_meridian() -> None:
    lon = np.array([355.0, -190.0, 179.0])
    assert around_meridian(lon, 0.0) == pytest.approx([-5.0, 170.0, 179.0])
    assert around_meridian(lon, 270.0) == pytest.approx([355.0, 170.0, 179.0])


def test_faces_around_centres() -> None:
    assert faces_around(np.array([0.0, 1.0, 3.0])) == pytest.approx([-0.5, 0.5, 2.0, 4.0])
    assert faces_around(np.array([7.0])) == pytest.approx([6.5, 7.5])


def test_apply_works_on_the_last_two_axes() -> None:
    field = np.arange(24.0).reshape(2, 3, 4)
    assert np.array_equal(apply(Weights.same(3), field, Weights.same(4)), field)
    sums = Weights.of(np.ones((1, 3))), Weights.of(np.ones((1, 4)))
    assert apply(sums[0], field, sums[1])[:, 0, 0] == pytest.approx(field.sum(axis=(1, 2)))


@given(st.integers(1, 12), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_weights_are_their_matrix_and_a_part_of_them_has_the_same_bits(targets: int, band: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix = np.zeros((targets, targets + 2 * band))
    for row in range(targets):
        matrix[row, row : row + random.integers(1, band + 1)] = random.random()
    values = random.normal(size=(3, matrix.shape[1]))
    weights = Weights.of(matrix)
    assert weights(values, -1) == pytest.approx(values @ matrix.T, abs=1e-12)
    first = int(random.integers(targets))
    part = weights.part(slice(first, targets))
    near = part.beginning_at(part.nodes.start)(values[:, part.nodes], -1)
    assert near.tobytes() == weights(values, -1)[:, first:].tobytes()


def test_a_row_without_weights_gives_nothing() -> None:
    assert list(Weights.of(np.array([[0.0, 0.0], [0.0, 2.0]]))(np.array([3.0, 5.0]), -1)) == [0.0, 10.0]


def test_no_targets_have_no_values():
    """A grid of one layer has no interior faces."""
    assert Weights.of(np.zeros((0, 3)))(np.ones((3, 4, 5)), -3).shape == (0, 4, 5)
