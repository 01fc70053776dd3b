"""A window's meteorology has the bits of the whole grid's, whichever way it is made."""

from collections.abc import Callable
from functools import cache
from types import MappingProxyType

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.core.errors import DataError
from airshed.core.files import resource
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.io.era5 import read_era5
from airshed.models.air.case.sections import MeteorologySection
from airshed.models.air.landcover import land_fraction
from airshed.models.air.weather import CallableMeteorology, Calls, DatasetMeteorology, MeteorologyWindow, MetState
from airshed.models.air.weather.case_weather import uniform_meteorology
from airshed.models.air.weather.era5 import Era5Meteorology
from airshed.models.air.weather.fields import by_name, of_use
from airshed.models.air.weather.state import always

CLOUD = by_name()["cloud_water"]
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
    assert part.names == whole.names
    for name in part.names:
        axis = {"eastward_air_flux": "x", "northward_air_flux": "y"}.get(name, "")
        found, expected = value_of(part, name), window.of_faces(value_of(whole, name), axis)
        assert found.flags.c_contiguous
        assert found.shape == expected.shape, name
        assert found.tobytes() == expected.tobytes(), name


def value_of(state: MetState, name: str) -> np.ndarray:
    return getattr(state, name)


def made_up(seconds: float) -> MetState:
    shape = (ROWS, COLUMNS)
    random = np.random.default_rng(int(seconds))
    arrays = {name: random.random((4, *shape)) for name in always()}
    for name in ("cloud_cover", "friction_velocity", "obukhov_length", "boundary_layer_height", "precipitation",
                 "surface_temperature", "surface_pressure"):  # fmt: skip
        arrays[name] = random.random(shape)
    arrays["eastward_air_flux"] = random.random((4, ROWS, COLUMNS + 1))
    arrays["northward_air_flux"] = random.random((4, ROWS + 1, COLUMNS))
    arrays["diffusivity"] = random.random((5, *shape))
    extra = {"cloud_water": random.random((4, *shape)), "updraught_mass_flux": random.random((5, *shape))}
    return MetState(**arrays, **extra)


class UserMeteorology:
    """Meteorology of a user."""

    times = (0.0, 3600.0)
    provenance = MappingProxyType({"temperature": "given"})

    def at(self, seconds: float) -> MetState:
        return made_up(seconds)


@pytest.mark.parametrize("window", windows(ROWS, COLUMNS), ids=str)
def test_a_window_of_what_a_user_gives(window: Window) -> None:
    part = MeteorologyWindow(UserMeteorology(), window, GRID)
    assert (part.times, part.provenance) == (UserMeteorology.times, UserMeteorology.provenance)
    for seconds in (0.0, 3600.0):
        is_the_part(part.at(seconds), made_up(seconds), window)


def test_a_state_that_does_not_fit_the_whole_grid_is_refused() -> None:
    other = Grid.regular((0, 4), (48, 51), 0.25, [20.0, 100.0, 500.0, 2000.0])
    with pytest.raises(DataError, match="temperature has shape"):
        MeteorologyWindow(UserMeteorology(), Window(0, 2, 0, 2), other).at(0.0)


def test_a_neighbouring_window_is_not_the_part() -> None:
    part = MeteorologyWindow(UserMeteorology(), Window(0, 2, 0, 2), GRID)
    with pytest.raises(AssertionError):
        is_the_part(part.at(0.0), made_up(0.0), Window(0, 2, 1, 3))


EUROPE = Grid.regular((0, 10), (45, 55), 0.25)
Maker = Callable[[Grid, np.ndarray, Window | None], MetState]


@cache
def case_data() -> xr.Dataset:
    return read_era5(sorted((resource("cases/west-europe") / "meteorology").glob("*.nc")))


@cache
def europe() -> MetState:
    return Era5Meteorology(case_data(), EUROPE, START, length=86400.0, land_fraction=land_fraction(EUROPE)).at(12.5e3)


