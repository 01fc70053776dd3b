"""MDA8, AOT40, daily means and maxima: values by hand, and those of pandas."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.evaluate.aggregates import aot40, daily_maximum, daily_mean, hourly_means, mda8, running_mean

NIGHT = np.datetime64("2022-06-01T00:00", "ns")
HOUR = np.timedelta64(1, "h")


def series(values, start=NIGHT, unit="ppb", **more):
    """Hourly means from a time on, each at its end."""
    ends = start + (1 + np.arange(len(values))) * HOUR
    return xr.DataArray(np.asarray(values, float), {"time": ends, **more}, ("time",), "O3", {"units": unit})


def days_of(found):
    return found["day"].values.astype("datetime64[D]").astype(str).tolist()


def test_a_window_belongs_to_the_day_in_which_it_ends_by_the_european_rule():
    """Two days of 10, with 90 from 20:00 to 04:00: the whole window ends at 04:00 of the second day."""
    values = np.full(48, 10.0)
    values[20:28] = 90.0
    found = mda8(series(values))
    assert days_of(found) == ["2022-06-01", "2022-06-02"]
    assert found.values.tolist() == [50.0, 90.0]  # the last window of the first day, 16:00 to 24:00, has four of them
    assert found.attrs["units"] == "ppb"


def test_a_window_belongs_to_the_day_in_which_it_starts_by_the_american_rule():
    """Windows that start from 7:00 count; windows of the night before 7:00 belong to no day."""
    values = np.full(72, 10.0)
    values[20:28] = 90.0
    assert mda8(series(values), rule="US").values[:2].tolist() == [90.0, 10.0]
    early = np.full(72, 10.0)
    early[24:32] = 90.0  # from 0:00 to 8:00 of the second day
    assert mda8(series(early), rule="US").values[:2].tolist() == [80.0, 20.0]  # from 23:00, and from 7:00
    assert mda8(series(early)).values[:2].tolist() == [10.0, 90.0]


def test_days_are_those_of_standard_time():
    values = np.full(72, 10.0)
    values[16:24] = 90.0  # 16:00 to 24:00 UTC
    assert mda8(series(values)).values.tolist() == [90.0, 80.0, 10.0]
    found = mda8(series(values), utc_offset=1.0)
    assert days_of(found)[:2] == ["2022-06-01", "2022-06-02"]
    assert found.values[:2].tolist() == [80.0, 90.0]
    assert mda8(series(values), utc_offset=-6.0).sel(day="2022-06-01").item() == 90.0


def test_a_window_needs_six_of_eight_hours_and_a_day_18_of_24_windows():
    values = np.full(24, 10.0)
    assert mda8(series(values)).values.tolist() == [10.0]  # the first window with six hours ends at 6:00
    assert np.isnan(mda8(series(values[1:], NIGHT + HOUR))).sum() == 0
    assert np.isnan(mda8(series(values[2:], NIGHT + 2 * HOUR))).all()  # 17 windows
    values[[3, 5, 7]] = np.nan
    found = running_mean(series(values)).sel(time=slice(NIGHT + 8 * HOUR, NIGHT + 12 * HOUR))
    assert np.isnan(found.values).tolist() == [True, True, True, True, False]
    assert np.isnan(mda8(series(values), rule="US")).all()  # 12 of 17 windows have six hours within one day
    assert mda8(series(np.full(25, 10.0)), rule="US").values[0] == 10.0


def test_daily_means_and_maxima_by_hand():
    values = np.arange(48.0)
    assert daily_mean(series(values)).values.tolist() == [11.5, 35.5]
    assert daily_maximum(series(values)).values.tolist() == [23.0, 47.0]
    assert daily_maximum(series(values), utc_offset=1.0).values[0] == 22.0
    values[18:] = np.nan
    assert daily_mean(series(values)).values[0] == 8.5
    values[17] = np.nan
    assert np.isnan(daily_mean(series(values)).values[0])
    assert np.isnan(daily_maximum(series(values)).values[0])


def test_aot40_by_hand():
    """The hours from 8:00 to 20:00 CET end from 8:00 to 19:00 UTC."""
    values = np.full(48, 39.0)
    values[7] = 50.0  # the hour from 7:00 to 8:00 UTC, the first that counts
    values[18] = 45.0  # 18:00 to 19:00 UTC, the last
    values[[6, 19]] = 1000.0
    ozone = series(values).assign_attrs(standard_name="mole_fraction_of_ozone_in_air")
    found = aot40(ozone)
    assert found.item() == 15.0
    assert found.attrs == {"units": "ppb h", "long_name": "AOT40 of O3"}
    assert aot40(series(1e-9 * values, unit="mol mol-1")).item() == pytest.approx(15.0)
    assert aot40(series(values, unit="ug m-3")).item() == 0.0
    assert aot40(series(2.0 * values, unit="ug m-3")).item() == 30.0
    assert aot40(series(values), utc_offset=0.0).item() == 5.0 + 960.0
    with pytest.raises(DataError, match="units"):
        aot40(series(values, unit="kg m-3"))


def test_aot40_is_scaled_for_missing_hours_of_which_a_tenth_may_lack():
    values = np.full(48, 50.0)
    assert aot40(series(values)).item() == 240.0
    values[[10, 11]] = np.nan
    assert aot40(series(values)).item() == pytest.approx(240.0)  # 22 of 24 hours
    values[12] = np.nan
    assert np.isnan(aot40(series(values)).item())
    assert aot40(series(values), least=0.75).item() == pytest.approx(240.0)


def test_all_agree_with_pandas():
    random = np.random.default_rng(3)
    values = random.gamma(2.0, 20.0, 24 * 20)
    values[random.random(values.size) < 0.15] = np.nan
    found = series(values)
    ends = pd.Series(values, found["time"].values)
    rolled = ends.rolling(8, min_periods=6).mean()
    np.testing.assert_allclose(running_mean(found).sel(time=ends.index).values, rolled, rtol=1e-12)
    starts = ends.set_axis(ends.index - pd.Timedelta("1h"))
    by_end = rolled.set_axis(starts.index).groupby(starts.index.date)
    european = by_end.max().where(by_end.count() >= 18)
    np.testing.assert_allclose(mda8(found).values, european, rtol=1e-12)
    long = ends.reindex(pd.date_range(ends.index[0], periods=ends.size + 7, freq="h")).rolling(8, min_periods=6).mean()
    begun = long.set_axis(long.index - pd.Timedelta("8h"))
    begun = begun[(begun.index.hour >= 7) & (begun.index >= found["time"].values[0] - HOUR)]
    by_start = begun.groupby(begun.index.date)
    american = by_start.max().where(by_start.count() >= 13)
    np.testing.assert_allclose(mda8(found, rule="US").values, american[: found.size // 24], rtol=1e-12)
    by_day = starts.groupby(starts.index.date)
    enough = by_day.count() >= 18
    np.testing.assert_allclose(daily_mean(found).values, by_day.mean().where(enough), rtol=1e-12)
    np.testing.assert_allclose(daily_maximum(found).values, by_day.max().where(enough), rtol=1e-12)
    assert 0 < enough.sum() < enough.size


def test_other_dimensions_stay_and_gaps_and_order_do_not_matter():
    random = np.random.default_rng(1)
    values = xr.DataArray(
        random.random((3, 72)), {"time": NIGHT + (1 + np.arange(72)) * HOUR, "name": ("station", ["a", "b", "c"])},
        ("station", "time"), "O3", {"units": "ppb"},
    )  # fmt: skip
    found = mda8(values)
    assert found.dims == ("day", "station")
    assert found["name"].values.tolist() == ["a", "b", "c"]
    for number in range(3):
        np.testing.assert_array_equal(found[:, number], mda8(values[number].drop_vars("name")))
    gaps = values.where(np.arange(72) % 9 != 4)
    shuffled = gaps.isel(time=[n for n in random.permutation(72) if n % 9 != 4])
    for aggregate in (mda8, daily_mean, daily_maximum, aot40):
        np.testing.assert_array_equal(aggregate(shuffled).values, aggregate(gaps).values)
    starts = values.assign_coords(time=values["time"] - HOUR)
    np.testing.assert_array_equal(mda8(starts, label="start").values, found.values)
    assert not np.array_equal(daily_mean(starts).values, daily_mean(values).values)


@pytest.mark.parametrize("times", [[0, 1, 1], [0, 0.5, 2]])
def test_what_is_not_hourly_is_refused(times):
    at = NIGHT + (np.array(times) * 3600).astype(int) * np.timedelta64(1, "s")
    with pytest.raises(DataError, match="does not hold hourly means"):
        daily_mean(xr.DataArray(np.ones(3), {"time": at}, ("time",), "O3"))


def test_hourly_means_of_a_run_are_taken_by_their_bounds():
    ends = NIGHT + (1 + np.arange(24)) * HOUR
    bounds = np.stack([ends - HOUR, ends], axis=1)
    means = ("time", np.arange(24.0), {"units": "ppb", "cell_methods": "time: mean"})
    run = xr.Dataset(
        {
            "O3": means,
            "NO": ("time", np.ones(24), {"cell_methods": "time: point"}),
            "time_bnds": (("time", "bnds"), bounds),
        },
        {"time": ends - HOUR / 2},
    )
    found = hourly_means(run, "O3")
    assert found["time"].values.tolist() == ends.tolist()
    assert daily_mean(found).values.tolist() == [11.5]
    for name, told in (("NO", "holds no means"), ("O4", "there is no field 'O4'; known are NO, O3")):
        with pytest.raises(DataError, match=told):
            hourly_means(run, name)
    longer = run.assign(time_bnds=(("time", "bnds"), np.stack([ends - 3 * HOUR, ends], axis=1)))
    with pytest.raises(DataError, match="means over 3 h"):
        hourly_means(longer, "O3")
