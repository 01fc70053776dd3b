"""Validity periods of the fields of a file: time bounds, months, monthly climatologies, and the spin-up."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr
from tests.models.air.emissions.gridded_files import gridded

from airshed.core.errors import CaseError, DataError
from airshed.grid import Grid

GRID = Grid.regular((0.0, 4.0), (50.0, 52.0), 1.0, [20.0])
MONTHS = np.arange("2022-01", "2023-02", dtype="datetime64[M]").astype("datetime64[ns]")
DAY = np.timedelta64(1, "D")
BOUNDS = np.stack([MONTHS[:-1], MONTHS[1:]], axis=1)


def fields(times: np.ndarray, bounds: np.ndarray | None = None, name: str = "time_bnds") -> xr.Dataset:
    """Fields of which each emits its number, from 1, in all."""
    data = np.broadcast_to((1.0 + np.arange(len(times)))[:, None, None] / 8.0, (len(times), 2, 4))
    coords = {"time": times.astype("datetime64[ns]"), "lat": [50.5, 51.5], "lon": [0.5, 1.5, 2.5, 3.5]}
    found = xr.Dataset({"CO": (("time", "lat", "lon"), data, {"units": "mol s-1"})}, coords)
    if bounds is not None:
        found[name] = (("time", "two"), bounds)
        found["time"].attrs["bounds"] = name
    return found


def emitted(data: xr.Dataset, at: str, seconds: float = 0.0, **options: object) -> float:
    return float(gridded(data, GRID, np.datetime64(at), **options).rate(seconds).sum())


@pytest.mark.parametrize(
    "data",
    [
        fields(MONTHS[:-1]),
        fields(MONTHS[:-1] + 14 * DAY),
        fields(MONTHS[:-1] + 14 * DAY, BOUNDS),
        fields(MONTHS[:-1] + 14 * DAY, BOUNDS, "edges"),
        fields(MONTHS[1:], BOUNDS),
        fields(BOUNDS[:, 0] + (BOUNDS[:, 1] - BOUNDS[:, 0]) // 2),
        fields(MONTHS[1:] - DAY),
    ],
    ids=["first", "middle", "bounds", "bounds of another name", "bounds and ends", "exact middles", "last days"],
)
def test_twelve_months_hold_from_their_first_to_their_last_instant(data: xr.Dataset) -> None:
    for month, moment in enumerate(MONTHS[:-1], start=1):
        last = MONTHS[month] - np.timedelta64(1, "s")
        assert (emitted(data, str(moment)), emitted(data, str(last))) == pytest.approx((month, month))
    with pytest.raises(DataError, match="covers 2022-01-01T00:00:00 to 2023-01-01T00:00:00 UTC"):
        emitted(data, "2023-01-01T00:00")


def test_bounds_count_wherever_the_stamps_are() -> None:
    hours = np.datetime64("2022-08-31T00", "ns") + np.arange(4) * np.timedelta64(1, "h")
    ends = fields(hours[1:], np.stack([hours[:-1], hours[1:]], axis=1))
    assert [emitted(ends, "2022-08-31", 3600.0 * hour) for hour in range(3)] == pytest.approx([1.0, 2.0, 3.0])
    gap = fields(hours[[0, 2]], np.stack([hours[[0, 2]], hours[[1, 3]]], axis=1))
    assert gridded(gap, GRID, hours[0]).changes == (0.0, 3600.0, 7200.0, 10800.0)
    with pytest.raises(DataError, match="emission is needed at 2022-08-31T01:30:00"):
        emitted(gap, "2022-08-31", 5400.0)


@pytest.mark.parametrize(
    ("stamps", "step"),
    [(np.arange("2022-08-29", "2022-09-03", dtype="M8[D]") + np.timedelta64(12, "h"), 24.0),
     (np.arange("2022-08-31T00", "2022-08-31T05", dtype="M8[h]") + np.timedelta64(30, "m"), 1.0)],
)  # fmt: skip
def test_stamps_in_the_middle_of_days_and_hours_hold_for_the_whole(stamps: np.ndarray, step: float) -> None:
    first = stamps[0] - np.timedelta64(round(1800 * step), "s")
    assert emitted(fields(stamps), str(first)) == 1.0
    assert emitted(fields(stamps), str(first), step * 3600.0 - 1.0) == 1.0
    assert emitted(fields(stamps), str(first), step * 3600.0) == 2.0


def test_years_hold_from_their_first_to_their_last_day() -> None:
    for stamps in (np.array(["2019-01-01", "2020-01-01"], "M8[D]"), np.array(["2019-07-02", "2020-07-01"], "M8[D]")):
        assert emitted(fields(stamps), "2019-01-01") == emitted(fields(stamps), "2019-12-31T23:59") == 1.0
        assert emitted(fields(stamps), "2020-12-31T23:00") == 2.0


def test_months_of_another_year_are_refused_with_the_setting_that_takes_them() -> None:
    data = fields(MONTHS[:-1] + 14 * DAY)
    with pytest.raises(DataError, match=r"needed at 2024-02-29T12:00:00; repeat = .year. uses its twelve"):
        emitted(data, "2024-02-29T12:00")
    assert emitted(data, "2024-02-29T12:00", repeat="year") == 2.0
    source = gridded(data, GRID, np.datetime64("2031-12-31T23:00"), repeat="year")
    assert (source.rate(0.0).sum(), source.rate(3600.0).sum()) == pytest.approx((12.0, 1.0))
    assert 3600.0 in source.changes
    from_july = fields(np.arange("2021-07", "2022-07", dtype="M8[M]"))
    assert emitted(from_july, "1999-07-04", repeat="year") == pytest.approx(1.0)
    assert emitted(fields(MONTHS[:5]), "2030-02-01", repeat="year") == 2.0
    with pytest.raises(DataError, match="emission is needed at 2030-07-01"):
        emitted(fields(MONTHS[:5]), "2030-07-01", repeat="year")
    assert emitted(fields(MONTHS[:1]), "2024-02-29", repeat="year") == 1.0  # one field holds always
    (note,) = gridded(fields(MONTHS[:1]), GRID, np.datetime64("2024-02-29")).notes()
    assert note.endswith("its fields are for all times: there is one, 2022-01-01")


def test_one_of_several_years_is_chosen() -> None:
    years = fields(np.arange("2019-01", "2021-01", dtype="M8[M]"))
    with pytest.raises(CaseError, match=r"fields of 2019 to 2020; repeat = .year. needs one of them: year = 2020"):
        emitted(years, "2022-02-01", repeat="year")
    with pytest.raises(CaseError, match="has no fields of 2018; it has those of 2019, 2020"):
        emitted(years, "2022-02-01", year=2018)
    with pytest.raises(DataError, match="; year = 2020 uses the fields of that year"):
        emitted(years, "2022-02-01")
    assert (emitted(years, "2022-02-01", year=2019), emitted(years, "2019-02-01", year=2020)) == (2.0, 14.0)


def test_hours_of_a_year_and_of_a_day_are_repeated() -> None:
    hours = fields(np.arange("2021-02-27", "2021-03-03", dtype="M8[h]"))
    assert (
        emitted(hours, "2024-02-29T05:00", repeat="year") == emitted(hours, "2024-02-28T05:00", repeat="year") == 30.0
    )
    assert emitted(hours, "2024-03-01T00:00", repeat="year") == 49.0
    assert emitted(hours, "2024-02-28T23:00", repeat="year", year=2021) == 48.0
    leap = fields(np.arange("2024-02-28", "2024-03-02", dtype="M8[D]"))
    assert [emitted(leap, f"2022-{day}", repeat="year") for day in ("02-28", "03-01")] == [1.0, 3.0]
    day = fields(np.arange("2011-08-02", "2011-08-03", dtype="M8[h]"))
    source = gridded(day, GRID, np.datetime64("2022-08-31T12:00"), repeat="day")
    assert [source.rate(3600.0 * hour).sum() for hour in (-1, 0, 11, 12, 36)] == [12.0, 13.0, 24.0, 1.0, 1.0]
    with pytest.raises(DataError, match=r"repeat = .day. uses its day for every day"):
        emitted(day, "2022-08-31")
    with pytest.raises(CaseError, match="fields of more than a day"):
        emitted(hours, "2022-08-31", repeat="day")


def test_the_spin_up_repeats_the_first_day() -> None:
    hours = np.arange("2022-08-31T00", "2022-09-01T00", dtype="M8[h]")
    source = gridded(fields(hours), GRID, np.datetime64("2022-08-31"))
    for late, hour in ((-1.0, 24), (-3600.0, 24), (-6 * 3600.0, 19), (-24 * 3600.0, 1), (-49 * 3600.0, 24)):
        assert source.rate(late).sum() == pytest.approx(hour)
    quarters = hours[0] + np.arange(97) * np.timedelta64(15, "m")
    assert -900.0 in gridded(fields(quarters), GRID, np.datetime64("2022-08-31")).changes
    short = gridded(fields(hours[:3]), GRID, np.datetime64("2022-08-31"))
    with pytest.raises(DataError, match=r"needed at 2022-08-31T23:00:00 .the spin-up repeats the first day"):
        short.rate(-3600.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.isel(time=slice(0)), "has no times: its axis time is empty"),
        (lambda data: data.assign(time_bnds=data.time_bnds + np.array([0, 20]) * DAY), "bounds of its times overlap"),
        (lambda data: data.assign(time_bnds=data.time_bnds.isel(two=[1, 0])), "bounds of its times overlap"),
        (lambda data: data.assign(time_bnds=data.time_bnds.isel(two=0)), "time_bnds, the bounds of its times"),
        (lambda data: data.isel(time=slice(None, None, -1)), "must be dates in rising order"),
    ],
)
def test_faulty_times_are_refused(change: Callable[[xr.Dataset], xr.Dataset], message: str) -> None:
    with pytest.raises(DataError, match=message):
        emitted(change(fields(MONTHS[:-1], BOUNDS)), "2022-01-01")


def test_how_times_are_taken_is_noted_and_files_keep_their_bounds(tmp_path) -> None:
    data = fields(MONTHS[:-1] + 14 * DAY, BOUNDS)
    data["time"].encoding["units"] = data["time_bnds"].encoding["units"] = "hours since 2022-01-01"
    data.to_netcdf(tmp_path / "months.nc")
    source = gridded(tmp_path / "months.nc", GRID, np.datetime64("2022-01-03"))
    assert source.rate(0.0).sum() == pytest.approx(1.0)
    assert source.notes() == [f"{tmp_path / 'months.nc'}: its fields are for the bounds of its times"]


def test_a_missing_time_is_noticed() -> None:
    hours = np.datetime64("2022-08-31T00:00") + np.arange(8) * np.timedelta64(1, "h")

    def notices(times: np.ndarray) -> list[str]:
        found = gridded(fields(times), GRID, np.datetime64("2022-08-31T00:00"))
        return [each for each in found.notices() if "missing" in each]

    (line,) = notices(np.delete(hours, [3, 4]))
    assert "its field of 2022-08-31T02:00 is valid for 3 h, most fields for 1 h: are times missing?" in line
    assert notices(hours) == notices(MONTHS[:-1]) == notices(hours[[0, 1, 5]]) == []
