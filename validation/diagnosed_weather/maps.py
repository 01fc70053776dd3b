"""Diagnosed temperature, boundary-layer height, cloud and vertical motion compared with analyses over regions."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.core.constants import GRAVITY
from airshed.core.saturation import mixed_phase_saturation
from airshed.grid import Grid
from airshed.io.era5 import open_era5
from airshed.models.air.landcover import land_fraction
from airshed.models.air.weather import MetState
from airshed.models.air.weather.columns import thickness_temperature
from airshed.models.air.weather.era5 import Era5Meteorology

Array = NDArray[np.float64]
LAYERS = [20, 50, 100, 170, 260, 370, 510, 690, 920, 1210, 1580, 2050, 2640, 3390, 4330, 5500, 6950, 8750]
AREAS = {
    "Europe": ((-15.0, 40.0), (35.0, 65.0)),
    "North America": ((-130.0, -65.0), (27.5, 55.0)),
    "East Asia": ((95.0, 145.0), (22.5, 50.0)),
}
HEIGHTS = {"35 m": 1, "800 m": 8, "3000 m": 13}
DIAGNOSED = {"t", "gh", "t2m", "d2m", "orog", "blh", "tcc", "ssrd", "sshf", "lsm"}
"""Fields that data like those of `cases/west-europe-winter` lack."""
MOLAR_MASS = 28.9647e-3


class Score(NamedTuple):
    """Comparison of a diagnosed field with the one of the data."""

    quantity: str
    where: str
    found: Array
    truth: Array

    def row(self) -> str:
        """Return a row of the table: mean of the data, bias, RMSE and correlation."""
        error = self.found - self.truth
        size = float(np.abs(self.truth).max())
        digits = 0 if "[m]" in self.quantity else 1 if size > 5.0 else 2
        numbers = self.truth.mean(), error.mean(), float(np.sqrt((error**2).mean()))
        r = np.corrcoef(self.found.ravel(), self.truth.ravel())[0, 1]
        return f"| {self.quantity} | {self.where} | {' | '.join(f'{each:.{digits}f}' for each in numbers)} | {r:.2f} |"


def scores(gfs: Path, rocketpy: Path, picture: Path) -> str:
    """Return the table of all scores, and draw the boundary-layer heights of the analysis."""
    found = [each for path in sorted(gfs.glob("gfs_*_2p50.grb*")) for each in _of_gfs(path, picture)]
    found += _of_motion(gfs / "gfs_2017-03-22T00_europe.nc")
    for name in ("euroc_2023_all_windows.nc", "ndrt_2020_weather_data_ERA5_new.nc"):
        found.append(_of_heights(rocketpy / name))
    found.sort(key=lambda score: score.quantity)
    head = "| quantity | where and when | mean | bias | RMSE | r |\n|---|---|---|---|---|---|\n"
    return head + "\n".join(score.row() for score in found) + "\n"


def _weather(data: xr.Dataset, grid: Grid, drop: set[str]) -> MetState:
    """Return the state of the first instant without some fields of the data."""
    some = data.drop_vars([name for name in drop if name in data])
    when = data["time"].values[0]
    return Era5Meteorology(some, grid, when, length=0.0, land_fraction=land_fraction(grid)).at(0.0)


def _with_specific_humidity(data: xr.Dataset) -> xr.Dataset:
    """Return the data with specific instead of relative humidity, as files without temperature have."""
    vapour = data["r"] * mixed_phase_saturation(data["t"].values) / data["level"]
    humidity = (0.622 * vapour / (1.0 - 0.378 * vapour)).transpose(*data["t"].dims)
    return data.drop_vars("r").assign(q=humidity.assign_attrs(data["r"].attrs))


def _of_gfs(path: Path, picture: Path) -> Iterator[Score]:
    """Yield the scores of an analysis or a forecast of GFS."""
    given = open_era5([path]).load()
    for name, (lon, lat) in AREAS.items():
        grid = Grid.regular(lon, lat, 2.5, LAYERS)
        where = f"{name}, {str(given['time'].values[0])[:13]} UTC"
        whole, bare = _weather(given, grid, set()), _weather(_with_specific_humidity(given), grid, DIAGNOSED)
        for height, layer in HEIGHTS.items():
            yield Score(
                f"temperature at {height}, by humidity and date [K]", where, bare.temperature[layer],
                whole.temperature[layer],
            )  # fmt: skip
        read = _weather(given, grid, {"blh"})
        heights = {"temperature read": read, "temperature diagnosed": bare}
        for text, state in heights.items():
            yield Score(
                f"boundary-layer height, {text} [m]", where, state.boundary_layer_height, whole.boundary_layer_height
            )
        if "tcc" in given:
            cover = _weather(given, grid, {"tcc"}).cloud_cover
            yield Score("cloud cover, temperature read; GFS: mean of 6 h", where, cover, whole.cloud_cover)
        if path.name.startswith("gfs_2017") and name == "Europe":
            _draw(grid, {"GFS": whole, **heights}, picture)


def _of_motion(path: Path) -> Iterator[Score]:
    """Yield the scores of the vertical motion of continuity, with that of an analysis."""
    data, omega = open_era5([path]).load(), xr.open_dataset(path)["w"]
    grid = Grid.regular((-20.0, 40.0), (35.0, 70.0), 2.5, LAYERS)
    state = Era5Meteorology(data, grid, np.datetime64("2017-03-22T00:00"), length=0.0).at(0.0)
    for level, pressure in ((8, 850.0), (15, 500.0)):
        face = level + int(np.argmin(np.abs(state.pressure[level:].mean(axis=(1, 2)) - 100.0 * pressure)))
        east, north = state.eastward_air_flux[:face], state.northward_air_flux[:face]
        inflow = (east[..., :-1] - east[..., 1:] + north[:, :-1] - north[:, 1:]).sum(axis=0)
        found = -GRAVITY * MOLAR_MASS * inflow / grid.cell_area
        truth = omega.sel(level_hPa=pressure).interp(latitude=grid.y, longitude=grid.x).values
        yield Score(
            f"vertical motion at {pressure:g} hPa, by continuity [Pa/s]", "Europe, 2017-03-22T00 UTC", found, truth
        )


def _of_heights(path: Path) -> Score:
    """Return the score of the temperature that follows from the geopotential of ERA5, below 5.5 km."""
    data = open_era5([path]).load()
    pressure = data["level"].values[:, None, None] * np.ones(data["t"].shape[1:])
    below = data["level"].values > 5e4
    dry = np.zeros(pressure.shape)
    found = np.array([thickness_temperature(pressure, each, dry)[below] for each in data["z"].values.astype(float)])
    where = f"ERA5, {path.name.split('_')[0]}, {data.sizes['time']} times"
    return Score("temperature of the geopotential, dry [K]", where, found, data["t"].values[:, below].astype(float))


def _draw(grid: Grid, states: dict[str, MetState], picture: Path) -> None:
    """Draw the boundary-layer heights of several states."""
    figure, panels = plt.subplots(1, len(states), figsize=(9.0, 2.6), layout="constrained", sharey=True)
    for panel, (name, state) in zip(panels, states.items(), strict=True):
        mesh = panel.pcolormesh(grid.x_faces, grid.y_faces, state.boundary_layer_height, vmin=0.0, vmax=2000.0)
        panel.set_title(name, fontsize=9)
        panel.set_xlabel("longitude")
    panels[0].set_ylabel("latitude")
    figure.colorbar(mesh, ax=panels, label="boundary-layer height [m]")
    figure.savefig(picture, dpi=80)
    plt.close(figure)
