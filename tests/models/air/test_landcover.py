import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.landcover import LAND_ROUGHNESS, land_fraction, roughness_length, sea_roughness

LAYERS = [20.0, 50.0]


@pytest.fixture(scope="module")
def western_europe() -> Grid:
    return Grid.regular((0.0, 10.0), (45.0, 55.0), 0.25, LAYERS)


def at(grid: Grid, field: np.ndarray, lon: float, lat: float) -> float:
    return float(field[np.argmin(abs(grid.y - lat)), np.argmin(abs(grid.x - lon))])


@pytest.mark.parametrize(
    ("place", "lon", "lat", "low", "high"),
    [
        ("Paris", 2.35, 48.86, 1.0, 1.0),
        ("Amsterdam, below sea level", 4.9, 52.37, 0.95, 1.0),
        ("Essen", 7.0, 51.45, 1.0, 1.0),
        ("North Sea", 3.0, 54.0, 0.0, 0.0),
        ("Channel off Dieppe", 0.6, 50.3, 0.0, 0.05),
        ("coast of Flanders", 2.9, 51.2, 0.2, 0.9),
    ],
)
def test_known_places(western_europe: Grid, place: str, lon: float, lat: float, low: float, high: float) -> None:
    assert low <= at(western_europe, land_fraction(western_europe), lon, lat) <= high, place


@pytest.mark.parametrize("west", [0.0, 175.0, -184.0, 350.0])
def test_the_land_of_a_window_is_the_wholes_cut(west: float) -> None:
    grid = Grid.regular((west, west + 9.0), (-47.0, -17.0), (0.45, 0.3), LAYERS)
    whole = land_fraction(grid)
    for window in (Window(0, 100, 0, 9), Window(31, 32, 0, 20), Window(99, 100, 19, 20), Window(7, 50, 11, 20)):
        assert np.ascontiguousarray(land_fraction(grid.part(window))).tobytes() == window.of(whole).tobytes()


def test_land_area_does_not_depend_on_the_cells() -> None:
    areas = []
    for spacing in (0.25, 0.5, 2.5):
        grid = Grid.regular((0.0, 10.0), (45.0, 55.0), spacing, LAYERS)
        areas.append(float((land_fraction(grid) * grid.cell_area).sum()))
    assert areas == pytest.approx([areas[0]] * 3, rel=1e-12)


def test_mean_without_area_weights_is_another_number() -> None:
    """The check above can fail: plain means of cells of different area differ."""
    plain = [float(land_fraction(Grid.regular((0.0, 10.0), (45.0, 55.0), d, LAYERS)).mean()) for d in (0.25, 5.0)]
    assert abs(plain[0] - plain[1]) > 1e-3


def test_the_whole_globe() -> None:
    grid = Grid.regular((-180.0, 180.0), (-90.0, 90.0), 5.0, LAYERS)
    share = float((land_fraction(grid) * grid.cell_area).sum() / (grid.cell_area * np.ones(grid.shape[1:])).sum())
    assert share == pytest.approx(0.292, abs=0.006)


def test_longitudes_may_be_counted_either_way() -> None:
    west = Grid.regular((-75.0, -65.0), (-40.0, -30.0), 0.5, LAYERS)
    east = Grid.regular((285.0, 295.0), (-40.0, -30.0), 0.5, LAYERS)
    np.testing.assert_allclose(land_fraction(west), land_fraction(east), atol=1e-12)


def test_brisbane_lies_on_a_coast() -> None:
    grid = Grid.regular((150.0, 156.0), (-30.0, -25.0), 0.5, LAYERS)
    land = land_fraction(grid)
    assert land[:, 0] == pytest.approx(1.0)
    assert land[:, -1] == pytest.approx(0.0)


def test_sea_gets_rougher_with_the_wind_and_is_smoother_than_land() -> None:
    friction = np.array([0.1, 0.3, 0.6, 1.0])
    rough = sea_roughness(friction)
    assert np.all(np.diff(rough) > 0.0)
    assert np.all((rough > 1e-6) & (rough < 5e-3))
    assert np.all(np.isfinite(sea_roughness(np.zeros(2))))


@given(land=st.floats(0.0, 1.0), friction=st.floats(0.0, 2.0))
def test_mixed_roughness_lies_between_sea_and_land(land: float, friction: float) -> None:
    sea = sea_roughness(np.array(friction))
    mixed = roughness_length(np.array(land), np.array(friction))
    assert sea * (1 - 1e-12) <= mixed <= LAND_ROUGHNESS * (1 + 1e-12)
