from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import DataError
from airshed.core.files import resource
from airshed.models.air.emissions.profiles import read_height_profiles, read_time_profiles

SHIPPED = resource("cases/west-europe/emissions")
SECTORS = ("A_PublicPower", "C_OtherStatComb", "F_RoadTransport", "K_AgriLivestock", "N_Natural")
ROAD = SECTORS.index("F_RoadTransport")


@pytest.fixture(scope="module")
def profiles():
    return read_time_profiles(SHIPPED, SECTORS)


def over_a_day(profiles, day):
    return np.mean([profiles.factors(day + timedelta(hours=hour)) for hour in range(24)], axis=0)


def test_the_hours_of_a_day_average_one(profiles):
    assert np.allclose(profiles.hour.mean(axis=1), 1.0, atol=1e-14)


@pytest.mark.parametrize("year", [2022, 2024])
def test_a_year_averages_one(profiles, year):
    start = datetime(year, 1, 1)
    days = (datetime(year + 1, 1, 1) - start).days
    mean = np.mean([over_a_day(profiles, start + timedelta(days=day)) for day in range(days)], axis=0)
    assert np.allclose(mean, 1.0, atol=1e-12)


@pytest.mark.standard
@pytest.mark.parametrize(("zone", "year"), [("Europe/Berlin", 2024), ("Australia/Adelaide", 2022)])
def test_a_year_averages_one_in_any_zone_with_its_summer_time(profiles, zone, year):
    """The mean is over the hours of a year in UTC and includes local days of 23 and 25 hours."""
    first = datetime(year, 1, 1, tzinfo=UTC)
    hours = (datetime(year + 1, 1, 1, tzinfo=UTC) - first) // timedelta(hours=1)
    local = (((first + timedelta(hours=hour)).astimezone(ZoneInfo(zone))) for hour in range(hours))
    assert np.allclose(np.mean([profiles.factors(each) for each in local], axis=0), 1.0, rtol=0.0, atol=1e-12)


def test_weekends_and_seasons(profiles):
    wednesday, sunday, january = (over_a_day(profiles, datetime(2022, *date)) for date in ((8, 31), (8, 28), (1, 26)))
    assert wednesday[ROAD] / sunday[ROAD] == pytest.approx(1.08 / 0.79)
    assert january[1] / wednesday[1] == pytest.approx(1.7 / 0.4)
    assert wednesday[4] == pytest.approx(1.0)


def test_new_year_and_christmas_day_are_sundays(profiles):
    wednesday, new_year, monday, christmas = (
        over_a_day(profiles, datetime(2020, *date))[ROAD] for date in ((1, 8), (1, 1), (12, 21), (12, 25))
    )
    assert wednesday / new_year == pytest.approx(1.08 / 0.79)
    assert monday / christmas == pytest.approx(1.02 / 0.79)


@pytest.mark.parametrize(("zone", "summer", "winter"), [("Europe/Berlin", 8, 7), ("Europe/London", 7, 6)])
def test_the_morning_peak_is_at_local_time_with_daylight_saving(profiles, zone, summer, winter):
    for instant, hour in (
        (datetime(2022, 8, 31, 6, tzinfo=UTC), summer),
        (datetime(2022, 12, 7, 6, tzinfo=UTC), winter),
    ):
        local = instant.astimezone(ZoneInfo(zone))
        assert local.hour == hour
        expected = profiles.hour[ROAD, hour]
        mean = over_a_day(profiles, datetime(local.year, local.month, local.day))[ROAD]
        assert profiles.factors(local)[ROAD] == pytest.approx(mean * expected, rel=1e-3)  # but for summer time
    assert profiles.hour[ROAD].argmax() == 17
    assert profiles.hour[ROAD, 8] > 1.8 > 1.0 > profiles.hour[ROAD, 6]


@given(st.lists(st.floats(5.0, 900.0), min_size=1, max_size=20))
def test_heights_are_mapped_without_loss(thicknesses):
    faces = np.cumsum([0.0, *thicknesses])
    shares = read_height_profiles(SHIPPED / "height_profiles.csv", SECTORS, faces)
    assert shares.shape == (5, len(thicknesses))
    assert np.allclose(shares.sum(axis=1), 1.0, atol=1e-13)
    assert shares.min() >= 0.0


def test_power_plants_emit_aloft_and_traffic_at_the_ground():
    faces = np.array([0.0, 20.0, 92.0, 254.0, 324.0, 8000.0])
    shares = read_height_profiles(SHIPPED / "height_profiles.csv", SECTORS, faces)
    assert shares[ROAD].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    # 324 m - 184 m = 140 m hold 0.51 of it, evenly
    assert np.allclose(shares[0], [0.0, 0.0, 0.0025 + 0.255, 0.255, 0.4875])


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("hour_profiles.csv", "A,Public_Power,0.79", "A,Public_Power,-0.79", "line 2: 1 is -0.79"),
        ("hour_profiles.csv", "F,Road", "Z,Road", "has no profile for F_RoadTransport"),
        ("month_profiles.csv", "Jan,Feb", "Jan,Fev", "lacks the column Feb"),
        ("weekday_profiles.csv", "K,Agricultural_Livestock,1,1,1,1,1,1,1", "K,x,0,0,0,0,0,0,0", "all values are 0"),
        ("weekday_profiles.csv", "B,Industry", "A,Industry", "A occurs twice"),
    ],
)
def test_faulty_time_profiles_are_refused(tmp_path, file, old, new, message):
    for name in ("month_profiles.csv", "weekday_profiles.csv", "hour_profiles.csv"):
        text = (SHIPPED / name).read_text()
        (tmp_path / name).write_text(text.replace(old, new) if name == file else text)
    with pytest.raises(DataError, match=message) as caught:
        read_time_profiles(tmp_path, SECTORS)
    assert file in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("A,Public_Power,0,", "A,Public_Power,0.5,", "shares of A_PublicPower sum to 1.5"),
        ("20m,92m", "92m,20m", "rising layer tops"),
    ],
)
def test_faulty_height_profiles_are_refused(tmp_path, old, new, message):
    path = tmp_path / "height_profiles.csv"
    path.write_text((SHIPPED / "height_profiles.csv").read_text().replace(old, new))
    with pytest.raises(DataError, match=message):
        read_height_profiles(path, SECTORS, np.array([0.0, 100.0]))
