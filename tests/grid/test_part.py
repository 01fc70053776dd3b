import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.grid import Grid
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
    for name in ("lon", "lon_faces"):
        end = window.east + (name == "lon_faces")
        assert getattr(part, name).tobytes() == getattr(grid, name)[window.west : end].tobytes()
    for name in ("lat", "lat_faces", "zonal_face_length"):
        end = window.north + (name != "lat")
        assert getattr(part, name).tobytes() == getattr(grid, name)[window.south : end].tobytes()
    for name in ("cell_area", "cell_volume"):
        assert getattr(part, name).tobytes() == getattr(grid, name)[..., window.rows, :].tobytes()
    assert part.meridional_face_length == grid.meridional_face_length
    assert part.layer_faces.tobytes() == grid.layer_faces.tobytes()


@given(grids_and_windows(), st.data())
def test_a_part_of_a_part_is_a_part_of_the_whole(case: tuple[Grid, Window], data: st.DataObject) -> None:
    grid, window = case
    outer = window.grown(data.draw(st.integers(0, 3)), *grid.shape[1:])
    within = grid.part(outer).part(window.within(outer))
    assert within.cell_area.tobytes() == grid.part(window).cell_area.tobytes()
    assert within.steps == grid.steps


def test_a_grid_of_its_own_has_another_round_off() -> None:
    """What the part's own ends would give: without this difference the tests above would show nothing."""
    grid = Grid.regular((0, 10), (45, 55), (0.1, 0.1), LAYERS)
    window = Window(3, 38, 0, 7)
    alone = Grid(grid.lon_faces[:8], grid.lat_faces[3:39], grid.layer_faces)
    assert not np.array_equal(alone.cell_area, grid.part(window).cell_area)
    assert alone.cell_area == pytest.approx(grid.part(window).cell_area, rel=1e-12)