@pytest.mark.parametrize("window", windows(40, 40), ids=str)
def test_a_window_of_the_case_of_west_europe(window: Window) -> None:
    land = land_fraction(EUROPE)
    part = Era5Meteorology(case_data(), EUROPE, START, length=86400.0, land_fraction=land, window=window)
    is_the_part(part.at(12.5e3), europe(), window)


def era5(kind: str, names: str) -> xr.Dataset:
    """Fields of a made-up sky on 9 x 11 points, at four hours of a day."""
    random = np.random.default_rng(3)
    lat, lon = np.linspace(47.0, 51.5, 9), np.linspace(-1.0, 4.6, 11)
    level = np.array([1e5, 9e4, 7e4, 5e4, 3e4, 1e4]) if kind == "pressure" else np.arange(137, 40, -8)
    full, flat = ("time", "level", "latitude", "longitude"), ("time", "latitude", "longitude")
    shape, surface = (4, level.size, 9, 11), (4, 9, 11)
    heights = np.array([150.0, 950.0, 3000.0, 5600.0, 9200.0, 16000.0])[:, None, None]

    def about(mean: float, spread: float, of: tuple[int, ...] = surface) -> np.ndarray:
        return mean + spread * (random.random(of) - 0.5)

    fields = {
        "u": (full, about(3.0, 9.0, shape)), "v": (full, about(-2.0, 9.0, shape)),
        "t": (full, about(275.0, 9.0, shape)),
        "q": (full, about(6e-3, 6e-3, shape)), "cc": (full, about(0.5, 1.0, shape)), "sp": (flat, about(98e3, 2e3)),
        "lnsp": (flat, np.log(about(98e3, 2e3))), "z": (full, 9.81 * (heights + about(0.0, 40.0, (4, 6, 9, 11)))
                                                        if kind == "pressure" else about(0.0, 0.0, shape)),
        "zs": (flat[1:], about(900.0, 900.0, (9, 11))), "t2m": (flat, about(285.0, 9.0)),
        "u10": (flat, about(3.0, 9.0)),
        "v10": (flat, about(1.0, 9.0)), "blh": (flat, about(900.0, 900.0)), "zust": (flat, about(0.4, 0.5)),
        "tcc": (flat, about(0.5, 1.0)), "lsm": (flat[1:], about(0.5, 1.0, (9, 11))), "tp": (flat, about(1e-3, 1e-3)),
        "clwc": (full, about(1e-4, 1e-4, shape)),
        "e": (flat, about(-1e-4, 2e-4)), "ssrd": (flat, about(5e5, 9e5)), "sshf": (flat, about(-2e5, 5e5)),
    }  # fmt: skip
    times = START.astype("datetime64[ns]") + np.arange(4) * np.timedelta64(1, "h")
    coords = {"time": times, "level": level, "latitude": lat, "longitude": lon}
    chosen = {name: fields[name] for name in names.split()}
    dataset = xr.Dataset(chosen, coords=coords, attrs={"level_kind": kind, "unused": []})
    for name in dataset.data_vars:
        dataset[name].attrs["file"] = f"{name}.nc"
    return dataset


def of_era5(kind: str, names: str, with_land: bool) -> Maker:
    def make(grid: Grid, land: np.ndarray, window: Window | None) -> MetState:
        given = land if with_land else None
        return Era5Meteorology(
            era5(kind, names), grid, START, land_fraction=given, window=window, extra=of_use("optional")
        ).at(2.4 * 3600.0)

    return make


