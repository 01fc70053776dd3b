"""Smoothing and nearness on a fine grid, against SciPy's image filters."""

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt, gaussian_filter

from airshed.models.air.emissions.proxies import smoothed, within

CELL = (3.6, 5.56)
FIELD = np.random.default_rng(3).uniform(size=(37, 53)) ** 8


@pytest.mark.parametrize("sigma", [5.0, 15.0])
def test_smoothing_is_the_truncated_gaussian(sigma: float) -> None:
    theirs = gaussian_filter(FIELD, (sigma / CELL[1], sigma / CELL[0]), mode="constant", truncate=3.0)
    assert smoothed(FIELD, sigma, CELL) == pytest.approx(theirs, rel=1e-12, abs=1e-15)


def test_the_check_of_smoothing_fails_for_another_width() -> None:
    theirs = gaussian_filter(FIELD, (15.0 / CELL[1], 15.0 / CELL[0]), mode="constant", truncate=3.0)
    assert smoothed(FIELD, 14.0, CELL) != pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize("distance", [0.0, 4.0, 20.0, 300.0])
def test_cells_within_a_distance_are_those_of_the_distance_transform(distance: float) -> None:
    marked = FIELD > 0.9
    gap = distance_transform_edt(~marked, sampling=CELL[::-1])
    assert np.array_equal(within(marked, distance, CELL), gap <= distance)
    assert not np.array_equal(within(marked, distance + 6.0, CELL), gap <= distance) or distance == 300.0
