"""Weather of WRF output: winds on its own faces and on other grids, heights, rain, storms that move, faulty files."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.air.weather.synthetic_wrf import START, mapping_of, write_wrfout

import airshed
from airshed.core.errors import AirshedError, DataError
from airshed.grid import Grid
from airshed.grid.projected import projection
from airshed.io.grid_file import read_grid
from airshed.models.air.weather import MetState
from airshed.models.air.weather.fields import by_name
from airshed.models.air.weather.wrf import WrfMeteorology

LAYERS = (0.0, 50.0, 150.0, 400.0, 1000.0)
SHARED = Path(os.environ.get("AIRSHED_SHARED") or Path(__file__).parents[5] / "shared")
KATRINA = SHARED / "data/wrf_katrina_ci/wrfout_katrina_2005-08-28_4x3h.nc"
KINDS = pytest.mark.parametrize("kind", ["lambert", "polar stereographic", "mercator", "rotated pole"])


def own_grid(path: Path, margin: int = 1) -> Grid:
    return Grid.mapped(*read_grid(path, margin), LAYERS)


def other_grid() -> Grid:
    """Return a stereographic grid inside of the Lambert domain."""
    mapping = projection("polar stereographic", 40.0, 60.0)
    x, y = mapping.from_lonlat(np.array([10.6]), np.array([50.1]))
    return Grid.mapped(mapping, x + 8e3 * np.arange(-4, 5), y + 8e3 * np.arange(-3, 4), LAYERS)


def winds(state: MetState, grid: Grid) -> tuple[Any, Any]:
    """Return the earth-relative wind of the cells."""
    wide, high = np.diff(grid.layer_faces)[:, None, None], state.air_density
    along_x = 0.5 * (state.eastward_air_flux[..., 1:] + state.eastward_air_flux[..., :-1])
    along_y = 0.5 * (state.northward_air_flux[:, 1:] + state.northward_air_flux[:, :-1])
    along_x = along_x / (high * wide * 0.5 * (grid.x_face_length[:, 1:] + grid.x_face_length[:, :-1]))
    along_y = along_y / (high * wide * 0.5 * (grid.y_face_length[1:] + grid.y_face_length[:-1]))
    cosine, sine = np.cos(grid.rotation), np.sin(grid.rotation)
    return cosine * along_x - sine * along_y, sine * along_x + cosine * along_y


@KINDS
def test_winds_of_its_own_grid_are_those_of_the_faces(tmp_path: Path, kind: str) -> None:
    path = write_wrfout(tmp_path / "wrfout_d01", kind)
    grid = own_grid(path)
    east, north = winds(WrfMeteorology([path], grid, START).at(0.0), grid)
    assert east == pytest.approx(np.full(grid.shape, 7.0), rel=1e-3)
    assert north == pytest.approx(np.full(grid.shape, -3.0), rel=1e-3)


def test_winds_of_another_grid_are_interpolated_and_rotated(tmp_path: Path) -> None:
    path, grid = write_wrfout(tmp_path / "wrfout_d01"), other_grid()
    assert abs(np.degrees(grid.rotation).mean()) > 10.0
    east, north = winds(WrfMeteorology([path], grid, START).at(0.0), grid)
    assert east == pytest.approx(np.full(grid.shape, 7.0), rel=2e-3)
    assert north == pytest.approx(np.full(grid.shape, -3.0), rel=2e-3)


def test_winds_that_are_not_rotated_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control of the two tests before."""
    from airshed.models.air.weather import wrf

    path, grid = write_wrfout(tmp_path / "wrfout_d01"), other_grid()
    monkeypatch.setattr(wrf.np, "sin", np.zeros_like)
    east, _ = winds(WrfMeteorology([path], grid, START).at(0.0), grid)
    monkeypatch.undo()
    assert np.abs(east - 7.0).max() > 0.05


