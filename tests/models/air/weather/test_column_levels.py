"""Datasets on pressure levels, on heights of each column, and on points in two dimensions."""

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.projected import projection
from airshed.models.air.weather import DatasetMeteorology, MetState
from airshed.models.air.weather.atmosphere import standard_pressure

START = np.datetime64("2022-08-31T12:00")
LAT, LON = np.arange(45.0, 51.0), np.arange(-1.0, 6.0)
GRID = Grid.regular((0, 4), (46, 49), 1.0, [50.0, 200.0, 600.0, 1500.0])
D = ("level", "lat", "lon")
HEIGHTS = np.array([20.0, 200.0, 600.0, 1500.0, 3000.0])


def at(dataset: xr.Dataset, grid: Grid = GRID) -> MetState:
    return DatasetMeteorology(dataset, grid, START).at(0.0)


def wind(state: MetState, grid: Grid = GRID) -> tuple[np.ndarray, np.ndarray]:
    """Return the winds along x and y at inner faces [m/s]."""
    thickness = grid.thickness[:, None, None]
    density = 0.5 * (state.air_density[..., 1:] + state.air_density[..., :-1])
    along_x = state.eastward_air_flux[..., 1:-1] / (density * thickness * grid.x_face_length[:, 1:-1])
    density = 0.5 * (state.air_density[:, 1:] + state.air_density[:, :-1])
    return along_x, state.northward_air_flux[:, 1:-1] / (density * thickness * grid.y_face_length[1:-1])


def field(values: np.ndarray) -> np.ndarray:
    return np.broadcast_to(values.reshape(-1, 1, 1), (values.size, LAT.size, LON.size))


@pytest.mark.parametrize("downwards", [False, True])
def test_heights_of_each_column_are_those_of_its_levels(downwards: bool) -> None:
    heights = field(HEIGHTS) * (1.0 + 0.05 * np.arange(LON.size))
    data = xr.Dataset(
        {"eastward_wind": (D, 0.01 * heights), "northward_wind": (D, 0.0 * heights)},
        {"lat": LAT, "lon": LON, "height": (D, heights, {"units": "m"})},
    )
    state = at(data.isel(level=slice(None, None, -1 if downwards else 1)))
    for level, height in enumerate(GRID.level):  # a wind linear in height is exact
        assert wind(state)[0][level] == pytest.approx(0.01 * height, rel=1e-6)


def test_heights_in_another_unit_are_converted_and_altitudes_need_the_ground() -> None:
    altitude = (field(HEIGHTS) + 300.0) / 1000.0
    data = xr.Dataset(
        {"eastward_wind": (D, 10.0 * (altitude - 0.3)), "northward_wind": (D, 0.0 * altitude)},
        {"lat": LAT, "lon": LON, "altitude": (D, altitude, {"units": "km"})},
    )
    with pytest.raises(DataError, match=r"has altitudes of its levels \(altitude\).*add surface_altitude"):
        at(data)
    data["surface_altitude"] = (("lat", "lon"), np.full((LAT.size, LON.size), 300.0))
    assert wind(at(data))[0][2] == pytest.approx(0.01 * GRID.level[2], rel=1e-6)


@pytest.mark.parametrize(("unit", "factor"), [("hPa", 0.01), ("Pa", 1.0)])
def test_pressure_levels_are_at_their_hypsometric_heights(unit: str, factor: float) -> None:
    pressure = standard_pressure(HEIGHTS)
    data = xr.Dataset(
        {"eastward_wind": (D, field(0.01 * HEIGHTS)), "northward_wind": (D, field(0.0 * HEIGHTS))},
        {"lat": LAT, "lon": LON, "level": ("level", factor * pressure, {"units": unit})},
    )
    for given in (data, data.isel(level=slice(None, None, -1))):
        found = wind(at(given))[0]
        for level, height in enumerate(GRID.level):
            assert found[level] == pytest.approx(max(0.01 * height, 0.2), rel=0.01)
    warm = data.assign(air_temperature=(D, field(np.full(HEIGHTS.size, 310.0))))
    higher = wind(at(warm))[0][3]  # warm columns are thicker: the same level is higher
    assert (higher < 0.98 * found[3]).all()


def test_levels_below_the_ground_have_no_influence() -> None:
    pressure = standard_pressure(HEIGHTS)
    east = field(np.array([99.0, 10.0, 10.0, 10.0, 10.0]))
    ground = np.full((LAT.size, LON.size), float(standard_pressure(np.array(100.0))))
    data = xr.Dataset(
        {
            "eastward_wind": (D, east),
            "northward_wind": (D, 0.0 * east),
            "surface_air_pressure": (("lat", "lon"), ground),
        },
        {"lat": LAT, "lon": LON, "level": ("level", pressure, {"standard_name": "air_pressure"})},
    )
    assert wind(at(data))[0] == pytest.approx(10.0)
    data["surface_air_pressure"][:] = 101325.0
    assert wind(at(data))[0][0].max() > 50.0


