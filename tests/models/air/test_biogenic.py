import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.grid import Grid
from airshed.models.air.emissions.biogenic import (
    EVERGREEN,
    STANDARD_EMISSION,
    BiogenicEmissions,
    isoprene_emission,
    leaf_area,
    light_factor,
    season_factor,
    temperature_factor,
)
from airshed.models.air.landcover import land_fraction
from airshed.models.air.light import cos_zenith
from airshed.models.air.weather import MetState
from airshed.models.air.weather.fields import of_use

GRID = Grid.regular((0.0, 10.0), (45.0, 55.0), 0.5, [20.0, 50.0])
FLAT = GRID.shape[1:]


def weather(surface_temperature: float, cloud_cover: float = 0.0) -> MetState:
    fields = {name: np.zeros(shape) for name, shape in ((each.name, each.shape(GRID)) for each in of_use("state"))}
    fields["surface_temperature"] += surface_temperature
    fields["cloud_cover"] += cloud_cover
    return MetState(**fields)


def emission(met: MetState, sun: np.ndarray, land: np.ndarray) -> np.ndarray:
    return isoprene_emission(met, sun, land, np.broadcast_to(GRID.cell_area, FLAT))


def test_factors_are_one_at_standard_conditions() -> None:
    assert light_factor(np.array(1000.0)) == pytest.approx(1.0, abs=2e-3)
    assert temperature_factor(np.array(303.0)) == pytest.approx(1.0, abs=0.05)


def test_published_shape_of_the_temperature_factor() -> None:
    """Guenther et al. 1993: doubles about every 6 K below 303 K, peaks near 312 K, falls off beyond."""
    temperature = np.arange(280.0, 325.0, 0.1)
    factor = temperature_factor(temperature)
    assert 310.0 < temperature[np.argmax(factor)] < 313.0
    assert temperature_factor(np.array(299.0)) / temperature_factor(np.array(293.0)) == pytest.approx(2.1, abs=0.15)
    assert factor[-1] < 0.3 * factor.max()


@given(st.floats(0.0, 2500.0), st.floats(0.0, 2500.0))
def test_more_light_more_isoprene_until_saturation(one: float, other: float) -> None:
    low, high = light_factor(np.sort([one, other]))
    assert 0.0 <= low <= high < 1.066


def test_one_square_metre_at_standard_conditions() -> None:
    """Emission per area is the standard one when light and temperature factors are; C_L reaches 1 at Q = 1000."""
    cosine = np.full(FLAT, (1000.0 / (4.57 * 0.45) + 30.0) / 910.0)
    rate = emission(weather(303.0), cosine, np.ones(FLAT))
    per_area = rate * 68.117e-3 / (GRID.cell_area * np.ones(FLAT))
    assert per_area == pytest.approx(STANDARD_EMISSION, rel=0.05)


def test_nothing_at_night_or_from_the_sea() -> None:
    day, night = np.full(FLAT, 0.7), np.full(FLAT, -0.1)
    assert np.all(emission(weather(295.0), night, np.ones(FLAT)) == 0.0)
    assert np.all(emission(weather(295.0), day, np.zeros(FLAT)) == 0.0)
    assert np.all(emission(weather(295.0), day, np.ones(FLAT)) > 0.0)


def test_clouds_dim_and_warmth_drives() -> None:
    day, land = np.full(FLAT, 0.7), np.ones(FLAT)
    clear = emission(weather(295.0), day, land)
    assert np.all(emission(weather(295.0, cloud_cover=1.0), day, land) < 0.7 * clear)
    assert np.all(emission(weather(300.0), day, land) > 1.5 * clear)


