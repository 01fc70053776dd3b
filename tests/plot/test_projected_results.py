"""Pictures of a run on a map projection: cells, coasts, cities and the graticule are at their places."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.projected import projection
from airshed.plot.cells import MapCells
from airshed.plot.difference import Difference
from airshed.plot.geography import Area, cities, coasts_and_borders
from airshed.plot.graticule import draw_graticule, ticks_of
from airshed.plot.limits import scale_of
from airshed.plot.panel import MapPanel, shape_of
from airshed.plot.results import Results
from airshed.plot.run import plot_run
from airshed.plot.series import places_of
from airshed.plot.state import Words, cells_of, draw_state

LAMBERT = projection("lambert", 8.0, 50.0, (40.0, 60.0))
AREAS = {
    "lambert": Area(-6e5, 6e5, -5e5, 5e5, LAMBERT),
    "polar stereographic": Area(-3e6, 3e6, -3e6, 3e6, projection("polar stereographic", -45.0, 90.0, (70.0,))),
    "mercator": Area(-1e6, 1e6, 2.4e6, 3.8e6, projection("mercator", -88.0, 0.0)),
    "rotated pole": Area(-8.0, 12.0, -6.0, 9.0, projection("rotated pole", -162.0, 39.25)),
}
EUROPE = Area(-2.0, 18.0, 45.0, 55.0)


def lambert_grid() -> Grid:
    return Grid.mapped(LAMBERT, 2e4 * np.arange(-9, 10), 2e4 * np.arange(-7, 8), (0.0, 50.0, 200.0))


def output(grid: Grid) -> xr.Dataset:
    """Return the output of a run whose ozone is its latitude in ppb, more aloft, with a wind towards the north."""
    times = np.datetime64("2022-08-31T00:00", "ns") + np.arange(3) * np.timedelta64(6, "h")
    ozone = 1e-9 * (grid.lat + np.array([0.0, 10.0])[:, None, None]) * np.ones((3, 1, 1, 1))
    dims = ("time", "level", *grid.dims)
    return xr.Dataset(
        {
            "O3": (dims, ozone, {"units": "mol mol-1", "long_name": "mixing ratio of O3"}),
            "eastward_wind": (dims, 0.0 * ozone, {"units": "m s-1"}),
            "northward_wind": (dims, 0.0 * ozone + 5.0, {"units": "m s-1"}),
        },
        {"time": times, **grid.axes.dataset_coords()},
    )  # fmt: skip


def test_a_curtain_has_the_values_of_its_row() -> None:
    grid = lambert_grid()
    results = Results(output(grid), Path("output.nc"))
    row, column = results.nearest("O3", 8.0, 50.0)
    section = results.section("O3", row, [0, 2])
    expected = grid.lat[row] + np.array([0.0, 10.0])[:, None] * np.ones((2, 1, 1))
    np.testing.assert_allclose(section, expected)
    assert abs(grid.lat[row, column] - 50.0) < 0.1
    assert abs(grid.lon[row, column] - 8.0) < 0.15


def test_the_cells_of_a_file_are_those_of_the_grid_in_any_order() -> None:
    grid = lambert_grid()
    results = Results(output(grid).isel(y=slice(None, None, -1)), Path("output.nc"))
    np.testing.assert_allclose(results.cells.x_edges, grid.x_faces, atol=1e-3)
    np.testing.assert_allclose(results.cells.places[1], grid.lat, atol=1e-9)
    np.testing.assert_allclose(results.ground("O3")[0], grid.lat)


def test_a_wind_to_the_north_follows_the_meridians() -> None:
    cells = MapCells.of(output(lambert_grid()), Path("output.nc"))[1]
    lon, lat = cells.places
    x, y = cells.along_axes(np.zeros(cells.shape), np.ones(cells.shape))
    north = np.stack(cells.mapping.from_lonlat(lon, lat + 0.01)) - np.stack(np.meshgrid(cells.x, cells.y))
    np.testing.assert_allclose([x, y], north / np.linalg.norm(north, axis=0), atol=2e-3)
    assert np.abs(x).max() > 0.02  # the negative control: the meridians are not vertical


def test_all_pictures_are_drawn(tmp_path: Path) -> None:
    output(lambert_grid()).to_netcdf(tmp_path / "output.nc")
    made = [path.name for path in plot_run(tmp_path)]
    assert {"O3.png", "O3_curtain.png", "O3.gif"} <= set(made)


@pytest.mark.parametrize("kind", AREAS)
def test_coasts_and_cities_are_at_their_places(kind: str) -> None:
    area = AREAS[kind]
    coasts, _ = coasts_and_borders(area)
    x, y = np.concatenate(coasts).T
    assert x.min() > area.west - 0.11 * (area.east - area.west)
    assert x.max() < area.east + 0.11 * (area.east - area.west)
    lon, lat = area.mapping.to_lonlat(x, y)
    west, east, south, north = area.bounds
    world = np.concatenate(coasts_and_borders(Area(west - 5.0, east + 5.0, south - 5.0, min(north + 5.0, 90.0)))[0])
    for k in range(0, lon.size, max(lon.size // 50, 1)):
        away = np.hypot((world[:, 0] - lon[k] + 180.0) % 360.0 - 180.0, world[:, 1] - lat[k])
        assert away.min() < 0.6  # points of lines are up to half a degree from each other
    for city in cities(area):
        assert np.allclose(area.mapping.from_lonlat(city.longitude, city.latitude)[1], city.y)
    assert {each.name for each in places_of(area)} <= {each.name for each in cities(area)} or not cities(area)


def test_the_cities_of_a_map_are_those_within_it() -> None:
    area = AREAS["lambert"]
    names = {each.name for each in cities(area)}
    assert {"Cologne", "Munich", "Paris"} <= names
    assert not names & {"Madrid", "Rome"}


@pytest.mark.parametrize("kind", AREAS)
def test_labels_of_the_graticule_are_at_their_longitudes(kind: str) -> None:
    area = AREAS[kind]
    figure, axes = plt.subplots()
    axes.set_xlim(area.west, area.east)
    axes.set_ylim(area.south, area.north)
    draw_graticule(axes, area)
    labels = [label.get_text() for label in axes.get_xticklabels()]
    places = axes.get_xticks()
    plt.close(figure)
    assert len(labels) >= 2
    for x, label in zip(places, labels, strict=True):
        lon = float(area.mapping.to_lonlat(np.array([x]), np.array([area.south]))[0][0])
        wanted = float(label.rstrip("°EW")) * (-1.0 if label.endswith("W") else 1.0)
        assert abs((lon - wanted + 180.0) % 360.0 - 180.0) < 0.1, label
    meridians, parallels = ticks_of(area)
    assert len(meridians) >= 2
    assert len(parallels) >= 2


def test_a_map_over_the_pole_has_all_longitudes() -> None:
    assert AREAS["polar stereographic"].bounds[::3] == (-180.0, 90.0)
    assert AREAS["lambert"].bounds[1] < 20.0


@pytest.mark.parametrize("kind", AREAS)
def test_shapes_are_those_on_the_ground(kind: str) -> None:
    area = AREAS[kind]
    cells = MapCells(np.linspace(area.west, area.east, 9), np.linspace(area.south, area.north, 7), area.mapping)
    middle = cells._metrics
    height, width = middle.y_width[:, 4].sum(), middle.x_width[3].sum()
    assert shape_of(area) == pytest.approx(height / width, rel=0.08)


def test_a_field_of_a_simulation_is_drawn_on_its_projection() -> None:
    field = output(lambert_grid())["O3"].isel(time=0, level=0)
    cells = cells_of(field)
    assert cells.area.mapping.describe() == LAMBERT.describe()
    assert draw_state(cells, field.to_numpy(), Words("O3", "mol mol-1", "ozone", "now"))[:4] == b"\x89PNG"


def test_a_difference_of_two_projections_is_refused() -> None:
    other = Grid.mapped(
        projection("lambert", 9.0, 50.0, (40.0, 60.0)), *2 * [2e4 * np.arange(-7, 8)], (0.0, 50.0, 200.0)
    )
    with pytest.raises(DataError, match="have different map projections; run both on one grid"):
        Difference(output(lambert_grid()), Path("a"), output(other), Path("b"))
    shifted = Grid.mapped(LAMBERT, 2e4 * np.arange(-8, 11), 2e4 * np.arange(-7, 8), (0.0, 50.0, 200.0))
    with pytest.raises(DataError, match="have cells at other values of x"):
        Difference(output(lambert_grid()), Path("a"), output(shifted), Path("b"))
    same: Any = Difference(output(lambert_grid()), Path("a"), output(lambert_grid()), Path("b"))
    assert np.abs(same.ground("O3")).max() == 0.0


def test_an_axis_of_longitudes_is_not_projected() -> None:
    """The negative control: without a mapping x and y are degrees."""
    figure, axes = plt.subplots()
    MapPanel(axes, MapCells.around(np.arange(0.0, 10.0), np.arange(45.0, 55.0)), "O3", scale_of(np.ones(3)))
    labels = [label.get_text() for label in axes.get_xticklabels()]
    plt.close(figure)
    assert "2°E" in labels
    assert not EUROPE.is_projected
