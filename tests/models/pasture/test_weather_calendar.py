"""Weeks of days: 53 in each year, the last one with one or two days."""

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.models.pasture.weather.calendar import Calendar


def test_a_year_has_53_weeks_and_the_last_one_a_day_or_two():
    for year, last in ((2019, 1), (2020, 2)):
        calendar = Calendar.between(f"{year}-01-01", f"{year}-12-31")
        weeks = calendar.week(np.arange(calendar.days))
        assert calendar.weeks == 53
        assert np.bincount(weeks).tolist() == [7] * 52 + [last]


def test_weeks_are_those_of_the_year_for_any_first_day():
    calendar = Calendar.between("2019-12-20", "2020-01-20")
    weeks = dict(zip(calendar.dates(np.arange(32)).astype(str), calendar.week(np.arange(32)), strict=True))
    assert [weeks[day] for day in ("2019-12-20", "2019-12-23", "2019-12-24", "2019-12-30")] == [0, 0, 1, 1]
    assert [weeks[day] for day in ("2019-12-31", "2020-01-01", "2020-01-07", "2020-01-08")] == [2, 3, 3, 4]
    assert calendar.weeks == 6


def test_numbers_of_dates():
    calendar = Calendar.between("2020-02-28", "2021-03-01")
    assert calendar.number("2020-03-01") == 2
    assert calendar.day_of_year([0, 1, 2, 308]).tolist() == [59, 60, 61, 1]
    assert calendar.month([0, 1, 2, 308]).tolist() == [2, 2, 3, 1]
    assert str(calendar.last) == "2021-03-01"
    with pytest.raises(CaseError, match="but not for 2021-03-02"):
        calendar.number("2021-03-02")
