"""Small made-up runs: a background with cities as hot spots, on any box of the globe."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from airshed.plot.geography import Area, cities

WriteRun = Callable[..., Path]


def plume(lon: np.ndarray, lat: np.ndarray) -> np.ndarray:
    """Return a field (lat, lon) with a peak at each large city of the box, between 0 and about 1."""
    x, y = np.meshgrid(lon, lat)
    area = Area(float(lon[0]) - 1, float(lon[-1]) + 1, float(lat[0]) - 1, float(lat[-1]) + 1)
    field = np.zeros(x.shape)
    for city in cities(area)[:60]:
        wide = ((x - city.longitude) * np.cos(np.radians(city.latitude))) ** 2 + (y - city.latitude) ** 2
        field += np.sqrt(city.population / 4e6) * np.exp(-wide / (2 * 0.22**2)) + 0.03 * np.exp(-wide / 2)
    return field


def made_up(
    lon: np.ndarray,
    lat: np.ndarray,
    hours: Sequence[float] = tuple(range(25)),
    levels: int = 20,
    start: str = "2022-08-31T00:00",
    wind: bool = False,
) -> xr.Dataset:
    """Return a run's output with ozone and nitrogen dioxide on time, level, lat, lon."""
    tops = 20.0 * (1 + np.arange(levels)) ** 2
    level = 0.5 * (tops + np.concatenate([[0.0], tops[:-1]]))
    hour = np.asarray(hours, dtype=float)
    sun = np.clip(np.sin((hour % 24 - 6) / 12 * np.pi), 0, 1)[:, None, None, None]
    z = level[None, :, None, None]
    town = plume(lon, lat)[None, None]
    waves = np.sin(np.radians(9 * lon))[None, None, None, :] * np.cos(np.radians(14 * lat))[None, None, :, None]
    mixed = np.exp(-z / (200 + 1300 * sun))
    no2 = (0.6 + (22 - 13 * sun) * town * mixed + 0.4 * waves * mixed) * 1e-9
    ozone = (38 + 26 * sun + 7 * waves + 12 * (1 - mixed) + 10 * sun * np.sqrt(town)) * 1e-9
    ozone = np.clip(ozone - 0.9 * no2 * (1 - 0.6 * sun), 1e-9, None)
    dims = ("time", "level", "lat", "lon")
    full = (len(hour), levels, len(lat), len(lon))
    pressure = np.broadcast_to(101325 * np.exp(-z / 8000), full)
    temperature = np.broadcast_to(293 - 0.0065 * z, full)

    def field(values: np.ndarray, units: str, **attributes: object) -> tuple[tuple[str, ...], np.ndarray, dict]:
        return dims, np.broadcast_to(values, full).astype(np.float32), {"units": units, **attributes}

    fields = {
        "O3": field(ozone, "mol mol-1", molar_mass=0.047998),
        "NO2": field(no2, "mol mol-1", molar_mass=0.046006),
        "air_pressure": field(pressure, "Pa"),
        "air_temperature": field(temperature, "K"),
    }
    if wind:
        fields["eastward_wind"] = field(6 + 3 * waves, "m s-1")
        fields["northward_wind"] = field(2 - 4 * waves, "m s-1")
    coordinates = {
        "time": np.datetime64(start, "s") + (hour * 3600).astype("timedelta64[s]"),
        "level": ("level", level, {"units": "m"}),
        "lat": lat,
        "lon": lon,
    }
    return xr.Dataset(fields, coordinates, {"Conventions": "CF-1.11", "title": "made up"})


def centres(first: float, last: float, spacing: float) -> np.ndarray:
    """Return the centres of the cells between two edges."""
    return np.arange(first + spacing / 2, last, spacing)


@pytest.fixture(scope="session")
def write_run(tmp_path_factory: pytest.TempPathFactory) -> WriteRun:
    """Return a function that writes a dataset as a run folder."""

    def write(dataset: xr.Dataset) -> Path:
        folder = tmp_path_factory.mktemp("run")
        dataset.to_netcdf(folder / "output.nc")
        return folder

    return write


@pytest.fixture(scope="session")
def made_up_run() -> Callable[..., xr.Dataset]:
    """Return `made_up`, the maker of runs."""
    return made_up


@pytest.fixture(scope="session")
def small() -> xr.Dataset:
    """Return a small run over western Europe: 1 degree, 4 levels, 9 times."""
    return made_up(centres(0, 10, 1.0), centres(45, 55, 1.0), hours=range(0, 25, 3), levels=4)


@pytest.fixture(scope="session")
def small_run(small: xr.Dataset, write_run: WriteRun) -> Path:
    """Return the folder of the small run."""
    return write_run(small)
