"""Air drives pasture: rain and light of a rain band that crosses Queensland in three days, on one grid, by BMI."""

from pathlib import Path

import numpy as np
import xarray as xr

from airshed.bmi import Air, Pasture
from airshed.models.air.light import cos_zenith
from airshed.models.air.weather.boundary_layer import shortwave

HERE, LON = Path(__file__).parent, 138.05 + 0.1 * np.arange(156)


def weather(seconds):
    """Return the weather with a band of cloud and rain, 2 degrees wide, moving east at 6 degrees per day."""
    band = np.exp(-(((LON - 137.0 - 6.0 * seconds / 86400.0) / 2.0) ** 2))
    fields = {"cloud_area_fraction": ("lon", band), "precipitation_flux": ("lon", band * 5.0 / 3600.0)}
    return xr.Dataset({**fields, "eastward_wind": 2.0, "northward_wind": 0.0}, coords={"lon": LON})


air, pasture = Air(meteorology=weather), Pasture()
air.initialize(HERE / "air_over_queensland.toml")
pasture.initialize(HERE.parent / "cases" / "queensland")
count, ground = pasture.get_grid_size(0), air.get_var_grid("precipitation")
lon, lat = pasture.get_grid_x(0, np.empty(count)), pasture.get_grid_y(0, np.empty(count))
x, y = air.get_grid_x(ground, np.empty(156)), air.get_grid_y(ground, np.empty(186))
cells = len(x) * np.searchsorted(y, lat - 0.05) + np.searchsorted(x, lon - 0.05)  # the cells of air at those of pasture
found = np.empty(count)
for day in range(3):
    rain, light = np.zeros(count), np.zeros(count)
    for hour in range(24):
        air.update_until((24 * day + hour + 0.5) * 3600.0)
        rain += 3600.0 * air.get_value_at_indices("precipitation", found, cells)
        cloud = air.get_value_at_indices("cloud_cover", found, cells)
        light += 3600e-6 * shortwave(cos_zenith(air.simulation.time, lon, lat), cloud)
    pasture.set_value("rain", rain), pasture.set_value("radiation", light), pasture.update()
    grown = pasture.get_value("growth", found).mean()
    print(f"day {day + 1}: rain {rain.mean():.1f} mm, light {light.mean():.1f} MJ m-2, growth {grown:.1f} kg ha-1")
