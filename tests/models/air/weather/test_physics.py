import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.models.air.weather import atmosphere, boundary_layer

ONE = np.ones((1, 1))


def field(value: float) -> np.ndarray:
    return np.full((1, 1), value)


# temperature


def test_climatology_of_the_end_of_august_over_western_europe() -> None:
    when, lat = np.datetime64("2022-08-31T12:00"), np.linspace(45.0, 55.0, 11)
    mean = atmosphere.sea_level_temperature(when, lat)
    assert np.all((mean > 285.0) & (mean < 294.0))
    assert np.all(np.diff(mean) < 0.0)


def test_climatology_has_opposite_seasons_in_the_south() -> None:
    january, july = np.datetime64("2022-01-28T00:00"), np.datetime64("2022-07-29T15:00")
    north, south = np.array([45.0]), np.array([-45.0])
    # the table at 45 degrees: 283.15 K less and more 11 K
    assert atmosphere.sea_level_temperature(january, north) == pytest.approx(272.15, abs=0.01)
    assert atmosphere.sea_level_temperature(july, north) == pytest.approx(294.15, abs=0.01)
    assert atmosphere.sea_level_temperature(july, south) == pytest.approx(272.15, abs=0.01)


def test_saturated_air_is_the_warmer_the_moister_it_is() -> None:
    # 17 hPa at 1013.25 hPa: the dew point of 22.1 hPa is 19.1 C
    estimate = atmosphere.temperature_of_humidity(field(17.0 / 1013.25), field(101325.0))
    assert estimate[0, 0] == pytest.approx(292.2, abs=0.2)
    higher = atmosphere.temperature_of_humidity(field(17.0 / 800.0), field(80000.0))
    assert higher[0, 0] > estimate[0, 0] + 10.0


def test_daily_wave_peaks_in_the_afternoon_and_is_small_over_sea() -> None:
    lat, lon = np.array([50.0]), np.array([0.0])
    hours = [np.datetime64("2022-08-31T00:00") + np.timedelta64(h, "h") for h in range(24)]
    land = np.array([atmosphere.diurnal_wave(hour, lat, lon, ONE)[0, 0] for hour in hours])
    sea = np.array([atmosphere.diurnal_wave(hour, lat, lon, 0.0 * ONE)[0, 0] for hour in hours])
    assert land.argmax() in (14, 15)
    assert land.argmin() in (2, 3)
    assert land.mean() == pytest.approx(0.0, abs=1e-2)
    assert land.max() == pytest.approx(5.0 * np.cos(np.radians(50.0 - 8.5)), rel=0.02)
    assert sea.max() < 0.3


def test_profile_has_the_standard_lapse_rate_and_is_never_below_the_dew_point() -> None:
    pressure = np.array([101325.0, 54020.0, 5000.0])[:, None, None]
    dry = atmosphere.temperature_profile(
        pressure, field(101325.0), field(288.15), field(0.0), np.full_like(pressure, 1e-6)
    )
    assert dry[:, 0, 0] == pytest.approx([288.15, 255.65, 217.23], abs=0.05)  # 50 hPa is at 20.58 km
    moist = atmosphere.temperature_profile(
        pressure, field(101325.0), field(268.15), field(0.0), np.full_like(pressure, 0.012)
    )
    assert moist[0, 0, 0] == pytest.approx(273.15 + 9.8, abs=0.3)
    heated = atmosphere.temperature_profile(
        pressure, field(101325.0), field(288.15), field(4.0), np.full_like(pressure, 1e-6)
    )
    assert heated[0, 0, 0] == pytest.approx(292.15)
    assert heated[1, 0, 0] == pytest.approx(dry[1, 0, 0], abs=0.01)


def test_a_plane_fits_itself_and_leaves_out_bumps() -> None:
    lat, lon = np.linspace(45.0, 55.0, 6), np.linspace(0.0, 10.0, 5)
    plane = 280.0 - 0.5 * lat[:, None] + 0.1 * lon
    assert atmosphere.fit_plane(plane, lat, lon) == pytest.approx(plane)
    bump = plane.copy()
    bump[3, 2] += 10.0
    assert np.abs(atmosphere.fit_plane(bump, lat, lon) - plane).max() < 2.0


# cloud


