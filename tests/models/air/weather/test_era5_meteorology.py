from functools import cache

import numpy as np
import pytest
import xarray as xr

from airshed.core.constants import GAS_CONSTANT, GRAVITY
from airshed.core.errors import DataError
from airshed.core.files import resource
from airshed.grid import Grid
from airshed.io.era5 import read_era5
from airshed.models.air.landcover import land_fraction
from airshed.models.air.weather import MetState
from airshed.models.air.weather.era5 import Era5Meteorology

START = np.datetime64("2022-08-31T00:00")
GRID = Grid.regular((0, 10), (45, 55), 0.25)


@cache
def case_data() -> xr.Dataset:
    return read_era5(sorted((resource("cases/west-europe") / "meteorology").glob("*.nc")))


@cache
def case_states() -> tuple[Era5Meteorology, list[MetState]]:
    meteorology = Era5Meteorology(case_data(), GRID, START, length=86400.0, land_fraction=land_fraction(GRID))
    return meteorology, [meteorology.at(time) for time in meteorology.times]


def made_up(kind: str, **more: tuple[tuple[str, ...], np.ndarray]) -> xr.Dataset:
    """Isothermal air at rest in the vertical, with winds linear in longitude and latitude."""
    lat, lon = np.linspace(44.0, 48.0, 9), np.linspace(-1.0, 4.0, 11)
    level = np.array([1e5, 9e4, 7e4, 5e4, 3e4, 1e4]) if kind == "pressure" else np.arange(137, 40, -4)
    times = np.datetime64("2022-08-31T00:00", "ns") + np.arange(25) * np.timedelta64(1, "h")
    full, flat = ("time", "level", "latitude", "longitude"), ("time", "latitude", "longitude")
    shape, surface = (25, level.size, 9, 11), (25, 9, 11)
    fields = {
        "u": (full, np.broadcast_to(3.0 + lon - 0.2 * lat[:, None], shape)),
        "v": (full, np.broadcast_to(2.0 - lon + 0.1 * lat[:, None], shape)),
        "t": (full, np.full(shape, 280.0)),
        "q": (full, np.zeros(shape)),
        "sp": (flat, np.full(surface, 101e3)),
        **more,
    }
    coords = {"time": times, "level": level, "latitude": lat, "longitude": lon}
    dataset = xr.Dataset(fields, coords=coords, attrs={"level_kind": kind, "unused": []})
    for name in dataset.data_vars:
        dataset[name].attrs["file"] = f"{name}.nc"
    return dataset


SMALL = Grid.regular((0, 3), (45, 47), 0.5, [20.0, 100.0, 500.0, 2000.0, 6000.0])


@pytest.mark.parametrize("kind", ["model", "pressure"])
def test_levels_that_tell_nothing_of_the_air_near_the_ground_are_refused(kind: str) -> None:
    data = made_up(kind)
    with pytest.raises(DataError, match=r"u\.nc has one level, not a profile"):
        Era5Meteorology(data.isel(level=[-1]), SMALL, START)
    with pytest.raises(DataError, match=r"the lowest level of u\.nc is at \d+ hPa over the sea"):
        Era5Meteorology(data.isel(level=slice(-2, None)), SMALL, START)


def test_a_gap_between_the_points_is_refused_and_a_closed_circle_taken() -> None:
    data = made_up("model")
    with pytest.raises(DataError, match=r"has no points between longitude 0 and 1, although their spacing is 0\.5"):
        Era5Meteorology(data.isel(longitude=[0, 1, 2, 4, 5, 6, 7, 8, 9, 10]), SMALL, START)
    lon = data["longitude"].values
    closed = xr.concat([data.isel(longitude=[-1]).assign_coords(longitude=lon[-1:] - 360.0), data], "longitude")
    for name in closed.data_vars:
        closed[name].attrs = data[name].attrs
    found = Era5Meteorology(closed.assign_attrs(data.attrs), SMALL, START).at(0.0)
    assert np.array_equal(found.eastward_air_flux, Era5Meteorology(data, SMALL, START).at(0.0).eastward_air_flux)


@pytest.mark.parametrize("kind", ["model", "pressure"])
def test_isothermal_air_has_its_barometric_density_and_linear_winds_stay_linear(kind: str) -> None:
    state = Era5Meteorology(made_up(kind), SMALL, START).at(0.0)
    scale = GAS_CONSTANT / 28.9647e-3 * 280.0 / GRAVITY
    faces = 101e3 * np.exp(-SMALL.layer_faces / scale)
    density = (faces[:-1] - faces[1:]) / (GRAVITY * SMALL.thickness * 28.9647e-3)
    assert state.air_density[:, 1, 2] == pytest.approx(density, rel=1e-9)
    assert state.temperature == pytest.approx(np.full(SMALL.shape, 280.0))
    area = SMALL.thickness[:, None, None] * SMALL.x_face_length
    wind = state.eastward_air_flux / (density[:, None, None] * area)
    assert wind == pytest.approx(np.broadcast_to(3.0 + SMALL.x_faces - 0.2 * SMALL.y[:, None], wind.shape))
    area = SMALL.thickness[:, None, None] * SMALL.y_face_length
    wind = state.northward_air_flux / (density[:, None, None] * area)
    assert wind == pytest.approx(np.broadcast_to(2.0 - SMALL.x + 0.1 * SMALL.y_faces[:, None], wind.shape))


