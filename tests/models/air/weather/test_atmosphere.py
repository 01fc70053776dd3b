import numpy as np
import pytest

from airshed.core import saturation
from airshed.core.constants import GAS_CONSTANT, GAS_CONSTANT_DRY_AIR, GRAVITY, MOLAR_MASS_DRY_AIR
from airshed.core.errors import DataError
from airshed.io.era5 import full_level_pressure
from airshed.io.model_levels import half_levels
from airshed.models.air.weather import atmosphere
from airshed.models.air.weather.columns import Columns, layer_means, thickness_temperature


def test_hypsometric_heights_of_isothermal_air() -> None:
    # a scale height of 8000 m: each fall by e is 8 km
    pressure = 1e5 * np.exp(-np.array([0.5, 1.0, 2.0]))[:, None, None]
    heights = atmosphere.hypsometric_heights(pressure, np.full((3, 1, 1), 1.0 / 8000.0), np.full((1, 1), 1e5))
    assert heights[:, 0, 0] == pytest.approx([4000.0, 8000.0, 16000.0])


@pytest.mark.parametrize(
    ("height", "kelvin", "hectopascal"),
    [
        (0.0, 288.15, 1013.25),
        (1000.0, 281.65, 898.75),
        (5000.0, 255.65, 540.20),
        (11000.0, 216.65, 226.32),
        (15000.0, 216.65, 120.45),
        (22000.0, 218.65, 39.997),
        (32000.0, 228.65, 8.68019),
        (40000.0, 251.05, 2.77522),
        (47000.0, 270.65, 1.10906),
        (49000.0, 270.65, 0.86162),
        (60000.0, 245.45, 0.203143),
        (71000.0, 214.65, 0.0395642),
        (84852.0, 186.946, 0.003733836),
    ],
)
def test_the_standard_atmosphere_is_that_of_the_tables(height: float, kelvin: float, hectopascal: float) -> None:
    assert atmosphere.standard_temperature(np.array(height)) == pytest.approx(kelvin)
    assert atmosphere.standard_pressure(np.array(height)) / 100.0 == pytest.approx(hectopascal, rel=3e-4)


def test_humidity_by_hand() -> None:
    # 10 g/kg is 0.0160 mol/mol; saturated air at 20 C holds 23.4 hPa; Bolton's inverse gives back the temperature
    assert atmosphere.mole_fraction(np.array(0.01)) == pytest.approx(0.01598, rel=1e-3)
    assert saturation.saturation_vapour_pressure(np.array(293.15)) == pytest.approx(2337.0, rel=2e-3)
    assert saturation.dew_point(saturation.saturation_vapour_pressure(np.array(285.0))) == pytest.approx(285.0)
    assert atmosphere.virtual_temperature(np.array(300.0), np.array(0.016)) == pytest.approx(300.0 * 1.0061, rel=1e-4)
    assert atmosphere.molar_density(np.array(101325.0), np.array(273.15)) == pytest.approx(44.615, rel=1e-4)


def test_the_lowest_of_the_137_levels_lies_10_m_above_ground() -> None:
    surface = np.array(101325.0)
    pressure = full_level_pressure(np.array([137, 136]), surface)
    inverse = atmosphere.inverse_scale_height(np.array([288.15, 288.15]))
    assert atmosphere.hypsometric_heights(pressure, inverse, surface) == pytest.approx([10.0, 30.96], abs=0.3)


def test_half_levels_go_from_nothing_to_the_ground() -> None:
    a, b = half_levels(137)
    assert a.size == b.size == 138
    assert (a[0], b[0]) == (0.0, 0.0)
    assert (a[-1], b[-1]) == (0.0, 1.0)
    assert np.all(np.diff(a + b * 101325.0) > 0.0)
    with pytest.raises(DataError, match="1 to 137"):
        full_level_pressure(np.array([138]), np.array(1e5))


def isothermal_columns(surface_pressure: float = 1e5, levels: int = 30, kelvin: float = 280.0) -> Columns:
    shape = (levels, 2, 2)
    pressure = np.broadcast_to((surface_pressure * np.linspace(0.999, 0.2, levels))[:, None, None], shape)
    return Columns(
        pressure=pressure,
        surface_pressure=np.full((2, 2), surface_pressure),
        east=np.full(shape, 3.0),
        north=np.full(shape, -2.0),
        water_vapour=np.zeros(shape),
        temperature=np.full(shape, kelvin),
    )


FACES = np.array([0.0, 20.0, 100.0, 500.0, 2000.0, 8000.0])


