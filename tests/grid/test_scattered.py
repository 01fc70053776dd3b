"""Points whose latitude and longitude are in two dimensions."""

import numpy as np

from airshed.grid.projected import projection
from airshed.grid.scattered import axis_rotation


def test_the_x_axis_of_a_projection_turns_counterclockwise_from_east() -> None:
    mapping = projection("lambert", 10.0, 50.0, (45.0, 55.0), 6.37e6)
    x, y = np.meshgrid(np.arange(-600e3, 601e3, 60e3), np.arange(-480e3, 481e3, 60e3))
    (lon, lat), (east, north) = mapping.to_lonlat(x, y), mapping.to_lonlat(x + 10.0, y)
    expected = np.arctan2(north - lat, (east - lon) * np.cos(np.radians(lat)))
    found = axis_rotation(lat, lon)
    assert np.abs(found - expected).max() < 1e-4
    assert found[0, 0] > 0.05  # west of its meridian, x points to the north of east
