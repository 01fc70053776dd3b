"""Pictures of a run on a map projection: all of them are drawn, and a curtain has the values of its row of the map."""

from pathlib import Path

import numpy as np
import xarray as xr

from airshed.grid import Grid
from airshed.grid.projected import projection
from airshed.plot.results import Results
from airshed.plot.run import plot_run


def projected_output(path: Path) -> Path:
    """Write the output of a run on a Lambert grid whose ozone is its latitude in ppb, more aloft."""
    grid = Grid.mapped(
        projection("lambert", 8.0, 50.0, (40.0, 60.0)),
        2e4 * np.arange(-9, 10),
        2e4 * np.arange(-7, 8),
        (0.0, 50.0, 200.0),
    )
    times = np.datetime64("2022-08-31T00:00", "ns") + np.arange(3) * np.timedelta64(6, "h")
    ozone = 1e-9 * (grid.lat + np.array([0.0, 10.0])[:, None, None]) * np.ones((3, 1, 1, 1))
    xr.Dataset(
        {"O3": (("time", "level", "y", "x"), ozone, {"units": "mol mol-1", "long_name": "mixing ratio of O3"})},
        {
            "time": times, "level": ("level", [25.0, 125.0], {"units": "m"}), "y": grid.y, "x": grid.x,
            "lat": (("y", "x"), grid.lat), "lon": (("y", "x"), grid.lon),
        },
    ).to_netcdf(path)  # fmt: skip
    return path


def test_a_curtain_has_the_values_of_its_latitude(tmp_path: Path) -> None:
    path = projected_output(tmp_path / "output.nc")
    with xr.open_dataset(path) as dataset:
        results = Results(dataset, path)
        row = results.nearest("O3", 8.0, 50.0)[0]
        section = results.section("O3", row, [0, 2])
        assert section.shape == (2, 2, results.longitude.size)
        there = np.isfinite(section)
        assert there.any()
        expected = results.latitude[row] + np.array([0.0, 10.0])[:, None] * np.ones((2, 1, 1))
        assert np.abs(section - expected)[there].max() < 0.2  # the nearest cell of 20 km


def test_all_pictures_are_drawn(tmp_path: Path) -> None:
    projected_output(tmp_path / "output.nc")
    made = [path.name for path in plot_run(tmp_path)]
    assert {"O3.png", "O3_curtain.png", "O3.gif"} <= set(made)
