"""Layouts of other programs: numbered variables of CDO, steps of forecasts, files of one instant, static fields."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.io.era5 import read_era5

LAT, LON = [50.0, 49.0, 48.0], [0.0, 1.0, 2.0, 3.0]
PRESSURES = [100000.0, 85000.0, 50000.0]
TIMES = np.arange("2022-08-31T00", "2022-08-31T03", dtype="M8[h]").astype("M8[ns]")
XY = {"lat": LAT, "lon": LON}


def fields(levels: str, size: int, **values: float) -> dict[str, object]:
    dims = ("time", levels, "lat", "lon")
    return {name: (dims, np.full((3, size, 3, 4), value), {"units": "m s-1"}) for name, value in values.items()}


def read(folder: Path, data: xr.Dataset) -> xr.Dataset:
    data.to_netcdf(folder / "data.nc")
    return read_era5([folder / "data.nc"])


def test_of_numbered_variables_those_on_most_pressure_levels_count(tmp_path: Path) -> None:
    """CDO numbers the variables of a GRIB file that are on different kinds of levels."""
    surface = {"sp": (("time", "lat", "lon"), np.full((3, 3, 4), 1e5), {"units": "Pa"})}
    coords = {
        "time": TIMES, "lev": [0.0], "lev_2": [0.0, 2.0], "plev_2": ("plev_2", PRESSURES, {"units": "Pa"}),
        "height_3": [80.0], "lev_3": [3000.0], **XY,
    }  # fmt: skip
    data = xr.Dataset(
        {
            **fields("lev", 1, u=1.0, v=1.0), **fields("plev_2", 3, u_2=2.0, v_2=3.0),
            **fields("lev_2", 2, u_3=4.0, v_3=4.0),
            **fields("height_3", 1, u_4=5.0, v_4=5.0, q=0.01), **fields("lev_3", 1, q_2=0.01), **surface,
        }, coords,
    )  # fmt: skip
    data["q"].attrs["units"] = data["q_2"].attrs["units"] = "kg kg-1"
    found = read(tmp_path, data)
    assert (float(found.u.mean()), float(found.v.mean())) == (2.0, 3.0)
    assert found.level.values.tolist() == PRESSURES
    assert set(found) == {"u", "v", "sp"}
    assert {"u", "v", "u_3", "q", "q_2"} <= set(found.attrs["unused"])


def test_two_names_of_one_field_are_still_refused(tmp_path: Path) -> None:
    data = xr.Dataset(fields("plev", 3, u=1.0, v=1.0, u_component_of_wind=1.0), {
        "time": TIMES, "plev": ("plev", PRESSURES, {"units": "Pa"}), **XY})  # fmt: skip
    with pytest.raises(DataError, match="u and u_component_of_wind are the same field"):
        read(tmp_path, data)


def forecast(**coords: object) -> xr.Dataset:
    dims = ("step", "plev", "lat", "lon")
    ramp = np.broadcast_to(np.arange(1.0, 4.0)[:, None, None, None], (3, 3, 3, 4))
    winds = {name: (dims, ramp, {"units": "m s-1"}) for name in ("u", "v")}
    return xr.Dataset(winds, {"plev": ("plev", PRESSURES, {"units": "Pa"}), **XY, **coords})


@pytest.mark.parametrize(
    "coords",
    [
        {"step": TIMES - TIMES[0], "time": TIMES[0], "valid_time": ("step", TIMES)},
        {"step": TIMES - TIMES[0], "time": TIMES[0]},
        {"step": ("step", [0, 1, 2]), "time": TIMES[0]},
        {"step": ("step", [0, 60, 120], {"units": "min"}), "time": TIMES[0], "valid_time": TIMES[0]},
        {"valid_time": ("step", TIMES)},
    ],
    ids=["valid times", "durations", "hours", "minutes, and a scalar valid_time", "no steps"],
)
def test_the_steps_of_a_forecast_are_times(tmp_path: Path, coords: dict[str, object]) -> None:
    found = read(tmp_path, forecast(**coords))
    assert found.time.values.tolist() == TIMES.tolist()
    assert found.u.mean(("level", "latitude", "longitude")).values.tolist() == [1.0, 2.0, 3.0]
    assert found.u.attrs["steps"] == "of a forecast"


def test_steps_without_moments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has the dimension step, but no valid_time along it"):
        read(tmp_path, forecast(step=("step", [0, 1, 2]), valid_time=TIMES[0]))
    several = forecast(step=TIMES - TIMES[0]).expand_dims(time=TIMES)
    with pytest.raises(DataError, match="time and step: select one start of the forecast"):
        read(tmp_path, several)


def test_files_of_one_instant_each_without_a_dimension_for_it(tmp_path: Path) -> None:
    """Formerly only the first one was read, without a message."""
    paths = []
    for index, time in enumerate(TIMES):
        one = (
            forecast(step=TIMES - TIMES[0])
            .isel(step=index, drop=True)
            .assign_coords(valid_time=time, step=TIMES[1] - TIMES[0])
        )
        paths.append(tmp_path / f"{index}.nc")
        one.to_netcdf(paths[-1])
    found = read_era5(paths[::-1])
    assert found.time.values.tolist() == TIMES.tolist()
    assert found.u.mean(("level", "latitude", "longitude")).values.tolist() == [1.0, 2.0, 3.0]


def test_static_fields_may_have_one_time_of_any_date(tmp_path: Path) -> None:
    old = np.array(["1979-01-01"], "M8[ns]")
    forecast(step=TIMES - TIMES[0], time=TIMES[0]).to_netcdf(tmp_path / "winds.nc")
    flat = ("time", "lat", "lon")
    static = {"z": (flat, np.full((1, 3, 4), 9.8), {"units": "m2 s-2"}), "lsm": (flat, np.ones((1, 3, 4)))}
    xr.Dataset(static, {"time": old, **XY}).to_netcdf(tmp_path / "static.nc")
    found = read_era5([tmp_path / "winds.nc", tmp_path / "static.nc"])
    assert found.zs.dims == found.lsm.dims == ("latitude", "longitude")
    rain = xr.Dataset({"total_precipitation": (flat, np.zeros((1, 3, 4)), {"units": "m"})}, {"time": old, **XY})
    rain.to_netcdf(tmp_path / "rain.nc")
    with pytest.raises(DataError, match="total_precipitation has no data for time 2022-08-31T00:00"):
        read_era5([tmp_path / "winds.nc", tmp_path / "rain.nc"])
