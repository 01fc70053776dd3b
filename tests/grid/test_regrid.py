import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.grid import Grid
from airshed.grid.regrid import Regridder, overlap_fractions

widths = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=12)


@given(widths, widths, st.integers(0, 2**32 - 1))
def test_every_amount_inside_the_target_is_kept(lon_widths, lat_widths, seed):
    lon_faces, lat_faces = 3.0 + np.cumsum([0.0, *lon_widths]), 40.0 + np.cumsum([0.0, *lat_widths])
    target = Grid.regular((2.0, 18.0), (38.0, 53.0), 0.5)
    amount = np.random.default_rng(seed).random((2, lat_faces.size - 1, lon_faces.size - 1))
    moved = Regridder(lon_faces, lat_faces, target)(amount)
    assert moved.shape == (2, 30, 32)
    assert np.allclose(moved.sum(axis=(1, 2)), amount.sum(axis=(1, 2)), rtol=1e-13)
    assert moved.min() >= 0.0


def test_an_even_density_stays_even_and_the_edge_cuts():
    target = Grid.regular((0.0, 2.0), (50.0, 52.0), 0.5)
    lon_faces, lat_faces = np.linspace(-1.03, 2.51, 31), np.linspace(48.7, 53.1, 23)
    amount = np.outer(np.diff(np.sin(np.radians(lat_faces))), np.diff(lon_faces))
    moved = Regridder(lon_faces, lat_faces, target)(amount)
    expected = np.outer(np.diff(np.sin(np.radians(target.y_faces))), np.diff(target.x_faces))
    assert np.allclose(moved, expected, rtol=1e-12)
    assert moved.sum() < 0.5 * amount.sum()


def test_longitudes_of_another_turn_are_the_same_place():
    amount = np.ones((4, 4))
    faces = np.linspace(-2.0, 2.0, 5), np.linspace(50.0, 54.0, 5)
    here = Regridder(*faces, Grid.regular((-2.0, 2.0), (50.0, 54.0), 1.0))(amount)
    there = Regridder(*faces, Grid.regular((358.0, 362.0), (50.0, 54.0), 1.0))(amount)
    assert np.allclose(here, there)
    assert here.sum() == pytest.approx(16.0)


def test_nearest_neighbour_would_not_conserve():
    source, target = np.array([0.0, 0.3, 1.0]), np.array([0.0, 0.1, 0.2, 1.0])
    amount = np.array([1.0, 2.0])
    assert (overlap_fractions(source, target) @ amount).sum() == pytest.approx(3.0)
    nearest = np.digitize(0.5 * (target[1:] + target[:-1]), source) - 1
    assert amount[nearest].sum() != pytest.approx(3.0)