def test_the_mass_of_the_air_is_the_pressure_it_carries() -> None:
    _, states = case_states()
    state = states[12]
    moist = 28.9647e-3 + (18.01528e-3 - 28.9647e-3) * state.water_vapour
    layers = GRAVITY * state.air_density * moist * GRID.thickness[:, None, None]
    weight = layers.sum(axis=0)
    # a layer's pressure is its weight over the logarithm of the ratio of the pressures at its faces
    top = layers[-1] / np.expm1(layers[-1] / state.pressure[-1])
    assert weight == pytest.approx(state.surface_pressure - top, rel=6e-4)
    # the check can fail: without the vapour's mass the weight is off
    assert np.abs(weight * 28.9647e-3 / moist[0] / (state.surface_pressure - top) - 1.0).max() > 1e-3


def test_a_file_s_field_wins_over_the_diagnosed_one() -> None:
    flat, shape = ("time", "latitude", "longitude"), (25, 9, 11)
    more = {
        name: (flat, np.full(shape, value))
        for name, value in {"blh": 432.0, "tcc": 0.3, "zust": 0.21, "t2m": 291.0, "tp": 3.6e-3}.items()
    }
    meteorology = Era5Meteorology(made_up("model", **more), SMALL, START)
    state = meteorology.at(7 * 3600.0)
    for name, value in {
        "boundary_layer_height": 432.0,
        "cloud_cover": 0.3,
        "friction_velocity": 0.21,
        "surface_temperature": 291.0,
        "precipitation": 1e-3,
    }.items():
        assert getattr(state, name) == pytest.approx(np.full((4, 6), value)), name
        assert meteorology.provenance[name].startswith("read: ")
    bare = Era5Meteorology(made_up("model"), SMALL, START)
    assert bare.at(7 * 3600.0).boundary_layer_height[0, 0] != 432.0
    assert bare.provenance["boundary_layer_height"].startswith("diagnosed: bulk Richardson")


def test_an_accumulated_hour_is_shared_between_its_ends() -> None:
    rain = np.zeros((25, 9, 11))
    rain[6] = 3.6e-3  # fell between 5 and 6 o'clock
    meteorology = Era5Meteorology(made_up("model", tp=(("time", "latitude", "longitude"), rain)), SMALL, START)
    rates = [float(meteorology.at(3600.0 * hour).precipitation[0, 0]) for hour in range(9)]
    assert rates == pytest.approx([0, 0, 0, 0, 0, 5e-4, 5e-4, 0, 0])


def test_pressure_levels_with_heights_need_neither_surface_pressure_nor_temperature() -> None:
    plain = made_up("pressure")
    scale = GAS_CONSTANT / 28.9647e-3 * 280.0
    heights = scale * np.log(101325.0 / plain["level"].values)[None, :, None, None] + np.zeros(plain["u"].shape)
    geopotential = (("time", "level", "latitude", "longitude"), heights)
    data = made_up("pressure", z=geopotential).drop_vars(["sp", "t"])
    meteorology = Era5Meteorology(data, SMALL, START)
    state = meteorology.at(0.0)
    assert state.surface_pressure == pytest.approx(np.full((4, 6), 101325.0), rel=1e-6)
    assert state.temperature == pytest.approx(np.full(SMALL.shape, 280.0), rel=1e-6)
    assert "geopotential" in meteorology.provenance["temperature"]
    ground = (("latitude", "longitude"), np.full((9, 11), GRAVITY * 1000.0))
    raised = Era5Meteorology(made_up("pressure", z=geopotential, zs=ground).drop_vars(["sp", "t"]), SMALL, START).at(
        0.0
    )
    assert raised.surface_pressure[0, 0] == pytest.approx(101325.0 * np.exp(-1000.0 * GRAVITY / scale), rel=1e-6)


def test_the_logarithm_of_surface_pressure_will_do() -> None:
    data = made_up("model", lnsp=(("time", "latitude", "longitude"), np.full((25, 9, 11), np.log(101e3))))
    found = Era5Meteorology(data.drop_vars("sp"), SMALL, START).at(0.0)
    assert found.surface_pressure == pytest.approx(np.full((4, 6), 101e3))


