import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import CaseError
from airshed.grid import Grid, default_layers


def test_west_europe_has_the_expected_shape_and_coordinates() -> None:
    grid = Grid.regular((0, 10), (45, 55), 0.25, [20, 50, 100])
    assert grid.shape == (3, 40, 40)
    assert grid.x[0] == 0.125
    assert grid.y[-1] == 54.875
    assert list(grid.level) == [10.0, 35.0, 75.0]
    assert list(grid.thickness) == [20.0, 30.0, 50.0]


def test_metrics_of_one_degree_at_the_equator() -> None:
    grid = Grid.regular((0, 2), (0, 1), 1.0, [100.0])
    degree = EARTH_RADIUS * np.pi / 180.0
    assert grid.x_face_length[0, 0] == pytest.approx(degree)
    assert grid.y_face_length[0, 0] == pytest.approx(degree)
    assert grid.y_face_length[1, 0] == pytest.approx(degree * np.cos(np.radians(1.0)))
    assert grid.cell_area[0, 0] == pytest.approx(degree * EARTH_RADIUS * np.sin(np.radians(1.0)))
    assert grid.cell_volume[0, 0, 0] == pytest.approx(100.0 * grid.cell_area[0, 0])


@given(st.integers(1, 40), st.integers(1, 40))
def test_cells_of_the_whole_sphere_add_up_to_it(nlon: int, nlat: int) -> None:
    grid = Grid.regular((-180, 180), (-90, 90), (360.0 / nlon, 180.0 / nlat), [10.0])
    assert grid.cell_area.sum() == pytest.approx(4.0 * np.pi * EARTH_RADIUS**2, rel=1e-12)
    assert not grid.y_face_length[[0, -1]].any()


def test_spacing_can_differ_between_the_axes() -> None:
    assert Grid.regular((0, 10), (45, 55), (0.5, 0.25), [10.0]).shape == (1, 40, 20)


def test_the_default_layers_reach_from_20_m_to_8_to_10_km() -> None:
    tops = default_layers()
    assert 16 <= len(tops) <= 20
    assert tops[0] == 20.0
    assert 8000.0 <= tops[-1] <= 10000.0
    thickness = np.diff((0.0, *tops))
    growth = thickness[1:] / thickness[:-1]
    assert growth.min() > 1.0
    assert growth.max() < 1.7


def test_a_grid_cannot_be_changed() -> None:
    grid = Grid.regular((0, 1), (0, 1), 1.0, [10.0])
    with pytest.raises(ValueError, match="read-only"):
        grid.x_faces[0] = 5.0


@pytest.mark.parametrize(
    ("lon", "lat", "spacing", "layers", "words"),
    [
        ((10, 0), (45, 55), 0.25, [20.0], "smaller one first"),
        ((0, 10), (45, 55), 0.3, [20.0], "0.3030303"),
        ((0, 10), (45, 55), 0.0, [20.0], "positive"),
        ((0, 10), (45, 55), -1.0, [20.0], "positive"),
        ((0, 10), (85, 95), 0.25, [20.0], "within -90 and 90"),
        ((0, 370), (45, 55), 1.0, [20.0], "has 360"),
        ((0, 10), (45, 55), 0.25, [], "no layers"),
        ((0, 10), (45, 55), 0.25, [20.0, 20.0], "layer 2"),
        ((0, 10), (45, 55), 0.25, [-5.0], "layer 1"),
        ((0, 10), (45, 55), 0.25, [20.0, float("nan")], "layer 2"),
        ((0, 10), (45, 55), 1e-5, [20.0], "coarser"),
        ((0, float("nan")), (45, 55), 1.0, [20.0], "smaller one first"),
    ],
)
def test_a_grid_that_cannot_be_is_refused_with_advice(lon, lat, spacing, layers, words) -> None:
    with pytest.raises(CaseError, match=words):
        Grid.regular(lon, lat, spacing, layers)


def test_faces_that_are_not_uniform_are_refused() -> None:
    with pytest.raises(CaseError, match="equal steps"):
        Grid.lonlat([0.0, 1.0, 3.0], [0.0, 1.0], [0.0, 10.0])
    with pytest.raises(CaseError, match="begin with 0 m"):
        Grid.lonlat([0.0, 1.0], [0.0, 1.0], [5.0, 10.0])