def test_layers_of_isothermal_air_have_the_barometric_pressures() -> None:
    face_pressure, means = layer_means(isothermal_columns(), FACES)
    scale = GAS_CONSTANT_DRY_AIR * 280.0 / GRAVITY
    assert face_pressure[:, 0, 0] == pytest.approx(1e5 * np.exp(-FACES / scale), rel=1e-12)
    assert means["east"] == pytest.approx(np.full((5, 2, 2), 3.0))


def test_the_mass_of_the_layers_is_the_pressure_they_carry() -> None:
    face_pressure, means = layer_means(isothermal_columns(), FACES)
    density = atmosphere.hydrostatic_density(face_pressure, means["water_vapour"], np.diff(FACES))
    mass = np.sum(density * MOLAR_MASS_DRY_AIR * np.diff(FACES)[:, None, None], axis=0)
    assert mass == pytest.approx((1e5 - face_pressure[-1]) / GRAVITY, rel=1e-13)
    # and the density is that of the gas law, up to the layer's curvature
    assert density[0, 0, 0] == pytest.approx(face_pressure[0, 0, 0] / (GAS_CONSTANT * 280.0), rel=2e-3)


def test_winds_linear_in_height_keep_their_values_in_the_middle_of_layers() -> None:
    columns = isothermal_columns()
    scale = GAS_CONSTANT_DRY_AIR * 280.0 / GRAVITY
    heights = scale * np.log(1e5 / columns.pressure)
    columns.east = 5.0 + 0.002 * heights
    _, means = layer_means(columns, FACES)
    assert means["east"][1:, 0, 0] == pytest.approx(5.0 + 0.001 * (FACES[1:-1] + FACES[2:]), rel=1e-9)


def test_levels_under_the_ground_are_left_out() -> None:
    plain = isothermal_columns(levels=30)
    pressure = np.concatenate([np.full((2, 2, 2), 1.05e5), plain.pressure])
    pressure[0] = 1.1e5

    def buried(values: np.ndarray) -> np.ndarray:
        return np.concatenate([np.full((2, 2, 2), 1e9), values])

    columns = Columns(
        pressure, plain.surface_pressure, buried(plain.east), buried(plain.north),
        buried(plain.water_vapour), buried(plain.temperature),
    )  # fmt: skip
    (expected_pressure, expected), (pressure, found) = layer_means(plain, FACES), layer_means(columns, FACES)
    assert pressure == pytest.approx(expected_pressure)
    for name in ("east", "north", "water_vapour", "temperature"):
        assert found[name] == pytest.approx(expected[name])


def test_a_wind_at_the_ground_is_met_linearly() -> None:
    columns = isothermal_columns()
    still = np.zeros((2, 2))
    columns.ground_wind = (still, still)
    lowest = GAS_CONSTANT_DRY_AIR * 280.0 / GRAVITY * np.log(1.0 / 0.999)
    _, means = layer_means(columns, np.array([0.0, 0.5 * lowest, 100.0]))
    assert means["east"][0, 0, 0] == pytest.approx(3.0 * 0.25)


def test_geopotential_that_agrees_with_temperature_changes_nothing() -> None:
    plain = isothermal_columns()
    given = isothermal_columns()
    scale = GAS_CONSTANT_DRY_AIR * 280.0 / GRAVITY
    given.geopotential = GRAVITY * (700.0 + scale * np.log(1e5 / given.pressure))
    (expected_pressure, expected), (pressure, found) = layer_means(plain, FACES), layer_means(given, FACES)
    assert pressure == pytest.approx(expected_pressure, rel=1e-9)
    assert found["temperature"] == pytest.approx(expected["temperature"])
    temperature = thickness_temperature(plain.pressure, given.geopotential, np.zeros_like(plain.pressure))
    assert temperature == pytest.approx(np.full(temperature.shape, 280.0), rel=1e-9)


def test_given_heights_win_over_hypsometric_ones() -> None:
    given = isothermal_columns()
    scale = GAS_CONSTANT_DRY_AIR * 280.0 / GRAVITY
    given.geopotential = 1.1 * GRAVITY * scale * np.log(1e5 / given.pressure)
    found = layer_means(given, FACES)[0][-1, 0, 0]
    assert found == pytest.approx(1e5 * np.exp(-8000.0 / (1.1 * scale)), rel=2e-3)


def test_data_that_ends_below_the_highest_layer_is_refused() -> None:
    with pytest.raises(DataError, match="higher levels or fewer layers"):
        layer_means(isothermal_columns(), np.array([0.0, 30e3]))
