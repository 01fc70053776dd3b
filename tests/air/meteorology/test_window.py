"""A window's meteorology has the bits of the whole grid's, whichever way it is made."""

from dataclasses import fields

import numpy as np
import pytest

from airshed.air.meteorology import MetState, WindowOf
from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.window import Window

START = np.datetime64("2022-08-31T00:00")
GRID = Grid.regular((0, 4), (48, 51), 0.5, [20.0, 100.0, 500.0, 2000.0])
ROWS, COLUMNS = GRID.shape[1:]


def windows(rows: int, columns: int) -> list[Window]:
    """The whole, single rows, columns and cells, and a division into 3 x 2."""
    south, west = [0, rows // 3, 2 * rows // 3, rows], [0, columns // 2, columns]
    tiles = [Window(south[j], south[j + 1], west[i], west[i + 1]) for j in range(3) for i in range(2)]
    return [
        Window.whole(rows, columns), Window(0, 1, 0, columns), Window(rows - 1, rows, 2, columns),
        Window(0, rows, columns - 1, columns), Window(2, 3, 3, 4), *tiles,
    ]  # fmt: skip


def is_the_part(part: MetState, whole: MetState, window: Window) -> None:
    """Assert that a state is the window's part of another one, bit for bit, in arrays of its own."""
    for field in fields(MetState):
        axis = {"eastward_air_flux": "lon", "northward_air_flux": "lat"}.get(field.name, "")
        found, expected = getattr(part, field.name), window.of_faces(getattr(whole, field.name), axis)
        assert found.flags.c_contiguous
        assert found.shape == expected.shape, field.name
        assert found.tobytes() == expected.tobytes(), field.name


def made_up(seconds: float) -> MetState:
    shape = (ROWS, COLUMNS)
    random = np.random.default_rng(int(seconds))
    arrays = {field.name: random.random((4, *shape)) for field in fields(MetState)}
    for name in ("cloud_cover", "friction_velocity", "obukhov_length", "boundary_layer_height", "precipitation",
                 "surface_temperature", "surface_pressure"):  # fmt: skip
        arrays[name] = random.random(shape)
    arrays["eastward_air_flux"] = random.random((4, ROWS, COLUMNS + 1))
    arrays["northward_air_flux"] = random.random((4, ROWS + 1, COLUMNS))
    arrays["diffusivity"] = random.random((5, *shape))
    return MetState(**arrays)


class Given:
    """What a user may give."""

    times = (0.0, 3600.0)
    provenance = {"temperature": "given"}

    def at(self, seconds: float) -> MetState:
        return made_up(seconds)


@pytest.mark.parametrize("window", windows(ROWS, COLUMNS), ids=str)
def test_a_window_of_what_a_user_gives(window: Window) -> None:
    part = WindowOf(Given(), window, GRID)
    assert (part.times, part.provenance) == (Given.times, Given.provenance)
    for seconds in (0.0, 3600.0):
        is_the_part(part.at(seconds), made_up(seconds), window)


def test_a_state_that_does_not_fit_the_whole_grid_is_refused() -> None:
    other = Grid.regular((0, 4), (48, 51), 0.25, [20.0, 100.0, 500.0, 2000.0])
    with pytest.raises(DataError, match="air_density has shape"):
        WindowOf(Given(), Window(0, 2, 0, 2), other).at(0.0)


def test_a_neighbouring_window_is_not_the_part() -> None:
    with pytest.raises(AssertionError):
        is_the_part(WindowOf(Given(), Window(0, 2, 0, 2), GRID).at(0.0), made_up(0.0), Window(0, 2, 1, 3))
