"""The comparison of a day on a Lambert grid with the shipped one: its points, and its interpolation."""

import numpy as np
import pytest
from validation.map_projections.__main__ import GRIDS, case_on, points, row, there_and_back


def test_grids_have_the_same_number_of_cells_and_common_points() -> None:
    cases = {name: case_on(grid) for name, grid in GRIDS.items()}
    assert cases["shipped"].make_grid().shape == cases["lambert"].make_grid().shape
    lon, lat = points(cases["shipped"])
    assert lon.size > 1000
    # Interpolation there and back preserves a linear field, and smooths noise.
    grid = cases["shipped"].make_grid()
    linear = (2.0 * grid.lon - grid.lat).ravel()[None]
    back = there_and_back(linear, cases["shipped"], cases["lambert"], lon, lat)
    assert back[0] == pytest.approx(2.0 * lon - lat, abs=5e-3)
    rough = np.random.default_rng(1).random(linear.shape)
    assert there_and_back(rough, cases["shipped"], cases["lambert"], lon, lat).std() < 0.7 * rough.std()


def test_a_row_states_the_differences() -> None:
    reference = np.arange(6.0).reshape(2, 3)
    assert row("another", "O3", reference + 0.5, reference) == "| O3 | another | 2.50 | +0.500 | 0.50 | 0.50 | 1.0000 |"
