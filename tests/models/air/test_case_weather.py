"""Weather of the columns of a rank, with and without a margin: bitwise equal to that of the whole area."""

from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import xarray as xr

from airshed.core.files import resource
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.case import Case
from airshed.models.air.processes import horizontal_diffusion as diffusion
from airshed.models.air.weather import DatasetMeteorology, MetState
from airshed.models.air.weather.case_weather import weather_of
from airshed.models.air.weather.fields import WeatherNeeds, by_name
from airshed.models.air.weather.state import always
from airshed.parallel.communicator import SingleRank
from airshed.parallel.decomposition import Decomposition
from airshed.parallel.domain import Subdomain

ROWS, COLUMNS = 8, 24
ERA5 = str(resource("cases/west-europe") / "meteorology" / "*.nc")
CLOUD = by_name()["cloud_water"]
NEEDS = WeatherNeeds((CLOUD,), margin=2)
AT = 5000.0


class Rank(SingleRank):
    """Rank of four that reads its own data and receives no errors of other ranks."""

    def __init__(self, rank: int) -> None:
        self.rank, self.size = rank, 4


def case(**weather: object) -> Case:
    """Return a case for a small part of western Europe."""
    return Case.model_validate(
        {
            "title": "weather of tiles",
            "grid": {
                "area": {"lon": [2, 8], "lat": [48, 50]},
                "spacing": "0.25 deg",
                "layers": ["20 m", "100 m", "500 m", "2000 m"],
            },
            "time": {"start": "2022-08-31T00:00Z", "length": "3 h"},
            "chemistry": {"mechanism": "tracer"},
            "meteorology": {"kind": "given", **weather},
        }
    )


def cloudy(seconds: float) -> xr.Dataset:
    random = np.random.default_rng(int(seconds))
    lat, lon = np.linspace(47.0, 51.0, 9), np.linspace(1.0, 9.0, 17)
    fields = {
        name: (("lat", "lon"), 20.0 * random.random((9, 17)) - 10.0) for name in ("eastward_wind", "northward_wind")
    }
    cloud = {CLOUD.cf_name: (("lat", "lon"), 1e-4 * random.random((9, 17)))}
    return xr.Dataset({**fields, **cloud}, {"lat": lat, "lon": lon})


class OfAUser:
    """A meteorology that a user brings, of the whole grid."""

    times = (0.0, 10800.0)
    provenance = MappingProxyType({"temperature": "given"})

    def __init__(self, grid: Grid) -> None:
        self._base = DatasetMeteorology(cloudy(1.0), grid, np.datetime64("2022-08-31"), extra=[CLOUD])

    def at(self, seconds: float) -> MetState:
        return self._base.at(seconds)


def suppliers() -> dict[str, tuple[Case, Any]]:
    uniform = {"kind": "uniform", "eastward": "3 m/s", "rotation": "12 h", "cloud_water": "0.1 g/kg"}
    times = xr.concat([cloudy(hour) for hour in (0.0, 1.0)], dim="time").assign_coords(time=[0.0, 10800.0])
    here = case()
    return {
        "era5": (case(kind="era5", files=[ERA5]), None),
        "uniform": (case(**uniform), None),
        "mixed by the sun": (case(**uniform, daytime_diffusivity="50 m2/s"), None),
        "dataset": (here, times),
        "function": (here, cloudy),
        "a user's own": (here, OfAUser(here.make_grid())),
    }


def weather(name: str, rank: int | None, needs: WeatherNeeds = NEEDS) -> tuple[Any, Subdomain]:
    of_case, given = suppliers()[name]
    grid = of_case.make_grid()
    assert grid.shape[1:] == (ROWS, COLUMNS)
    decomposition = Decomposition.of(ROWS, COLUMNS, 8, 1 if rank is None else 4, None if rank is None else (2, 2))
    subdomain = Subdomain(SingleRank() if rank is None else Rank(rank), decomposition)
    land = np.random.default_rng(5).random((ROWS, COLUMNS))
    return weather_of(of_case, grid, subdomain, land, given, needs), subdomain


@cache
def whole(name: str) -> MetState:
    met, _ = weather(name, None)
    met.take([AT])
    return met.at(AT)


def same(found: MetState, expected: MetState) -> bool:
    pairs = [(getattr(found, name), getattr(expected, name)) for name in always()]
    pairs += [(found.get(name), expected.get(name)) for name in expected.names]
    return found.names == expected.names and all(a.tobytes() == b.tobytes() for a, b in pairs)


@pytest.mark.parametrize("rank", range(4))
@pytest.mark.parametrize("name", ["era5", "uniform", "mixed by the sun", "dataset", "function", "a user's own"])
def test_a_tile_and_its_margin_have_the_bits_of_the_whole(name: str, rank: int) -> None:
    met, subdomain = weather(name, rank)
    met.take([AT])
    wider = subdomain.window.grown(2, ROWS, COLUMNS)
    assert wider != subdomain.window
    assert same(met.at(AT), whole(name).part(subdomain.window))
    assert same(met.around(AT), whole(name).part(wider))
    assert not same(
        met.at(AT), whole(name).part(Window(0, *subdomain.window.shape[:1], 1, 1 + subdomain.window.shape[1]))
    )
    if name not in ("era5",):
        assert met.around(AT).cloud_water.shape[1:] == wider.shape
    met.close()


@pytest.mark.parametrize("name", ["era5", "dataset"])
def test_the_exchange_between_tiles_has_the_bits_of_the_whole(name: str) -> None:
    """Compute the exchange of horizontal diffusion, from the data to the faces of a tile."""
    grid = suppliers()[name][0].make_grid()

    def exchange(grid: Grid, state: MetState) -> tuple[np.ndarray, np.ndarray]:
        winds = diffusion.face_winds(grid, state.air_density, state.eastward_air_flux, state.northward_air_flux)
        diffusivity = diffusion.smagorinsky(grid, diffusion.deformation(grid, *winds))
        assert diffusivity.std() > 0.0
        return diffusion.face_exchange(grid, state.air_density, diffusivity)

    expected = exchange(grid, whole(name))
    for rank in range(4):
        met, subdomain = weather(name, rank)
        met.take([AT])
        wider = subdomain.window.grown(diffusion.MARGIN, ROWS, COLUMNS)
        found, inner = exchange(grid.part(wider), met.around(AT)), subdomain.window.within(wider)
        for part, of_whole, axis in zip(found, expected, ("x", "y"), strict=True):
            here, there = inner.of_faces(part, axis), subdomain.window.of_faces(of_whole, axis)
            assert np.ascontiguousarray(here).tobytes() == np.ascontiguousarray(there).tobytes()
        met.close()


def test_without_a_margin_both_are_the_same() -> None:
    met, subdomain = weather("dataset", 3, WeatherNeeds())
    assert met.around(AT).air_density.shape[1:] == subdomain.window.shape == met.at(AT).air_density.shape[1:]
    assert set(met.at(AT).names) == set(always())
