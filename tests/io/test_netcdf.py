"""Foreign netCDF files are opened without warnings of libraries."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.io.netcdf import load_netcdf


def test_odd_attributes_of_a_file_are_not_warned_of(tmp_path: Path) -> None:
    """xarray warns of times beyond its range, and of several fill values; without the filter this fails."""
    path = tmp_path / "odd.nc"
    moments = xr.Variable(
        "time", np.array([0.0, 1e9]), {"units": "hours since 1900-01-01", "missing_value": [1.0, 2.0]}
    )
    xr.Dataset({"T": ("time", np.ones(2))}, {"time": moments}).to_netcdf(path, format="NETCDF3_64BIT")
    with pytest.warns(xr.SerializationWarning), xr.open_dataset(path) as told:
        told.load()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_netcdf(path)["T"].values.tolist() == [1.0, 1.0]


def test_a_scale_of_time_that_is_no_number_is_refused_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "scaled.nc"
    attributes = {"units": "hours since 2022-08-31", "scale_factor": np.inf}
    time = xr.Variable("time", np.arange(2.0), attributes)
    xr.Dataset({"T": ("time", np.ones(2))}, {"time": time}).to_netcdf(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="variable time has scale_factor = 'inf', not a number"):
            load_netcdf(path)
