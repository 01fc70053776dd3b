"""A year's place among the years of a run."""

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.pasture.drought import percentile, with_drought


def test_the_driest_of_four_years_is_the_lowest_on_each_day() -> None:
    times = np.arange("2019-01-01", "2023-01-01", dtype="datetime64[D]").astype("datetime64[s]")
    year = times.astype("datetime64[Y]").astype(int) - 49
    rank = np.array([2.0, 0.0, 3.0, 1.0])[year]
    season = np.sin(np.arange(times.size) / 58.0)
    found = percentile(np.stack([rank + 0.1 * season, np.ones(times.size)], axis=1), times)
    leap = np.char.endswith(np.datetime_as_string(times.astype("datetime64[D]")), "02-29")
    np.testing.assert_allclose(found[~leap, 0], 12.5 + 25.0 * rank[~leap])
    np.testing.assert_allclose(found[~leap, 1], 50.0)
    assert np.all(np.isnan(found[leap])), "a single year has that day"


def test_two_years_are_too_few() -> None:
    times = np.arange("2019-01-01", "2021-01-01", dtype="datetime64[D]")
    with pytest.raises(DataError, match="needs 3 of them"):
        percentile(np.ones((times.size, 2)), times)


def results(years: int) -> xr.Dataset:
    time = np.arange("2019-01-01", f"{2019 + years}-01-01", dtype="datetime64[D]").astype("datetime64[ns]")
    values = np.random.default_rng(1).uniform(size=(time.size, 2)).astype(np.float32)
    return xr.Dataset({"standing_dry_matter": (("time", "cell"), values)}, {"time": time})


def test_results_of_enough_years_have_the_field() -> None:
    assert set(with_drought(results(2))) == {"standing_dry_matter"}
    found = with_drought(results(3))["drought_percentile"]
    assert (found.attrs["units"], found.dims) == ("%", ("time", "cell"))
    np.testing.assert_allclose(np.unique(found.values[np.isfinite(found.values)]), [100 / 6, 50.0, 500 / 6], rtol=1e-6)
