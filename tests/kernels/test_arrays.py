"""Compiled work on arrays gives the bits of the same work in NumPy."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.grid.weights import Weights, apply
from airshed.kernels import arrays
from airshed.kernels.layout import Layout

from .numpy_work import at_faces, integrals, some_columns

Array = np.ndarray


def packed(field: Array, width: int, *, repeat: bool) -> Array:
    """Return (..., row, column) as [row][block][...][lane]."""
    beyond = -field.shape[-1] % width
    padding = [(0, 0)] * (field.ndim - 1) + [(0, beyond)]
    padded = np.pad(field, padding, mode="edge") if repeat else np.pad(field, padding)
    return np.moveaxis(padded.reshape(*padded.shape[:-1], -1, width), (-3, -2), (0, 1))


@given(st.integers(1, 5), st.integers(1, 30), st.sampled_from([1, 4, 8]), st.booleans(), st.integers(0, 99))
def test_packing_is_that_of_numpy(rows: int, columns: int, width: int, repeat: bool, seed: int) -> None:
    field = np.random.default_rng(seed).normal(size=(2, 3, rows, columns))
    for dtype in (np.float64, np.float32):
        found = Layout(rows, columns, width, dtype).pack(field, padding="edge" if repeat else "constant")
        assert np.array_equal(found, packed(field, width, repeat=repeat).astype(dtype))


def test_a_view_that_is_not_contiguous_is_packed() -> None:
    field = np.arange(60.0).reshape(5, 12).T[::2]
    assert np.array_equal(Layout(6, 5, 4, np.float64).pack(field), packed(field, 4, repeat=True))


@pytest.mark.parametrize(("compiled", "twin"), [(arrays.column_integrals, integrals), (arrays.column_values, at_faces)])
@given(st.integers(2, 12), st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_columns_have_the_bits_of_numpy(
    compiled: Callable[..., Array], twin: Callable[..., Array], nodes: int, columns: int, seed: int
) -> None:
    heights, values, faces = some_columns(nodes, columns, seed)
    expected = np.array([twin(heights, field, faces) for field in values])
    assert np.array_equal(compiled(heights, values, faces), expected)


def test_the_integral_of_a_kinked_field_by_hand() -> None:
    heights, values = np.array([[0.0], [10.0], [20.0]]), np.array([[1.0], [1.0], [3.0]])
    faces = np.array([0.0, 5.0, 10.0, 15.0, 20.0])
    assert arrays.column_integrals(heights, values[None], faces)[0, :, 0] == pytest.approx([0.0, 5.0, 10.0, 17.5, 30.0])
    assert arrays.column_values(heights, values[None], faces)[0, :, 0] == pytest.approx([1.0, 1.0, 1.0, 2.0, 3.0])


def test_columns_of_different_heights_are_kept_apart() -> None:
    heights = np.array([0.0, 10.0, 20.0])[:, None] * np.array([1.0, 2.0])
    found = arrays.column_integrals(
        heights, np.array([0.0, 1.0, 2.0])[None, :, None] * np.ones(2), np.array([0.0, 10.0])
    )
    assert found[0, 1] == pytest.approx([5.0, 2.5])  # the same numbers on the stretched column mean half the gradient


def some_weights(targets: int, nodes: int, random: np.random.Generator) -> Weights:
    matrix = np.zeros((targets, nodes))
    for row, first in enumerate(random.integers(0, nodes, targets)):
        matrix[row, first : first + 3] = random.normal(size=matrix[row, first : first + 3].size)
    return Weights.of(matrix)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(3, 9), st.integers(3, 9), st.integers(0, 2**32 - 1))
def test_weighted_sums_have_the_bits_of_numpy(
    to_rows: int, to_columns: int, rows: int, columns: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    lat, lon = some_weights(to_rows, rows, random), some_weights(to_columns, columns, random)
    field = random.normal(size=(2, rows, columns))
    assert np.array_equal(arrays.weighted(lat, field, lon), apply(lat, field, lon))
    assert np.array_equal(arrays.weighted(lat, field[0], lon), apply(lat, field[0], lon))
