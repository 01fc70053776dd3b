import numpy as np
import pytest

from airshed.models.air.light import cos_zenith, day_length, declination, equation_of_time, hour_angle


@pytest.mark.parametrize(
    ("when", "degrees"),
    [  # instants of the equinoxes and solstices of 2022 (almanac), at which the declination is known
        ("2022-03-20T15:33", 0.0),
        ("2022-06-21T09:14", 23.44),
        ("2022-09-23T01:04", 0.0),
        ("2022-12-21T21:48", -23.44),
        ("2024-06-20T20:51", 23.44),
        ("2024-03-20T03:06", 0.0),
    ],
)
def test_declination_at_equinoxes_and_solstices(when: str, degrees: float) -> None:
    assert np.degrees(declination(np.datetime64(when))) == pytest.approx(degrees, abs=0.02)


@pytest.mark.parametrize(
    ("when", "minutes"),
    [  # the extremes of the year and a zero, from the almanac
        ("2022-02-11T12:00", -14.2),
        ("2022-05-14T12:00", 3.7),
        ("2022-07-26T12:00", -6.5),
        ("2022-11-03T12:00", 16.4),
        ("2022-12-25T12:00", 0.0),
    ],
)
def test_equation_of_time(when: str, minutes: float) -> None:
    # 0.3 degrees are 1.2 minutes
    assert equation_of_time(np.datetime64(when)) / 60.0 == pytest.approx(minutes, abs=0.3)


def test_the_sun_is_overhead_on_the_tropic_at_solstice_noon() -> None:
    noon = np.datetime64("2022-06-21T12:00") - np.timedelta64(
        round(float(equation_of_time(np.datetime64("2022-06-21T12")))), "s"
    )
    assert hour_angle(noon, 0.0) == pytest.approx(0.0, abs=1e-3)
    assert cos_zenith(noon, 0.0, 23.437) == pytest.approx(1.0, abs=1e-6)


def test_the_sun_rises_in_the_east_first_and_the_hour_angle_stays_in_one_turn() -> None:
    when = np.datetime64("2022-08-31T06:00")
    lon = np.linspace(-180.0, 360.0, 200)
    angle = hour_angle(when, lon)
    assert angle.min() >= -np.pi
    assert angle.max() < np.pi
    assert cos_zenith(when, 10.0, 50.0) > cos_zenith(when, 0.0, 50.0)
    assert cos_zenith(when, 190.0, 50.0) == pytest.approx(cos_zenith(when, -170.0, 50.0), abs=1e-12)


def test_grids_broadcast() -> None:
    value = cos_zenith(np.datetime64("2022-08-31T12:00"), np.zeros(4), np.full(3, 50.0)[:, None])
    assert value.shape == (3, 4)
    # 90 - 50 + 8.55 degrees of elevation at noon
    assert np.degrees(np.arcsin(value[0, 0])) == pytest.approx(48.54, abs=0.05)


def test_day_length_at_equinox_solstice_and_beyond_the_polar_circle() -> None:
    assert day_length(np.datetime64("2022-03-20T15:33"), 50.0) / 3600.0 == pytest.approx(12.0, abs=0.01)
    # 16 h 22 min of almanac daylight at 50 N less the 10 minutes that refraction and the sun's radius give
    assert day_length(np.datetime64("2022-06-21T12:00"), 50.0) / 3600.0 == pytest.approx(16.16, abs=0.05)
    assert day_length(np.datetime64("2022-06-21T12:00"), 75.0) == 86400.0
    assert day_length(np.datetime64("2022-12-21T12:00"), 90.0) == 0.0


def test_the_length_of_the_day_is_the_time_with_the_sun_up() -> None:
    minutes = np.datetime64("2022-08-31T00:00") + np.arange(1440) * np.timedelta64(1, "m")
    up = np.array([float(cos_zenith(minute, 0.0, 50.0)) > 0.0 for minute in minutes]).sum()
    assert up * 60.0 == pytest.approx(float(day_length(minutes[720], 50.0)), abs=180.0)
