"""`airshed new`: cases from files of WRF and ERA5, with emission and without."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.models.air.weather.synthetic_wrf import write_wrfout
from typer.testing import CliRunner, Result

from airshed.cli.program import app
from airshed.core.errors import CaseError, DataError
from airshed.models.air.case import Case
from airshed.models.air.draft import draft_case, kind_of_file


def new(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["new", *map(str, arguments)])


def write_era5(
    path: Path, hours: tuple[int, ...] = (0, 1, 2, 3), names: tuple[str, ...] = ("u", "v", "t", "q")
) -> Path:
    """Write fields on pressure levels over 3 to 7 E, 48 to 51 N, every half degree; the surface pressure is in it."""
    times = np.datetime64("2022-06-01T00", "ns") + np.array(hours) * np.timedelta64(1, "h")
    level, lat, lon = np.array([1000.0, 850.0, 500.0, 300.0]), np.arange(51.0, 47.9, -0.5), np.arange(3.0, 7.1, 0.5)
    values = {"u": 5.0, "v": -2.0, "t": 280.0, "q": 5e-3}
    units = {"u": "m s-1", "v": "m s-1", "t": "K", "q": "kg kg-1"}
    shape, dims = (times.size, level.size, lat.size, lon.size), ("time", "level", "latitude", "longitude")
    fields = {name: (dims, np.full(shape, values[name], "f4"), {"units": units[name]}) for name in names}
    surface = np.full((times.size, lat.size, lon.size), 1.0e5, "f4")
    xr.Dataset(
        {**fields, "sp": (("time", "latitude", "longitude"), surface, {"units": "Pa"})},
        coords={
            "time": times, "level": ("level", level, {"units": "hPa"}),
            "latitude": ("latitude", lat, {"units": "degrees_north"}),
            "longitude": ("longitude", lon, {"units": "degrees_east"}),
        },
    ).to_netcdf(path)  # fmt: skip
    return path


def write_emission(path: Path) -> Path:
    """Write a constant flux of NO over 0 to 20 E, 40 to 60 N."""
    lat, lon = np.arange(40.5, 60.0), np.arange(0.5, 20.0)
    attributes = {"units": "kg m-2 s-1", "molar_mass": 0.030006}
    field = (("lat", "lon"), np.full((lat.size, lon.size), 1e-11), attributes)
    xr.Dataset({"NO": field}, coords={"lat": lat, "lon": lon}).to_netcdf(path)
    return path


def test_a_case_of_wrf_output_has_its_grid_and_runs_as_it_is_written(tmp_path: Path) -> None:
    file = write_wrfout(tmp_path / "wrfout_d01_2022-06-01", shape=(14, 16))
    result = new(tmp_path / "mine", "--from", file)
    assert result.exit_code == 0, result.output
    case = Case.load(tmp_path / "mine" / "case.toml")
    assert case.make_grid().shape[1:] == (12, 14)  # a margin of one cell in a small domain
    assert case.make_grid().layer_faces[-1] == 1210.0  # the levels of the file end at 1400 m
    assert case.start == np.datetime64("2022-06-01")
    assert case.time.length.value == 3 * 3600.0  # the last of three hourly states is valid for an hour
    assert "missing  emission" in result.output


def test_files_that_a_shell_has_expanded_are_of_the_same_case(tmp_path: Path) -> None:
    files = [write_wrfout(tmp_path / f"wrfout_{hour}", hours=(hour,), offsets=(0,)) for hour in (0.0, 1.0)]
    assert new(tmp_path / "mine", "--from", *files).exit_code == 0
    assert len(Case.load(tmp_path / "mine").meteorology.files) == 2


def test_weather_on_longitude_and_latitude_gives_whole_cells_inside(tmp_path: Path) -> None:
    fields, wind = write_era5(tmp_path / "tq.nc", names=("t", "q")), write_era5(tmp_path / "uv.nc", names=("u", "v"))
    with xr.open_dataset(wind) as both:
        both.drop_vars("sp").to_netcdf(tmp_path / "wind.nc")
    draft = draft_case(tmp_path / "mine", [fields, tmp_path / "wind.nc"])
    assert "lon = [3.25, 6.75], lat = [48.25, 50.75]" in draft.text
    assert 'spacing = "0.5 deg"' in draft.text


def test_an_area_and_a_spacing_are_trimmed_to_whole_cells(tmp_path: Path) -> None:
    draft = draft_case(tmp_path / "mine", [write_era5(tmp_path / "a.nc")], area=(4, 6.05, 49, 50), spacing="0.1 deg")
    assert "lon = [4.025, 6.025], lat = [49, 50]" in draft.text


def test_emission_is_recognised_and_gives_chemistry(tmp_path: Path) -> None:
    files = [write_era5(tmp_path / "a.nc"), write_emission(tmp_path / "no.nc")]
    assert [kind_of_file(each) for each in files] == ["files", "emissions"]
    assert new(tmp_path / "mine", "--from", *files).exit_code == 0
    case = Case.load(tmp_path / "mine")
    assert case.chemistry.mechanism == "emep"
    assert case.boundary.profiles == "clean-air"


def test_the_longest_period_without_a_gap_is_taken(tmp_path: Path) -> None:
    draft = draft_case(tmp_path / "mine", [write_era5(tmp_path / "a.nc", (0, 1, 6, 7, 8, 9))])
    assert "start = 2022-06-01T06:00:00Z" in draft.text
    assert any("gaps" in line for line in draft.lacking)


@pytest.mark.parametrize(
    ("area", "reason"), [((2, 6, 49, 50), "reaches beyond the weather"), ((4, 4.3, 49, 50), "less than two cells")]
)
def test_an_impossible_area_is_refused(tmp_path: Path, area: tuple[float, float, float, float], reason: str) -> None:
    with pytest.raises(CaseError, match=reason):
        draft_case(tmp_path / "mine", [write_era5(tmp_path / "a.nc")], area=area)


def test_files_without_weather_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    result = new(tmp_path / "mine", "--from", write_emission(tmp_path / "no.nc"))
    assert result.exit_code != 0
    assert "no file has weather (no.nc)" in result.output
    assert not (tmp_path / "mine").exists()


def test_weather_of_one_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two times or more"):
        draft_case(tmp_path / "mine", [write_era5(tmp_path / "a.nc", (0,))])


def test_a_case_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text("mine")
    assert "exists" in new(tmp_path, "--from", write_era5(tmp_path / "a.nc")).output
    assert (tmp_path / "case.toml").read_text() == "mine"


def test_input_that_is_refused_leaves_the_case_to_correct(tmp_path: Path) -> None:
    files = [write_era5(tmp_path / "a.nc", names=("u", "v"))]  # neither temperature nor humidity: diagnosed
    with xr.open_dataset(files[0]) as dataset:
        broken = dataset.load()
    broken["u"][0, 0, 2, 3] = np.nan
    broken.to_netcdf(tmp_path / "b.nc")
    result = new(tmp_path / "mine", "--from", tmp_path / "b.nc")
    assert "is written, but does not run yet" in result.output
    assert (tmp_path / "mine" / "case.toml").exists()


def test_concentrations_of_another_model_are_the_boundary(tmp_path: Path) -> None:
    hours = np.datetime64("2022-06-01T00", "ns") + np.arange(0, 7, 3) * np.timedelta64(1, "h")
    lat, lon, level = np.arange(60.0, 39.0, -2.0), np.arange(-4.0, 20.0, 2.0), np.array([1000.0, 700.0, 300.0])
    shape = (hours.size, level.size, lat.size, lon.size)
    ozone = (("time", "level", "latitude", "longitude"), np.full(shape, 8e-8), {"units": "kg kg**-1"})
    xr.Dataset(
        {"go3": ozone, "co": ozone},
        coords={
            "time": hours, "level": ("level", level, {"units": "hPa"}),
            "latitude": ("latitude", lat, {"units": "degrees_north"}),
            "longitude": ("longitude", lon, {"units": "degrees_east"}),
        },
    ).to_netcdf(tmp_path / "cams.nc")  # fmt: skip
    files = [write_era5(tmp_path / "a.nc"), write_emission(tmp_path / "no.nc"), tmp_path / "cams.nc"]
    assert kind_of_file(files[-1]) == "boundary"
    result = new(tmp_path / "mine", "--from", *files)
    assert result.exit_code == 0, result.output
    assert Case.load(tmp_path / "mine").boundary.files


def test_files_of_no_known_kind_are_named(tmp_path: Path) -> None:
    xr.Dataset({"height": (("lat", "lon"), np.ones((3, 4)), {"units": "m"})}).to_netcdf(tmp_path / "ground.nc")
    result = new(tmp_path / "mine", "--from", write_era5(tmp_path / "a.nc"), tmp_path / "ground.nc")
    assert result.exit_code == 0, result.output
    assert "not used  ground.nc: neither weather nor emission nor concentrations" in result.output