@cache
def sky(seconds: float, faces: bool) -> xr.Dataset:
    """Winds, temperature and cloud on the grid's own cells or on other points, given in part on their own heights."""
    random = np.random.default_rng(int(seconds))
    lat, lon = (GRID.y, GRID.x) if faces else (np.linspace(47.5, 51.5, 7), np.linspace(-0.5, 4.5, 6))
    level, flat = ("level", "lat", "lon"), ("lat", "lon")
    size = (4, lat.size, lon.size)
    fields: dict[str, object] = {
        "air_temperature": (level, 280.0 + random.random((3, *size[1:]))),
        "cloud_area_fraction": (level, random.random((3, *size[1:]))),
        "atmosphere_heat_diffusivity": (level, random.random((3, *size[1:]))),
        "precipitation_flux": (flat, 1e-4 * random.random(size[1:])),
        "mass_fraction_of_cloud_liquid_water_in_air": (level, 1e-3 * random.random((3, *size[1:]))),
        "atmosphere_updraft_convective_mass_flux": (level, 0.1 * random.random((3, *size[1:]))),
        "eastward_wind": (flat, random.random(size[1:])),
        "northward_wind": (flat, random.random(size[1:])),
    }
    coords = {"lat": lat, "lon": lon, "level": [5.0, 300.0, 1500.0]}
    if faces:
        del fields["atmosphere_heat_diffusivity"], fields["air_temperature"]
        fields["eastward_wind"] = (("lat", "lon_face"), random.random((ROWS, COLUMNS + 1)))
        fields["northward_wind"] = (("lat_face", "lon"), random.random((ROWS + 1, COLUMNS)))
    return xr.Dataset(fields, coords=coords)


def of_function(faces: bool) -> Maker:
    def make(grid: Grid, land: np.ndarray, window: Window | None) -> MetState:
        start = START + np.timedelta64(5, "h")
        return CallableMeteorology(
            lambda seconds: sky(seconds, faces),
            grid,
            Calls(start),
            land_fraction=land,
            window=window,
            extra=of_use("optional"),
        ).at(1.3 * 3600.0)

    return make


def of_dataset(faces: bool) -> Maker:
    def make(grid: Grid, land: np.ndarray, window: Window | None) -> MetState:
        data = xr.concat([sky(hour, faces) for hour in (0, 1)], dim="time").assign_coords(time=[0.0, 3600.0])
        return DatasetMeteorology(data, grid, START, land, window, of_use("optional")).at(900.0)

    return make


def of_case(grid: Grid, land: np.ndarray, window: Window | None) -> MetState:
    section = MeteorologySection.model_validate(
        {"kind": "uniform", "eastward": "3 m/s", "rotation": "12 h", "cloud_water": "0.1 g/kg"}
    )
    return uniform_meteorology(section, grid, START, land, window, [CLOUD]).at(0.0)


MAKERS: dict[str, Maker] = {
    "model levels": of_era5("model", "u v t q sp", True),
    "diagnosed, without a map of land": of_era5("model", "u v q lnsp tp e lsm", False),
    "all fields of a surface file": of_era5("model", "u v q sp t2m u10 v10 blh zust tcc tp e ssrd sshf clwc", True),
    "pressure levels": of_era5("pressure", "u v q z zs u10 v10 cc clwc", True),
    "pressure levels without temperature": of_era5("pressure", "u v q sp", True),
    "a function on other points": of_function(faces=False),
    "a function at the faces": of_function(faces=True),
    "a dataset on other points": of_dataset(faces=False),
    "a dataset at the faces": of_dataset(faces=True),
    "turning air": of_case,
}
LAND = np.random.default_rng(8).random((ROWS, COLUMNS))


@cache
def whole_of(name: str) -> MetState:
    return MAKERS[name](GRID, LAND, None)


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=6)
@given(st.sampled_from(windows(ROWS, COLUMNS)))
def test_a_window_of_what_the_model_makes(name: str, window: Window) -> None:
    is_the_part(MAKERS[name](GRID, LAND, window), whole_of(name), window)


def test_the_part_of_a_grid_by_itself_is_another() -> None:
    """Negative control: a part that is made from its corner of the data alone differs."""
    window = Window(0, 3, 0, 4)
    alone = MAKERS["diagnosed, without a map of land"](GRID.part(window), LAND[:3, :4], None)
    with pytest.raises(AssertionError):
        is_the_part(alone, whole_of("diagnosed, without a map of land"), window)