def test_longitudes_may_count_from_0_to_360() -> None:
    data = made_up("model")
    turned = data.assign_coords(longitude=data["longitude"].values % 360.0).sortby("longitude")
    expected = Era5Meteorology(data, SMALL, START).at(0.0)
    found = Era5Meteorology(turned, SMALL, START).at(0.0)
    assert np.array_equal(found.eastward_air_flux, expected.eastward_air_flux)


@pytest.mark.parametrize("area", [(-180.0, 180.0), (0.0, 360.0), (350.0, 370.0)])
def test_a_circle_that_does_not_repeat_its_seam_is_closed(area: tuple[float, float]) -> None:
    lon = np.arange(0.0, 360.0, 10.0)
    wave = 20.0 + 10.0 * np.cos(np.radians(lon))
    data = made_up("model").isel(longitude=[0] * lon.size, time=slice(2)).assign_coords(longitude=lon)
    data["u"] = data["u"].copy(data=np.broadcast_to(wave, data["u"].shape))
    grid = Grid.regular(area, (45, 47), 10.0 / 5.0, [20.0, 100.0])
    found = Era5Meteorology(data, grid, START).at(0.0)
    flux = found.eastward_air_flux[0, 0]
    np.testing.assert_allclose(flux / flux[0], np.interp(grid.x_faces, lon, wave, period=360.0)
                               / np.interp(grid.x_faces[0], lon, wave, period=360.0), rtol=1e-6)  # fmt: skip


@pytest.mark.parametrize(
    ("data", "grid", "words"),
    [
        (made_up("model"), Grid.regular((0, 6), (45, 47), 0.5), "covers longitude -1 to 4, the case needs 0 to 6"),
        (made_up("model"), Grid.regular((0, 3), (40, 47), 0.5), "covers latitude 44 to 48, the case needs 40 to 47"),
        (made_up("model").drop_vars("sp"), SMALL, "sp or lnsp"),
        (made_up("pressure").drop_vars("sp"), SMALL, "add sp"),
        (made_up("pressure"), Grid.regular((0, 3), (45, 47), 0.5, [30e3]), "higher levels or fewer layers"),
        (made_up("model").isel(time=slice(3, None)), SMALL, "covers 2022-08-31T03:00"),
    ],
)
def test_data_that_does_not_cover_the_case_is_refused(data: xr.Dataset, grid: Grid, words: str) -> None:
    with pytest.raises(DataError, match=words):
        Era5Meteorology(data, grid, START).at(0.0)


def test_the_case_s_provenance_says_what_was_read_and_what_was_not() -> None:
    meteorology, _ = case_states()
    origin = meteorology.provenance
    for name in (
        "eastward_air_flux",
        "northward_air_flux",
        "water_vapour",
        "surface_pressure",
        "precipitation",
        "evaporation",
    ):
        assert origin[name].startswith("read: "), name
    for name in ("temperature", "boundary_layer_height", "diffusivity", "cloud_cover", "friction_velocity"):
        assert origin[name].startswith("diagnosed: "), name
    assert origin["last interval"].startswith("held")


def test_the_case_has_a_state_each_hour_that_is_plausible() -> None:
    meteorology, states = case_states()
    assert meteorology.times == tuple(3600.0 * hour for hour in range(25))
    land = land_fraction(GRID) > 0.99
    for state in states:
        assert np.all((state.surface_temperature > 275.0) & (state.surface_temperature < 303.0))
        assert 284.0 < state.surface_temperature.mean() < 296.0
        assert np.all((state.boundary_layer_height >= 100.0) & (state.boundary_layer_height < 3500.0))
        assert np.all((state.friction_velocity > 0.01) & (state.friction_velocity < 1.5))
        assert np.all(np.diff(state.pressure, axis=0) < 0.0)
    afternoon, night = states[15], states[3]
    assert 1000.0 < afternoon.boundary_layer_height[land].mean() < 2000.0
    assert night.boundary_layer_height[land].mean() < 300.0
    assert np.all(afternoon.obukhov_length[land][afternoon.cloud_cover[land] < 0.5] < 0.0)
    assert afternoon.diffusivity[3][land].mean() > 5.0 * night.diffusivity[3][land].mean()
    assert 0.1 < np.mean([state.cloud_cover.mean() for state in states]) < 0.8
    sea = land_fraction(GRID) < 0.01
    swing = [state.surface_temperature[sea].mean() for state in (night, afternoon)]
    assert abs(swing[1] - swing[0]) < 1.5


def test_the_instants_are_the_same_in_any_order() -> None:
    _, states = case_states()
    fresh = Era5Meteorology(case_data(), GRID, START, length=86400.0, land_fraction=land_fraction(GRID))
    late = fresh.at(14 * 3600.0)
    assert np.array_equal(late.boundary_layer_height, states[14].boundary_layer_height)
    assert np.array_equal(late.diffusivity, states[14].diffusivity)
