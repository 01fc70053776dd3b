import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.models.air.weather.placement import averaging_matrix, clamped_matrix, interpolation_matrix

rising = st.lists(st.floats(0.1, 3.0), min_size=2, max_size=12).map(np.cumsum)


@given(rising, st.floats(-5, 5), st.floats(-5, 5))
def test_linear_fields_are_interpolated_and_averaged_exactly(nodes: np.ndarray, a: float, b: float) -> None:
    values = a + b * nodes
    points = np.linspace(nodes[0] - 0.5, nodes[-1] + 0.5, 9)
    assert interpolation_matrix(nodes, points) @ values == pytest.approx(a + b * points, abs=1e-9)
    middles = 0.5 * (points[1:] + points[:-1])
    assert averaging_matrix(nodes, points) @ values == pytest.approx(a + b * middles, abs=1e-8)


def test_the_mean_of_a_tent_by_hand() -> None:
    nodes, values = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0])
    means = averaging_matrix(nodes, np.array([0.0, 0.5, 1.5, 2.0])) @ values
    assert means == pytest.approx([0.25, 0.75, 0.25])


@given(rising)
def test_averages_conserve_the_integral(nodes: np.ndarray) -> None:
    values = np.sin(3.0 * nodes)
    edges = np.linspace(nodes[0], nodes[-1], 8)
    total = np.sum(averaging_matrix(nodes, edges) @ values * np.diff(edges))
    assert total == pytest.approx(np.trapezoid(values, nodes), abs=1e-9)


def test_a_clamped_matrix_holds_the_ends() -> None:
    assert clamped_matrix(np.array([1.0, 2.0]), np.array([0.0, 5.0])) @ [10.0, 20.0] == pytest.approx([10.0, 20.0])


def test_one_node_is_the_same_everywhere() -> None:
    assert interpolation_matrix(np.array([3.0]), np.array([0.0, 9.0])) @ [7.0] == pytest.approx([7.0, 7.0])
    assert averaging_matrix(np.array([3.0]), np.array([0.0, 9.0])) @ [7.0] == pytest.approx([7.0])
