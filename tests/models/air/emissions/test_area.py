"""Area sources: the grid receives the whole emission of a rectangle, wherever its edges are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import CaseError
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.emissions import AreaEmissions, AreaSource

GRID = Grid.regular(lon=(0, 8), lat=(45, 55), spacing=(1.0, 0.5), layers=[50.0, 200.0])


def area_of(lon: tuple[float, float], lat: tuple[float, float]) -> float:
    return EARTH_RADIUS**2 * np.radians(lon[1] - lon[0]) * float(np.diff(np.sin(np.radians(lat)))[0])


@given(st.tuples(*[st.floats(0.0, 1.0)] * 4))
def test_a_box_inside_emits_its_rate_times_its_area(parts: tuple[float, ...]) -> None:
    west, south = 6.0 * parts[0], 45.0 + 7.0 * parts[1]
    lon, lat = (west, west + 0.01 + 1.9 * parts[2]), (south, south + 0.01 + 2.9 * parts[3])
    rate = AreaEmissions([AreaSource(lon, lat, {"NO": 3e-9})], GRID).rate(0.0)
    assert rate.shape == (1, 1, 20, 8)
    assert rate.sum() == pytest.approx(3e-9 * area_of(lon, lat), rel=1e-9)
    assert rate.min() >= 0.0


def test_boxes_add_up_and_what_lies_outside_is_cut() -> None:
    everywhere = AreaSource((-5.0, 20.0), (40.0, 60.0), {"NO": 1e-9, "CO": 2e-9})
    town = AreaSource((2.0, 3.0), (50.0, 50.5), {"NO": 5e-9})
    both = AreaEmissions([everywhere, town], GRID)
    assert both.species == ("NO", "CO")
    flux = both.rate(7200.0)[:, 0] / GRID.cell_area
    np.testing.assert_allclose(flux[1], 2e-9, rtol=1e-9)
    expected = np.full((20, 8), 1e-9)
    expected[10, 2] += 5e-9
    np.testing.assert_allclose(flux[0], expected, rtol=1e-9)


def test_a_part_of_the_grid_has_the_bits_of_the_whole() -> None:
    whole = AreaEmissions([AreaSource((1.3, 6.1), (46.2, 53.9), {"NO": 1e-9})], GRID)
    window = Window(3, 11, 2, 7)
    np.testing.assert_array_equal(whole.part(window).rate(0.0), window.of(whole.rate(0.0)))


@pytest.mark.parametrize(
    ("lon", "lat", "rates", "said"),
    [
        ((3.0, 3.0), (50.0, 51.0), {"NO": 1.0}, "no extent"),
        ((3.0, 4.0), (89.0, 91.0), {"NO": 1.0}, "invalid latitudes"),
        ((3.0, 4.0), (50.0, 51.0), {"NO": -1.0}, "area source of NO: its rate is -1"),
        ((3.0, 4.0), (50.0, 51.0), {"NO": np.nan}, "its rate is nan"),
        ((30.0, 31.0), (50.0, 51.0), {"NO": 1.0}, "outside the grid"),
    ],
)
def test_what_cannot_be_is_refused(
    lon: tuple[float, float], lat: tuple[float, float], rates: dict[str, float], said: str
) -> None:
    with pytest.raises(CaseError, match=said):
        AreaEmissions([AreaSource(lon, lat, rates)], GRID)


def test_no_source_is_refused() -> None:
    with pytest.raises(CaseError, match="no area source"):
        AreaEmissions([], GRID)
