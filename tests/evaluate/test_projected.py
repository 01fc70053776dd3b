"""Evaluation of a run on a Lambert grid: stations find their cells by the projection."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.evaluate.synthetic import OZONE, START, hourly, ozone, write_observations, write_run

import airshed
from airshed.core.errors import AirshedError
from airshed.evaluate.run_fields import RunFields
from airshed.grid import Grid
from airshed.grid.projected import projection

pytestmark = pytest.mark.standard
GRID = Grid.mapped(
    projection("lambert", 2.0, 52.0, (45.0, 60.0)), 2e4 * np.arange(14, 32), 2e4 * np.arange(-8, 9), (0.0, 20.0)
)


def write_projected(path: Path, *, with_mapping: bool = True, descending: bool = False) -> Path:
    """Write a day of instants of the linear ozone on the grid."""
    hours = np.arange(25.0)
    values = ozone(hours[:, None, None], GRID.lon, GRID.lat)[:, None]
    dims = ("time", "level", "y", "x")
    coords = GRID.axes.dataset_coords()
    if not with_mapping:
        coords = {name: each for name, each in coords.items() if name != "projection"}
    dataset = xr.Dataset(
        {"O3": (dims, values, {"units": "mol mol-1", "cell_methods": "time: point", "molar_mass": OZONE})},
        {"time": START + (3.6e12 * hours).astype("timedelta64[ns]"), **coords},
        {"title": "A synthetic run", "airshed_run": "complete"},
    )
    if descending:
        dataset = dataset.isel(y=slice(None, None, -1))
    dataset.to_netcdf(path, encoding={"time": {"units": "seconds since 2022-08-31", "dtype": "f8"}})
    return path


@pytest.mark.parametrize("descending", [False, True])
def test_a_known_bias_is_found_at_a_cell_and_between_cells(tmp_path: Path, descending: bool) -> None:
    run = write_projected(tmp_path / "run.nc", descending=descending)
    at = float(GRID.lon[3, 5]), float(GRID.lat[3, 5])
    rows = hourly("cell", *at, bias=3.0) + hourly("between", 7.25, 52.1, bias=-1.0)
    found = airshed.evaluate(run, write_observations(tmp_path / "o.csv", rows))
    stations = found.statistics[found.statistics.group == "station"].set_index("name")
    assert stations.MB["cell"] == pytest.approx(3.0, abs=1e-5)
    assert stations.MB["between"] == pytest.approx(-1.0, abs=5e-3)  # the field is linear in degrees, not in metres


def test_a_station_in_the_box_of_degrees_but_off_the_turned_grid_is_outside(tmp_path: Path) -> None:
    run = write_projected(tmp_path / "run.nc")
    west, _, south, _ = GRID.bounds
    corner = west + 0.05, south + 0.05
    assert not GRID.contains(*corner)
    rows = hourly("inside", 7.25, 52.1) + hourly("corner", *corner)
    found = airshed.evaluate(run, write_observations(tmp_path / "o.csv", rows))
    assert {row.reason for row in found.rejected} == {"outside the domain"}
    assert {each.name for each in found.scores if each.group == "station"} == {"inside"}


def test_runs_on_different_grids_are_compared_where_both_are(tmp_path: Path) -> None:
    runs = [write_projected(tmp_path / "lambert.nc"), write_run(tmp_path / "degrees.nc")]
    rows = hourly("both", 7.25, 52.1) + hourly("one", 10.4, 52.1)
    found = airshed.evaluate(runs, write_observations(tmp_path / "o.csv", rows))
    assert {each.name for each in found.scores if each.group == "station"} == {"both"}
    assert np.abs(found.pairs.modelled.values[0] / found.pairs.modelled.values[1] - 1.0).max() < 1e-3
    assert [each.grid.shape[1:] for each in found.maps] == [(16, 17), (4, 5)]


def test_a_file_without_its_projection_is_refused(tmp_path: Path) -> None:
    """The negative control: nothing else places the cells."""
    with pytest.raises(AirshedError, match=r"no axis lon; .* or on a CF grid mapping"):
        RunFields(write_projected(tmp_path / "run.nc", with_mapping=False))
