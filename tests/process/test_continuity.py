"""Vertical air flux from continuity, and the sum of outflows that limits the step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.kernels.transport.reference import AirFluxes, air_tendency
from airshed.process.vertical import outflow_rate, upward_air_flux


def random_air(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(size=(4, 3, 6)), random.normal(size=(4, 4, 5)), random.normal(size=(4, 3, 5))


@given(st.integers(0, 10_000))
def test_continuity_closes_the_air_budget(seed: int) -> None:
    east, north, change = random_air(seed)
    upward = upward_air_flux(east, north, change)
    np.testing.assert_allclose(air_tendency(AirFluxes(east, north, upward)), change, atol=1e-13)
    assert np.abs(air_tendency(AirFluxes(east, north, 1.001 * upward)) - change).max() > 1e-5


def test_converging_air_rises() -> None:
    """1 mol/s into the lowest cell from the west, 2 out of the one above to the east: 1 mol/s up, and 1 down on top."""
    east = np.array([[[1.0, 0.0]], [[0.0, 2.0]]])
    upward = upward_air_flux(east, np.zeros((2, 2, 1)), np.zeros((2, 1, 1)))
    assert upward.ravel() == pytest.approx([1.0, -1.0])


def test_outflow_by_hand() -> None:
    """Out to the east 3 and to the south 2; in from the west and the north; up 5 from the lower of two cells."""
    east = np.array([[[1.0, 3.0]], [[-4.0, -1.0]]])
    north = np.array([[[-2.0], [-1.0]], [[6.0], [7.0]]])
    upward = np.array([[[5.0]], [[-8.0]]])
    rate = outflow_rate(east, north, upward, np.array([[[10.0]], [[100.0]]]))
    assert rate.ravel() == pytest.approx([(3.0 + 2.0 + 5.0) / 10.0, (4.0 + 7.0) / 100.0])


def test_sinking_air_leaves_through_the_floor() -> None:
    upward = np.array([[[-5.0]], [[0.0]]])
    rate = outflow_rate(np.zeros((2, 1, 2)), np.zeros((2, 2, 1)), upward, np.ones((2, 1, 1)))
    assert rate.ravel() == pytest.approx([0.0, 5.0])


@given(st.integers(0, 10_000))
def test_what_leaves_is_what_enters_and_the_loss_of_air(seed: int) -> None:
    east, north, change = random_air(seed)
    upward = upward_air_flux(east, north, change)
    air = np.full(change.shape, 2.0)
    out = 2.0 * outflow_rate(east, north, upward, air)
    # with reversed winds the outflow becomes inflow; nothing passes the ground
    into = 2.0 * outflow_rate(-east, -north, -upward, air)
    np.testing.assert_allclose(into - out, change, atol=1e-12)
