"""Diagnose the weather of columns without their temperature, and compare it with the reanalyses.

    python -m validation.diagnosed_weather CABAUW ENGLAND GFS ROCKETPY      folders with the data, see README.md

Writes README.md in this folder, README.in.md and the tables, and its picture.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import xarray as xr
from validation.diagnosed_weather.columns import LEVELS, Column, cabauw, southern_england
from validation.diagnosed_weather.maps import scores

from airshed.grid import Grid
from airshed.io.era5 import open_era5
from airshed.models.air.light import cos_zenith
from airshed.models.air.weather import boundary_layer
from airshed.models.air.weather.era5 import Era5Meteorology

LAYERS = [20, 50, 100, 170, 260, 370, 510, 690, 920, 1210, 1580, 2050, 2640, 3390, 4330, 5500, 6950]
HEIGHTS = {"temperature at 35 m [K]": 1, "temperature at 800 m [K]": 8, "temperature at 3000 m [K]": 13}


def as_era5(column: Column, folder: Path) -> Path:
    """Write the column as an ERA5 file without temperature, with the same values at four points around it."""
    points = {"latitude": [column.lat + 0.25, column.lat - 0.25], "longitude": [column.lon - 0.25, column.lon + 0.25]}
    every = np.ones((2, 2))
    deep, flat = ("time", "level", "latitude", "longitude"), ("time", "latitude", "longitude")
    fields = {"u": column.east, "v": column.north, "q": column.humidity}
    data = {name: (deep, values[:, :, None, None] * every) for name, values in fields.items() if values is not None}
    data["sp"] = (flat, column.surface_pressure[:, None, None] * every)
    if column.wind_10m is not None:
        for name, values in zip(("u10", "v10"), column.wind_10m, strict=True):
            data[name] = (flat, values[:, None, None] * every)
    if column.evaporation is not None:
        data["e"] = (flat, -3.6 * column.evaporation[:, None, None] * every)
    path = folder / "column.nc"
    xr.Dataset(data, {"time": column.time, "level": ("level", LEVELS / 100.0), **points}).to_netcdf(path)
    return path


def diagnosed(column: Column) -> dict[str, list[float]]:
    """Return each quantity by hour as diagnosed by the model without temperature."""
    west, south = column.lon - 0.25, column.lat - 0.25
    grid = Grid.regular(lon=(west, west + 0.5), lat=(south, south + 0.5), spacing=0.5, layers=LAYERS)
    found: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder:
        data = open_era5([as_era5(column, Path(folder))])
        weather = Era5Meteorology(data, grid, column.time[0])
        for hour, when in enumerate(column.time):
            state = weather.at(hour * 3600.0)
            sun = boundary_layer.shortwave(cos_zenith(when, grid.lon, grid.lat), state.cloud_cover)
            flux = -(state.friction_velocity**3) * state.surface_temperature / (0.4 * 9.81 * state.obukhov_length)
            values = {
                "boundary-layer height [m]": state.boundary_layer_height,
                "sensible heat flux [W/m2]": flux * state.surface_pressure / (287.0 * state.temperature[0]) * 1005.0,
                "friction velocity [m/s]": state.friction_velocity,
                "cloud cover": state.cloud_cover,
                "solar radiation [W/m2]": sun,
                "temperature at the ground [K]": state.surface_temperature,
            }
            values |= {name: state.temperature[layer] for name, layer in HEIGHTS.items()}
            for name, value in values.items():
                found.setdefault(name, []).append(float(value[0, 0]))
        weather.close()
    return found


def measured(column: Column) -> dict[str, np.ndarray]:
    """Return the reference of each quantity by hour, with the temperature at three heights."""
    standard_height = 44330.0 * (1.0 - (LEVELS / column.surface_pressure.mean()) ** 0.1903)
    middles = {35: 35.0, 800: 805.0, 3000: 3015.0}
    temperatures = {
        name: np.array([np.interp(middle, standard_height, row) for row in column.temperature])
        for name, middle in zip(HEIGHTS, middles.values(), strict=True)
    }
    return {**column.reference, **temperatures}


def table(column: Column) -> str:
    """Return the rows of one column: means, bias, error, correlation and every third hour."""
    model, known = diagnosed(column), np.flatnonzero(np.isfinite(column.temperature[:, 0]))
    hours = known[:: 3 if known.size > 20 else 1]
    clock = [f"{int(str(column.time[hour])[11:13])} h" for hour in hours]
    lines = [
        f"### {column.name}\n",
        f"| | | bias | RMSE | r | {' | '.join(clock)} |",
        "|---|---|---|---|---|" + "---|" * len(clock),
    ]
    for name, truth in measured(column).items():
        guess = np.array(model[name])
        error = (guess - truth)[known]
        r = np.corrcoef(guess[known], truth[known])[0, 1]
        digits = 0 if np.abs(truth[known]).max() > 400 or "W/m2" in name else (1 if "[K]" in name else 2)
        scores = f"{error.mean():.{max(digits, 1)}f} | {np.sqrt((error**2).mean()):.{max(digits, 1)}f} | {r:.2f}"
        for text, values, more in ((name, truth, " | | "), ("", guess, scores)):
            kind = "reanalysis" if text else "diagnosed"
            cells = " | ".join(f"{values[hour]:.{digits}f}" for hour in hours)
            lines.append(f"| {text} | {kind} | {more} | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    columns = cabauw(Path(sys.argv[1])), southern_england(Path(sys.argv[2]))
    text = "\n".join(table(column) for column in columns)
    here = Path(__file__).parent
    regions = scores(Path(sys.argv[3]), Path(sys.argv[4]), here / "boundary-layer.png")
    text += f"\n### Regions\n\n![Boundary-layer heights](boundary-layer.png)\n\n{regions}"
    (here / "README.md").write_text((here / "README.in.md").read_text(encoding="utf-8") + text, encoding="utf-8")