def day_total(mean_temperature: float) -> float:
    """Isoprene of western Europe on 31 August 2022 [Gg], for a daily temperature wave of 5 K."""
    land = land_fraction(GRID)
    total = 0.0
    for hour in range(24):
        sun = cos_zenith(np.datetime64("2022-08-31T00", "h") + hour, GRID.x, GRID.y[:, None])
        temperature = mean_temperature + 5.0 * np.sin((hour - 9.0) * np.pi / 12.0)
        total += 3600.0 * float(emission(weather(temperature, 0.3), sun, land).sum())
    return total * 68.117e-3 / 1e6


def test_a_late_summer_day_of_western_europe() -> None:
    """Inventories give western Europe 0.5 to 3 Gg a day per million km2 in late summer; the box has 0.79 million."""
    assert 0.5 * 0.79 < day_total(290.0) < 3.0 * 0.79


def test_a_winter_day_is_out_of_that_range() -> None:
    assert day_total(275.0) < 0.5 * 0.79


LATITUDES = np.array([35.0, 45.0, 50.0, 55.0, 62.0])


def at(day: str) -> np.datetime64:
    return np.datetime64(f"2022-{day}T12:00:00")


def test_leaves_follow_the_latitude_function_of_the_mapping_manual() -> None:
    """At 50 N leaves begin on day 105 (16 April) and are gone on day 297 (25 October)."""
    expected = {"04-15": 0.0, "04-26": 0.525, "05-07": 1.0, "09-24": 1.0, "10-10": 0.483, "10-26": 0.0}
    for day, leaves in expected.items():
        assert leaf_area(np.array(50.0), at(day)) == pytest.approx(leaves, abs=1e-3), day
    assert np.all(np.diff(leaf_area(LATITUDES[1:], at("05-01"))) < 0.0), "spring comes from the south"


def test_summer_has_full_leaf_to_the_bit_and_winter_only_conifers() -> None:
    for day in ("06-21", "07-15", "08-31"):
        assert np.all(season_factor(LATITUDES, at(day)) == 1.0)
    assert season_factor(LATITUDES, at("01-01")) == pytest.approx(np.full(5, EVERGREEN))


def test_the_southern_season_is_half_a_year_later_and_the_tropics_have_none() -> None:
    assert np.all(season_factor(-LATITUDES, at("01-01")) == 1.0)
    assert season_factor(-LATITUDES, at("07-15")) == pytest.approx(np.full(5, EVERGREEN))
    assert np.all(season_factor(np.array([-20.0, 0.0, 20.0]), at("01-01")) == 1.0)
    assert np.all(np.abs(np.diff(season_factor(np.arange(-90.0, 90.0, 0.1), at("01-01")))) < 0.02), "no jump"


def test_the_source_follows_the_season() -> None:
    class Mild:
        def at(self, seconds: float) -> MetState:
            return weather(285.0)

    day, land = np.full(FLAT, 0.3), np.ones(FLAT)
    winter, summer = (
        BiogenicEmissions(
            {"C5H8": 1.0}, GRID, Mild(), lambda _: day, land, np.datetime64(start), lambda rate: rate.sum(axis=(-2, -1))
        ).rate(0.0)
        for start in ("2022-01-01T12:00:00", "2022-07-01T12:00:00")
    )
    np.testing.assert_allclose(winter, EVERGREEN * summer, rtol=1e-12)


def test_isoprene_becomes_what_the_species_map_says() -> None:
    class Steady:
        def at(self, seconds: float) -> MetState:
            return weather(303.0)

    day, land = np.full(FLAT, 0.7), np.ones(FLAT)
    start = np.datetime64("2022-08-31T00:00:00")
    source = BiogenicEmissions(
        {"OLE": 2.0, "PAR": 1.0}, GRID, Steady(), lambda seconds: day, land, start, lambda rate: rate.sum(axis=(-2, -1))
    )
    assert source.species == ("OLE", "PAR")
    ole, par = source.rate(0.0)[:, 0]
    np.testing.assert_array_equal(ole, 2.0 * par)
    np.testing.assert_array_equal(par, emission(weather(303.0), day, land))
    assert source.totals(1800.0) == pytest.approx([2.0 * par.sum(), par.sum()])