@pytest.mark.parametrize("grid_of", [own_grid, lambda path: other_grid()], ids=["own", "other"])
def test_the_air_has_the_profile_of_the_files(tmp_path: Path, grid_of: Any) -> None:
    path = write_wrfout(tmp_path / "wrfout_d01", slope=1.0)
    grid = grid_of(path)
    state = WrfMeteorology([path], grid, START, extra=[by_name()["cloud_water"]]).at(0.0)
    x, _ = mapping_of("lambert").from_lonlat(grid.lon, grid.lat)
    height = (x - 1.1e5) / 1e3 + grid.level[:, None, None]
    inside = grid.level > 50.0  # the lowest level of WRF is at 15 m
    assert state.temperature[inside] == pytest.approx(290.0 - 6.5e-3 * height[inside], abs=0.05)
    assert state.pressure == pytest.approx(1e5 * (1.0 - 6.5e-3 * height / 290.0) ** 5.2559, rel=1e-3)
    assert state.surface_temperature == pytest.approx(290.0 - 6.5 * (x - 1.1e5) / 1e6, abs=0.01)
    assert state.friction_velocity == pytest.approx(np.full(grid.shape[1:], 0.3))
    assert state.boundary_layer_height == pytest.approx(np.full(grid.shape[1:], 500.0))
    assert state.cloud_cover == pytest.approx(np.full(grid.shape[1:], 0.25), abs=1e-6)
    assert state.cloud_water == pytest.approx(np.full(grid.shape, 1e-4 / 1.008), rel=1e-5)


def test_rain_is_the_difference_of_sums(tmp_path: Path) -> None:
    path = write_wrfout(tmp_path / "wrfout_d01")
    grid = own_grid(path)
    for seconds in (0.0, 3600.0, 5400.0):
        rain = WrfMeteorology([path], grid, START).at(seconds).precipitation
        assert rain == pytest.approx(np.full(grid.shape[1:], 2.0 / 3600.0), rel=1e-5)


def test_buckets_and_a_restart_count(tmp_path: Path) -> None:
    import netCDF4

    path = write_wrfout(tmp_path / "wrfout_d01", BUCKET_MM=np.float32(1.5))
    with netCDF4.Dataset(path, "a") as file:
        full = file.createVariable("I_RAINNC", "i4", ("Time", "south_north", "west_east"))
        for index, (rest, count) in enumerate(((0.5, 0), (0.5, 2), (1.0, 0))):  # 0.5, 3.5, restarted: 1.0 mm
            file["RAINNC"][index], full[index] = rest, count
    grid = own_grid(path)
    rates = [float(WrfMeteorology([path], grid, START).at(each).precipitation[2, 2]) * 3600.0 for each in (0.0, 7200.0)]
    assert rates == pytest.approx([3.0, 1.0], rel=1e-5)


def test_a_nest_that_moves_has_the_grid_that_it_always_covers(tmp_path: Path) -> None:
    path = write_wrfout(tmp_path / "wrfout_d02", offsets=(0, 2, 1))
    grid = own_grid(path, margin=0)
    assert grid.shape[2] == 9
    meteorology = WrfMeteorology([path], grid, START)
    for seconds in (0.0, 3600.0, 7200.0):
        east, _ = winds(meteorology.at(seconds), grid)
        assert east == pytest.approx(np.full(grid.shape, 7.0), rel=1e-3)
    assert meteorology.at(3600.0).precipitation == pytest.approx(np.full(grid.shape[1:], 2.0 / 3600.0), rel=1e-5)


def test_files_of_one_time_each_are_joined(tmp_path: Path) -> None:
    paths = [write_wrfout(tmp_path / f"wrfout_{hour}", hours=[hour], offsets=[0]) for hour in (0.0, 1.0, 2.0)]
    joined = WrfMeteorology(paths[::-1], own_grid(paths[0]), START)
    assert joined.times[:3] == (0.0, 3600.0, 7200.0)


