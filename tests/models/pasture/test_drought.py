"""Rank of a year among the years of a run."""

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.models.pasture.drought import percentile, with_drought


@pytest.mark.parametrize("every", [1, 10])
def test_the_driest_of_four_years_is_the_lowest_on_each_day(every: int) -> None:
    """Days of the year are compared: records every ten days are at different dates in each year."""
    times = np.arange("2019-01-01", "2023-01-01", every, dtype="datetime64[D]").astype("datetime64[s]")
    year = times.astype("datetime64[Y]").astype(int) - 49
    rank = np.array([2.0, 0.0, 3.0, 1.0])[year]
    day = (times - times.astype("datetime64[Y]")).astype(float) / 86400.0
    found = percentile(np.stack([100.0 * rank + day, day], axis=1), times)
    inner = (day > 10) & (day < 350)
    np.testing.assert_allclose(found[inner, 0], 12.5 + 25.0 * rank[inner])


def test_equal_years_have_rank_fifty() -> None:
    times = np.arange("2019-01-01", "2022-01-01", dtype="datetime64[D]")
    found = percentile(np.ones((times.size, 2)), times)
    assert np.isnan(found[:, 0]).sum() == 1, "the 366th day of the leap year: the last year ends before it"
    assert np.all(found[np.isfinite(found)] == 50.0)


def test_two_years_are_too_few() -> None:
    times = np.arange("2019-01-01", "2021-01-01", dtype="datetime64[D]")
    with pytest.raises(DataError, match="at least 3 years"):
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