def projected(names: tuple[str, str]) -> xr.Dataset:
    mapping = projection("lambert", 10.0, 50.0, (45.0, 55.0))
    x, y = np.arange(-1000e3, 100e3, 50e3), np.arange(-700e3, 50e3, 50e3)
    lon, lat = mapping.to_lonlat(*np.meshgrid(x, y))
    shape = (2, *lat.shape)
    return xr.Dataset(
        {
            names[0]: (("level", "y", "x"), np.full(shape, 8.0)), names[1]: (("level", "y", "x"), np.full(shape, 2.0)),
            "precipitation_flux": (("y", "x"), np.full(lat.shape, 1e-4)),
        },
        {"lat": (("y", "x"), lat), "lon": (("y", "x"), lon), "level": [10.0, 5000.0]},
    )  # fmt: skip


def test_points_in_two_dimensions_reach_the_cells_and_faces() -> None:
    state = at(projected(("eastward_wind", "northward_wind")))
    along_x, along_y = wind(state)
    assert along_x == pytest.approx(8.0)
    assert along_y == pytest.approx(2.0)
    assert state.precipitation == pytest.approx(1e-4)


def test_winds_along_the_axes_are_rotated() -> None:
    data = projected(("x_wind", "y_wind"))
    along_x, along_y = wind(at(data))
    assert np.hypot(along_x[:, 1:, :], along_y[..., 1:])[0, 0] == pytest.approx(np.hypot(8.0, 2.0), rel=0.02)
    angle = np.radians((2.0 - 10.0) * np.sin(np.radians(50.0)))  # convergence of meridians of the cone
    assert along_y.mean() == pytest.approx(2.0 * np.cos(angle) - 8.0 * np.sin(angle), rel=0.1)
    with pytest.raises(DataError, match="winds to the east and along the axes"):
        at(data.assign(eastward_wind=data["x_wind"]))


def test_points_in_two_dimensions_on_a_projected_grid() -> None:
    mapping = projection("lambert", 5.0, 48.0, (47.0,))
    grid = Grid.mapped(mapping, np.linspace(-2e5, 1e5, 5), np.linspace(-2e5, 1e5, 4), [0.0, 100.0, 1000.0])
    along_x, along_y = wind(at(projected(("eastward_wind", "northward_wind")), grid), grid)
    assert np.hypot(along_x[:, 1:, :], along_y[..., 1:]) == pytest.approx(np.hypot(8.0, 2.0), rel=0.03)


def test_what_is_missing_has_its_place() -> None:
    data = projected(("eastward_wind", "northward_wind"))
    data["eastward_wind"][1, 3, 4] = np.nan
    place = data.isel(y=3, x=4)
    words = rf"eastward_wind has NaN or infinite values, first at .*lat {float(place['lat']):.6g}"
    with pytest.raises(DataError, match=words):
        at(data)
    with pytest.raises(DataError, match="the data does not cover latitude"):
        at(projected(("eastward_wind", "northward_wind")).isel(x=slice(8)))
    heights = field(np.array([20.0, 500.0, 400.0]))
    data = xr.Dataset(
        {"eastward_wind": (D, heights), "northward_wind": (D, heights)},
        {"lat": LAT, "lon": LON, "height": (D, heights)},
    )
    with pytest.raises(DataError, match="heights of level do not rise from level to level"):
        at(data)
    with pytest.raises(DataError, match="reaches 500 m above ground, the highest layer's centre is at 1050 m"):
        at(data.isel(level=slice(2)))


def test_the_provenance_names_used_fields_and_round_off() -> None:
    data = projected(("x_wind", "y_wind"))
    data["precipitation_flux"][0, 0] = -1e-14
    found = DatasetMeteorology(data, GRID, START).provenance
    assert found["eastward_air_flux"] == "given: eastward_wind"
    assert "x_wind" not in found
    plain = data["precipitation_flux"].copy(data=np.full(data["precipitation_flux"].shape, 1e-4))
    assert (
        "round-off"
        not in DatasetMeteorology(data.assign(precipitation_flux=plain), GRID, START).provenance["precipitation"]
    )
    flat = xr.Dataset(
        {"eastward_wind": 1.0, "northward_wind": 1.0, "precipitation_flux": ("lon", [1e-4, -1e-14, 0.0, 0.0])}
    )
    note = DatasetMeteorology(flat.assign_coords(lon=GRID.x), GRID, START).provenance["precipitation"]
    assert note == "given: precipitation_flux (negative values of round-off are 0)"


def test_output_of_wrf_is_named() -> None:
    with pytest.raises(DataError, match=r'meteorology\.kind = "wrf" reads output of WRF'):
        at(xr.Dataset({"U": ("x", np.ones(3)), "V": ("x", np.ones(3))}))