@KINDS
def test_a_uniform_mixing_ratio_stays_uniform(tmp_path: Path, kind: str) -> None:
    write_wrfout(tmp_path / "wrfout_d01", kind, slope=1.0)
    case = airshed.Case.from_dict({
        "grid": {"from": "wrfout_d01", "margin": 1, "layers": ["50 m", "150 m", "400 m", "1000 m"]},
        "time": {"start": "2022-06-01T00:00:00Z", "length": "1 h"}, "chemistry": {"mechanism": "tracer"},
        "meteorology": {"kind": "wrf", "files": ["wrfout_*"]}, "deposition": {"scheme": "none"}, "output": [],
        "initial": {"values": {"TRACER": "1 ppb"}}, "boundary": {"values": {"TRACER": "1 ppb"}},
    }, base=tmp_path)  # fmt: skip
    with airshed.Simulation(case) as simulation:
        simulation.run()
        np.testing.assert_allclose(simulation["TRACER"], 1e-9, rtol=1e-10)
        budget = simulation.budget().sel(species="TRACER")
        assert abs(float(budget["residual"])) < 1e-12 * float(budget["throughput"])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"without": ["PHB", "U"]}, "lacks U, PHB; WRF output needs U, V, T"),
        ({"MAP_PROJ": np.int32(9)}, "MAP_PROJ = 9 is unknown"),
        ({"hours": [0.0, 1.0, 5.0]}, "has no times between 2022-06-01T01:00"),
        ({"hours": [3.0, 4.0, 5.0]}, "covers 2022-06-01T03:00 to 2022-06-01T05:00"),
        ({"DX": np.float32(3e4)}, "its cells are not uniform in its projection"),
    ],
)
def test_a_faulty_file_is_refused(tmp_path: Path, options: dict[str, Any], reason: str) -> None:
    good, path = write_wrfout(tmp_path / "good"), write_wrfout(tmp_path / "bad", **options)
    with pytest.raises(AirshedError, match=reason):
        WrfMeteorology([path], own_grid(good), START, length=7200.0).at(0.0)


def test_a_grid_outside_of_the_domain_is_refused(tmp_path: Path) -> None:
    path = write_wrfout(tmp_path / "wrfout_d01", shape=(5, 5))
    with pytest.raises(DataError, match=r"covers x from 100000 to 200000 of its projection, the grid needs"):
        WrfMeteorology([path], other_grid(), START).at(0.0)


def test_files_with_winds_of_the_mass_points_are_refused(tmp_path: Path) -> None:
    import xarray as xr

    path = write_wrfout(tmp_path / "wrfout_d01")
    with xr.open_dataset(path) as dataset:
        wind = dataset["U"].isel(west_east_stag=slice(1, None)).rename(west_east_stag="west_east")
        dataset.drop_vars("U").assign(U=wind).to_netcdf(tmp_path / "destaggered.nc")
    with pytest.raises(DataError, match="its winds are not on the staggered grid"):
        WrfMeteorology([tmp_path / "destaggered.nc"], own_grid(path), START)


def test_files_of_two_domains_are_refused(tmp_path: Path) -> None:
    first, second = write_wrfout(tmp_path / "d01"), write_wrfout(tmp_path / "d02", GRID_ID=np.int32(2))
    with pytest.raises(DataError, match="are of different domains"):
        WrfMeteorology([first, second], own_grid(first), START)


@pytest.mark.skipif(not KATRINA.is_file(), reason="shared data are not there: wrf_katrina_ci")
def test_vertical_motion_over_the_sea_is_that_of_wrf() -> None:
    """Hurricane Katrina: velocities through faces by continuity of air against WRF's W."""
    import netCDF4

    grid = Grid.mapped(*read_grid(KATRINA, 2), (0.0, 50.0, 150.0, 300.0, 500.0, 800.0, 1200.0))
    state = WrfMeteorology([KATRINA], grid, np.datetime64("2005-08-28T12:00")).at(0.0)
    outflow = np.diff(state.eastward_air_flux, axis=-1) + np.diff(state.northward_air_flux, axis=-2)
    density = 0.5 * (state.air_density[1:] + state.air_density[:-1])
    found = -np.cumsum(outflow, axis=0)[:-1] / (density * grid.cell_area)
    with netCDF4.Dataset(KATRINA) as file:
        inside = (slice(14, 46), slice(2, 31))  # the cells that all times have
        height = (np.asarray(file["PH"][0]) + np.asarray(file["PHB"][0]))[:, *inside] / 9.81
        vertical, height = np.asarray(file["W"][0])[:, *inside], height - height[0]
    for number, face in enumerate(grid.layer_faces[2:-1], start=1):
        above = np.argmax(height > face, axis=0)[None]
        low, high = (np.take_along_axis(height, above - step, 0)[0] for step in (1, 0))
        share = (face - low) / (high - low)
        of_wrf = [np.take_along_axis(vertical, above - step, 0)[0] for step in (1, 0)]
        expected = (1.0 - share) * of_wrf[0] + share * of_wrf[1]
        assert np.corrcoef(found[number].ravel(), expected.ravel())[0, 1] > 0.95
        assert np.abs(found[number] - expected).mean() < 0.25 * np.abs(expected).mean()