def test_cloud_grows_from_the_critical_humidity_to_overcast() -> None:
    humidity = np.array([0.5, 0.75, 0.9375, 1.0, 1.2])
    land = atmosphere.cloud_fraction(humidity, np.array(1.0))
    assert land == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])
    assert atmosphere.cloud_fraction(np.array(0.8), np.array(0.0)) == 0.0


def test_overlap_is_maximal_for_neighbours_and_random_across_gaps() -> None:
    assert atmosphere.total_cover(np.array([0.3, 0.5, 0.4])[:, None, None])[0, 0] == pytest.approx(0.5)
    assert atmosphere.total_cover(np.array([0.5, 0.0, 0.5])[:, None, None])[0, 0] == pytest.approx(0.75)
    assert atmosphere.total_cover(np.array([1.0, 1.0])[:, None, None])[0, 0] == pytest.approx(1.0)


def test_an_uncertain_temperature_blurs_the_edge_of_the_cloud() -> None:
    saturation = 1704.0 / 8e4  # vapour pressure at 15 degrees
    humidity = np.array([0.55, 0.7, 0.8, 0.9, 1.0])
    vapour, air = saturation * humidity[None, None], np.full((1, 1, 5), 288.15)
    covers = atmosphere.possible_covers(vapour, air, np.full_like(air, 8e4), np.array([1500.0]), ONE)[:, 0]
    assert covers.shape == (5, 5)
    assert np.all(np.diff(covers, axis=0) <= 0.0)  # the warmer the air, the less cloud
    assert covers[2] == pytest.approx(atmosphere.cloud_fraction(humidity, np.array(1.0)), abs=0.02)
    mean = covers.mean(axis=0)
    assert mean[1] > 0.0  # a chance of cloud in dry air
    assert mean[-1] < 0.9  # and of gaps in saturated air
    assert np.all(np.diff(mean) > 0.0)


def test_fog_at_the_ground_is_no_cloud() -> None:
    humidity = np.array([1.0, 0.1, 0.1])[:, None, None]
    assert atmosphere.diagnosed_cover(humidity, np.array([10.0, 200.0, 900.0]), ONE)[0, 0] == 0.0
    assert atmosphere.diagnosed_cover(humidity[::-1], np.array([10.0, 200.0, 900.0]), ONE)[0, 0] == pytest.approx(1.0)


# ground


def test_radiation_by_hand() -> None:
    assert boundary_layer.shortwave(field(0.5), field(0.0))[0, 0] == pytest.approx(465.0)
    assert boundary_layer.shortwave(field(0.5), field(1.0))[0, 0] == pytest.approx(465.0 / 4.0)
    assert boundary_layer.shortwave(field(-0.5), field(0.0))[0, 0] == 0.0
    # (0.77 * 600 + 5.31e-13 * 290^6 - sigma 290^4) / 1.12
    assert boundary_layer.net_radiation(field(600.0), field(290.0), field(0.0))[0, 0] == pytest.approx(336.4, abs=0.5)


def test_what_does_not_evaporate_heats() -> None:
    assert boundary_layer.daytime_heat_flux(field(400.0), field(290.0), field(200.0))[0, 0] == pytest.approx(160.0)
    wet = boundary_layer.daytime_heat_flux(field(100.0), field(290.0), field(200.0))[0, 0]
    assert 0.0 < wet < 25.0  # no more evaporates than the energy can
    moist_grass = boundary_layer.daytime_heat_flux(field(400.0), field(290.0), None)[0, 0]
    assert 80.0 < moist_grass < 150.0


@given(st.floats(0.5, 20.0), st.floats(1.05, 2.0), st.floats(-0.04, 0.3))
def test_friction_grows_with_the_wind(wind: float, factor: float, flux: float) -> None:
    weak = boundary_layer.friction_of_flux(field(wind), 10.0, field(0.3), field(290.0), field(flux))
    strong = boundary_layer.friction_of_flux(field(wind * factor), 10.0, field(0.3), field(290.0), field(flux))
    assert strong > weak


@given(st.floats(0.5, 20.0), st.floats(1.05, 2.0), st.floats(0.0, 0.1))
def test_friction_at_night_grows_with_the_wind_and_falls_with_stability(
    wind: float, factor: float, scale: float
) -> None:
    weak = boundary_layer.friction_of_night(field(wind), 10.0, field(0.3), field(285.0), field(scale))
    strong = boundary_layer.friction_of_night(field(wind * factor), 10.0, field(0.3), field(285.0), field(scale))
    neutral = boundary_layer.friction_of_night(field(wind), 10.0, field(0.3), field(285.0), field(0.0))
    assert strong > weak
    assert weak <= neutral


