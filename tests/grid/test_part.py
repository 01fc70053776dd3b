from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.grid import Grid, Metrics
from airshed.grid.window import Window

LAYERS = [20.0, 50.0, 120.0]


@st.composite
def grids_and_windows(draw: st.DrawFn) -> tuple[Grid, Window]:
    rows, columns = draw(st.integers(1, 30)), draw(st.integers(1, 30))
    dlon, dlat = draw(st.sampled_from((0.1, 0.25, 1.0 / 3.0, 1.1))), draw(st.sampled_from((0.1, 0.3, 1.0)))
    west, south = draw(st.sampled_from((-180.0, -10.3, 0.0, 7.1))), draw(st.sampled_from((-90.0, -33.3, 0.0, 45.0)))
    grid = Grid.regular((west, west + columns * dlon), (south, south + rows * dlat), (dlon, dlat), LAYERS)
    first_row, first_column = draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))
    return grid, Window(
        first_row, draw(st.integers(first_row + 1, rows)), first_column, draw(st.integers(first_column + 1, columns))
    )


@given(grids_and_windows())
def test_a_part_has_the_places_and_lengths_of_the_whole_to_the_bit(case: tuple[Grid, Window]) -> None:
    grid, window = case
    part = grid.part(window)
    assert part.shape == (grid.shape[0], *window.shape)
    for each in fields(Metrics):
        found, array = getattr(part, each.name), getattr(grid, each.name)
        more_rows, more_columns = array.shape[0] - grid.shape[1], array.shape[1] - grid.shape[2]
        expected = array[window.south : window.north + more_rows, window.west : window.east + more_columns]
        assert found.tobytes() == expected.tobytes(), each.name
    assert part.cell_volume.tobytes() == grid.cell_volume[..., window.rows, window.columns].tobytes()
    assert part.x_faces.tobytes() == grid.x_faces[window.west : window.east + 1].tobytes()
    assert part.y.tobytes() == grid.y[window.rows].tobytes()
    assert part.layer_faces.tobytes() == grid.layer_faces.tobytes()


@given(grids_and_windows(), st.data())
def test_a_part_of_a_part_is_a_part_of_the_whole(case: tuple[Grid, Window], data: st.DataObject) -> None:
    grid, window = case
    outer = window.grown(data.draw(st.integers(0, 3)), *grid.shape[1:])
    within = grid.part(outer).part(window.within(outer))
    assert within.cell_area.tobytes() == grid.part(window).cell_area.tobytes()


def test_a_grid_of_its_own_has_another_round_off() -> None:
    """Negative control: a part computed from its own bounds differs by round-off."""
    grid = Grid.regular((0, 10), (45, 55), (0.1, 0.1), LAYERS)
    window = Window(3, 38, 0, 7)
    alone = Grid.lonlat(grid.x_faces[:8], grid.y_faces[3:39], grid.layer_faces)
    assert not np.array_equal(alone.cell_area, grid.part(window).cell_area)
    assert alone.cell_area == pytest.approx(grid.part(window).cell_area, rel=1e-12)
