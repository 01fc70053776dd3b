"""The layer that the sun mixes: its profile, its day, and parts of the grid."""

from datetime import UTC, datetime

import numpy as np
import pytest

from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.case import Case
from airshed.models.air.light import Light
from airshed.models.air.weather.case_weather import DailyMixing, mixing_profile, uniform_meteorology
from airshed.models.air.weather.state import MeteorologyWindow, always

GRID = Grid.regular(lon=(0, 12), lat=(40, 50), spacing=1.0, layers=[50.0, 150.0, 400.0, 800.0, 1500.0, 3000.0])
NOON, MIDNIGHT = 12 * 3600.0, 0.0
DEPTH, LARGEST = 1200.0, 80.0


def light_over(grid: Grid) -> Light:
    return Light(grid.x, grid.y[:, None], datetime(2022, 6, 21, tzinfo=UTC), clouds=False)


def steady(grid: Grid) -> DailyMixing:
    settings = Case.from_dict({
        "grid": {"area": {"lon": [0, 12], "lat": [40, 50]}, "spacing": "1 deg"},
        "time": {"start": "2022-06-21T00:00:00Z", "length": "24 h"},
        "chemistry": {"mechanism": "tracer"},
        "meteorology": {"kind": "uniform", "rotation": "48 h", "diffusivity": "1 m2/s"},
    }).meteorology  # fmt: skip
    base = uniform_meteorology(settings, grid, np.datetime64("2022-06-21T00:00:00"), np.ones(grid.shape[1:]))
    return DailyMixing(base, grid, light_over(grid), depth=DEPTH, largest=LARGEST, last=86400.0)


def test_the_profile_is_1_at_a_third_of_the_layer_and_nothing_at_its_ends_and_above() -> None:
    heights = np.array([0.0, 400.0, 1200.0, 5000.0])
    assert mixing_profile(heights, np.array(DEPTH)) == pytest.approx([0.0, 1.0, 0.0, 0.0])
    assert np.all(mixing_profile(heights, np.array(0.0)) == 0.0)
    fine = mixing_profile(np.linspace(0.0, DEPTH, 1001), np.array(DEPTH))
    assert fine.max() == pytest.approx(1.0, abs=1e-5)


def test_at_night_the_air_is_the_steady_one_and_by_day_the_diffusivity_is_that_of_the_formula() -> None:
    met = steady(GRID)
    night, day = met.at(MIDNIGHT), met.at(NOON)
    assert np.all(night.diffusivity[1:-1] == 1.0)
    height = light_over(GRID).cos_zenith(NOON)
    assert height.min() > 0.7
    z = 400.0 / (DEPTH * height)
    expected = 1.0 + LARGEST * height * 6.75 * z * (1.0 - z) ** 2
    np.testing.assert_allclose(day.diffusivity[3], expected, rtol=1e-12)
    assert np.all(day.diffusivity[[0, -1]] == 0.0)
    assert np.all(day.boundary_layer_height >= DEPTH * height)
    assert day.diffusivity[3].std() > 0.0  # columns differ


def test_between_full_hours_it_is_linear() -> None:
    met = steady(GRID)
    assert met.times == tuple(3600.0 * hour for hour in range(25))
    middle = 0.5 * (met.at(8 * 3600.0).diffusivity + met.at(9 * 3600.0).diffusivity)
    np.testing.assert_allclose(met.at(8.5 * 3600.0).diffusivity, middle, rtol=1e-12)


def test_a_part_of_the_grid_has_the_bits_of_the_whole() -> None:
    window = Window(2, 7, 3, 11)
    whole, part = steady(GRID), GRID.part(window)
    own = DailyMixing(
        MeteorologyWindow(whole._base, window, GRID), part, light_over(part), depth=DEPTH, largest=LARGEST, last=86400.0
    )
    for seconds in (MIDNIGHT, 6.3 * 3600.0, NOON):
        expected, found = whole.at(seconds).part(window), own.at(seconds)
        for name in always():
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_provenance_says_that_the_mixing_follows_the_sun() -> None:
    assert "by solar zenith angle" in steady(GRID).provenance["diffusivity"]