def test_neutral_friction_is_the_log_law_and_instability_adds_to_it() -> None:
    neutral = boundary_layer.friction_of_flux(field(5.0), 10.0, field(0.1), field(290.0), field(0.0))[0, 0]
    assert neutral == pytest.approx(0.4 * 5.0 / np.log(100.0), rel=1e-3)
    assert boundary_layer.friction_of_flux(field(5.0), 10.0, field(0.1), field(290.0), field(0.2))[0, 0] > neutral
    assert boundary_layer.friction_of_flux(field(5.0), 10.0, field(0.1), field(290.0), field(-0.05))[0, 0] < neutral


def test_the_friction_velocity_solves_its_equation() -> None:
    flux, roughness, wind = field(0.15), field(0.25), field(4.0)
    friction = boundary_layer.friction_of_flux(wind, 10.0, roughness, field(290.0), flux)
    inverse = boundary_layer.inverse_obukhov(friction, field(290.0), flux)
    drag = (
        np.log(10.0 / roughness)
        - boundary_layer.stability_momentum(10.0 * inverse)
        + boundary_layer.stability_momentum(roughness * inverse)
    )
    assert friction * drag == pytest.approx(0.4 * wind, rel=1e-3)


def test_the_sea_is_smoother_than_land_and_rougher_in_a_storm() -> None:
    wind = field(5.0)
    sea, land = (boundary_layer.roughness_length(wind, 10.0, field(share))[0, 0] for share in (0.0, 1.0))
    assert 2e-5 < sea < 3e-4
    assert land > 0.1
    assert boundary_layer.roughness_length(field(20.0), 10.0, field(0.0))[0, 0] > 5.0 * sea


def test_obukhov_length_by_hand() -> None:
    # u* = 0.4, w'theta' = 0.1, T = 290: L = -290 * 0.064 / (0.4 * 9.80665 * 0.1)
    assert 1.0 / boundary_layer.inverse_obukhov(field(0.4), field(290.0), field(0.1))[0, 0] == pytest.approx(
        -47.3, abs=0.1
    )


# mixing


def test_equilibrium_height_falls_with_stability() -> None:
    lat = np.array([[50.0]])
    neutral = boundary_layer.equilibrium_height(field(0.3), field(0.0), lat)[0, 0]
    stable = boundary_layer.equilibrium_height(field(0.3), field(1.0 / 50.0), lat)[0, 0]
    assert 250.0 < neutral < 600.0
    assert 80.0 < stable < 0.7 * neutral
    assert boundary_layer.equilibrium_height(field(0.3), field(-1.0), lat)[0, 0] == neutral
    equator = np.array([[0.0]])
    assert np.isfinite(boundary_layer.equilibrium_height(field(0.3), field(0.0), equator)[0, 0])


def test_the_inversion_of_the_night_holds_the_morning_layer_down() -> None:
    # 1.36 u* / sqrt(N f) alone, N^2 = g / 288.15 K * 0.03 K/m: 1.36 * 0.2 / sqrt(0.03195 * 1.117e-4) = 144 m
    height = boundary_layer.equilibrium_height(field(0.2), field(-0.01), np.array([[50.0]]), inversion=1.0)[0, 0]
    assert height == pytest.approx(1.0 / np.sqrt(1.0 / 143.97**2 + (1.117e-4 / 0.12) ** 2), rel=1e-3)
    shares = np.array([[0.0, 0.5, 1.0]])
    depths = boundary_layer.equilibrium_height(field(0.2), field(-0.01), np.array([[50.0]]), inversion=shares)[0]
    assert depths[0] > depths[1] > depths[2] == height


def test_a_summer_day_mixes_to_1000_to_2000_m() -> None:
    # 150 W/m2 are 0.125 K m/s; over 6 hours
    heat = boundary_layer.accumulate_heat(field(0.0), field(0.125), field(0.125), 6 * 3600.0)
    assert heat[0, 0] == pytest.approx(2700.0)
    assert 1000.0 < boundary_layer.convective_height(heat)[0, 0] < 2000.0


