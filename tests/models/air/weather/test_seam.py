"""Longitudes of a whole circle: the seam is closed, whether the data repeats it or not."""

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.models.air.weather import DatasetMeteorology

START = np.datetime64("2022-08-31T00:00")


@pytest.mark.parametrize("area", [(350.0, 370.0), (-180.0, 180.0), (0.0, 360.0), (175.0, 190.0)])
@pytest.mark.parametrize("first", [0.0, -180.0, 5.0])
def test_a_circle_that_does_not_repeat_its_seam_is_closed(area: tuple[float, float], first: float) -> None:
    """The wind at all faces is that of the circle, linear between its points, also where its numbers jump."""
    grid = Grid.regular(area, (48, 50), 1.0, [20.0, 100.0])
    lon = first + np.arange(0.0, 360.0, 10.0)
    wave = 20.0 + 10.0 * np.cos(np.radians(lon))
    data = xr.Dataset({"eastward_wind": ("lon", wave), "northward_wind": ((), 0.0)}, {"lon": lon})
    expected = np.interp(grid.x_faces, lon, wave, period=360.0)
    for each in (
        data,
        xr.concat([data, data.isel(lon=[0]).assign_coords(lon=[first + 360.0])], "lon", data_vars="minimal"),
    ):
        found = DatasetMeteorology(each, grid, START).at(0.0)
        flux = found.eastward_air_flux[0, 0] / found.eastward_air_flux[0, 0, 0] * expected[0]
        np.testing.assert_allclose(flux, expected, rtol=2e-3)  # but for the density


def test_half_a_circle_is_not_closed() -> None:
    lon = np.arange(0.0, 180.0, 10.0)
    data = xr.Dataset({"eastward_wind": ("lon", lon), "northward_wind": ((), 0.0)}, {"lon": lon})
    with pytest.raises(DataError, match="give data for the whole grid"):
        DatasetMeteorology(data, Grid.regular((350.0, 370.0), (48, 50), 1.0, [20.0]), START).at(0.0)