def test_a_night_resets_the_heat_and_leaves_a_bounded_deficit() -> None:
    evening = boundary_layer.accumulate_heat(field(2700.0), field(0.02), field(-0.02), 3600.0)
    assert evening[0, 0] == pytest.approx(-72.0)
    assert boundary_layer.convective_height(evening)[0, 0] == 0.0
    long_night = boundary_layer.accumulate_heat(evening, field(-0.02), field(-0.02), 40 * 3600.0)
    assert long_night[0, 0] == -boundary_layer.GREATEST_DEFICIT


def test_richardson_height_finds_a_capped_mixed_layer() -> None:
    heights = np.arange(50.0, 2000.0, 100.0)
    theta = np.where(heights < 1000.0, 290.0, 290.0 + 0.01 * (heights - 1000.0))[:, None, None]
    wind = np.full_like(theta, 5.0)
    height = boundary_layer.richardson_height(theta, wind, wind, heights, field(0.0))[0, 0]
    assert 900.0 < height < 1150.0
    stable = boundary_layer.richardson_height(290.0 + 0.01 * heights[:, None, None], wind, wind, heights, field(0.0))
    assert stable[0, 0] < 250.0
    warm_plumes = boundary_layer.richardson_height(theta, wind, wind, heights, field(1.0))[0, 0]
    assert warm_plumes > height


def test_the_richardson_number_has_the_wind_of_its_height() -> None:
    heights = np.arange(10.0, 1000.0, 10.0)
    theta, wind = (290.0 + 0.005 * heights)[:, None, None], np.full((heights.size, 1, 1), 8.0)
    height = boundary_layer.richardson_height(theta, wind, 0.0 * wind, heights, field(0.0))[0, 0]
    # g / theta_s * 0.005 (z - 10) z / 64 = 0.25
    expected = 5.0 + np.sqrt(25.0 + 0.25 * 64.0 * theta[0, 0, 0] / (9.80665 * 0.005))
    assert height == pytest.approx(expected, abs=1.0)


def test_diffusivity_vanishes_at_the_ground_and_the_top_and_peaks_at_a_third() -> None:
    heights = np.linspace(0.0, 1500.0, 151)
    neutral = boundary_layer.boundary_layer_diffusivity(heights, field(900.0), field(0.4), field(0.0))[:, 0, 0]
    assert neutral[0] == 0.0
    assert np.all(neutral[heights >= 900.0] == 0.0)
    assert heights[neutral.argmax()] == 300.0
    # k u* h / 3 * (2/3)^2
    assert neutral.max() == pytest.approx(0.4 * 0.4 * 300.0 * 4.0 / 9.0)


def test_diffusivity_is_larger_by_day_than_by_night_and_continuous() -> None:
    heights = np.linspace(0.0, 1000.0, 1001)
    day = boundary_layer.boundary_layer_diffusivity(heights, field(1000.0), field(0.3), field(-1.0 / 50.0))[:, 0, 0]
    neutral = boundary_layer.boundary_layer_diffusivity(heights, field(1000.0), field(0.3), field(0.0))[:, 0, 0]
    night = boundary_layer.boundary_layer_diffusivity(heights, field(1000.0), field(0.3), field(1.0 / 50.0))[:, 0, 0]
    assert np.all(day[1:-1] > neutral[1:-1])
    assert np.all(night[1:-1] < neutral[1:-1])
    assert np.abs(np.diff(day)).max() < 0.02 * day.max()


def test_free_air_mixes_by_shear_unless_it_is_stable() -> None:
    levels, faces = np.array([1000.0, 1200.0, 1400.0]), np.array([900.0, 1100.0, 1300.0, 1500.0])
    calm = np.zeros((3, 1, 1))
    sheared = np.array([0.0, 4.0, 8.0])[:, None, None]
    neutral = np.full((3, 1, 1), 295.0)
    stable = neutral + np.array([0.0, 1.0, 2.0])[:, None, None]
    args = (levels, faces)
    assert np.all(boundary_layer.free_diffusivity(neutral, calm, calm, *args) == boundary_layer.LEAST_DIFFUSIVITY)
    # l = 28.1 m, shear 0.02 /s
    assert boundary_layer.free_diffusivity(neutral, sheared, calm, *args)[0, 0, 0] == pytest.approx(15.8, rel=0.02)
    assert boundary_layer.free_diffusivity(stable, sheared, calm, *args)[0, 0, 0] < 5.0
