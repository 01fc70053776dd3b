"""Sums that grow over the day or since a forecast's start are differenced; sums of an hour are not."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.models.air.weather import era5_times
from airshed.models.air.weather.era5 import Era5Meteorology
from airshed.models.air.weather.era5_times import growing_sums, hourly_amounts

from .test_era5_meteorology import SMALL, START, made_up

FLAT = ("time", "latitude", "longitude")
HOURS = np.arange(25.0)
RANDOM = np.random.default_rng(4)
SHOWERS = 1e-3 * RANDOM.random((25, 9, 11)) * (RANDOM.random((25, 9, 11)) < 0.5)
SUN = 2e6 * np.maximum(np.sin((HOURS - 6.0) * np.pi / 12.0), 0.0)


def field(hourly: np.ndarray) -> np.ndarray:
    """A field of the same hours everywhere, or as it is."""
    return np.broadcast_to(hourly[:, None, None], (25, 9, 11)) if hourly.ndim == 1 else hourly


def of_day(hourly: np.ndarray) -> np.ndarray:
    """ERA5-Land: 00 UTC holds the day before, 01 UTC the first hour of the day."""
    sums = np.cumsum(field(hourly)[1:], axis=0)
    return np.concatenate([sums[-1:], sums])


def of_forecast(hourly: np.ndarray) -> np.ndarray:
    return np.cumsum(field(hourly), axis=0)


def of_half_days(hourly: np.ndarray) -> np.ndarray:
    """Forecasts that start at 00 and 12 UTC."""
    values = field(hourly)
    return np.concatenate([values[:1] * 0.0, np.cumsum(values[1:13], axis=0), np.cumsum(values[13:], axis=0)])


def weather(**fields: np.ndarray) -> Era5Meteorology:
    return Era5Meteorology(made_up("model", **{name: (FLAT, values) for name, values in fields.items()}), SMALL, START)


@pytest.mark.parametrize("sums", [of_day, of_forecast, of_half_days])
@pytest.mark.parametrize("hourly", [SHOWERS, np.full(25, 1e-4)], ids=["showers", "even"])
def test_growing_rain_is_that_of_its_hours(sums: Callable[[np.ndarray], np.ndarray], hourly: np.ndarray) -> None:
    found, expected = weather(tp=sums(hourly)), weather(tp=field(hourly))
    for hour in range(1, 24):
        np.testing.assert_allclose(
            found.at(3600.0 * hour).precipitation, expected.at(3600.0 * hour).precipitation, rtol=1e-9, atol=1e-12
        )
    assert "growing sums since" in found.provenance["precipitation"]
    assert "sums of one hour" in expected.provenance["precipitation"]


@pytest.mark.parametrize("sums", [of_day, of_forecast])
def test_growing_radiation_evaporation_and_heat_are_those_of_their_hours(
    sums: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Evaporation and heat may rise and fall as they are summed: they go with the rain and the sun."""
    hourly = {"tp": SHOWERS, "ssrd": SUN, "e": -1e-4 * SUN / 1e6 + 1e-5, "sshf": -0.3 * SUN + 1e5}
    given = made_up("model", **{name: (FLAT, sums(values)) for name, values in hourly.items()})
    assert set(growing_sums(given, 0)) == {"tp", "ssrd", "e", "sshf"}
    found, expected = (
        weather(**{n: sums(v) for n, v in hourly.items()}),
        weather(**{n: field(v) for n, v in hourly.items()}),
    )
    for hour in (3, 9, 12, 18):
        for name in ("precipitation", "obukhov_length", "friction_velocity"):
            one, other = (getattr(each.at(3600.0 * hour), name) for each in (found, expected))
            np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize(
    "hourly",
    [
        {"tp": np.where(HOURS == 6.0, 3.6e-3, 0.0)},
        {"tp": np.full(25, 1e-4)},
        {"tp": np.zeros(25)},
        {"tp": SHOWERS},
        {"tp": 1e-4 * np.maximum(8.0 - abs(HOURS - 8.0), 0.0)},
        {"tp": np.where(HOURS < 5.0, 0.0, np.where(HOURS < 8.0, 1e-3 * (HOURS - 4.0) ** 2, 0.0))},
        {"ssrd": SUN},
        {"ssrd": np.where(HOURS < 12.0, SUN, SUN.max())},
        {"e": -1e-4 * SUN / 1e6, "sshf": -0.3 * SUN},
    ],
    ids=[
        "a shower",
        "even",
        "dry",
        "showers",
        "a front",
        "rain that begins",
        "a day of sun",
        "a morning of sun",
        "evaporation",
    ],
)
def test_sums_of_one_hour_are_taken_as_such(hourly: dict[str, np.ndarray]) -> None:
    assert growing_sums(made_up("model", **{name: (FLAT, field(v)) for name, v in hourly.items()}), 0) == {}


def test_sums_of_three_hours_are_divided_by_three() -> None:
    data = made_up("model", tp=(FLAT, of_forecast(np.full(25, 1e-4)))).isel(time=slice(None, None, 3))
    found = Era5Meteorology(data, SMALL, START).at(6 * 3600.0).precipitation
    np.testing.assert_allclose(found, 0.1 / 3600.0)


def test_a_case_that_starts_within_the_day_takes_the_difference_to_the_hour_before() -> None:
    late = Era5Meteorology(
        made_up("model", tp=(FLAT, of_day(np.arange(25.0) * 1e-5))), SMALL, START + np.timedelta64(9, "h")
    )
    np.testing.assert_allclose(late.at(0.0).precipitation, 1e-2 * 9.5 / 3600.0)


def test_one_instant_of_growing_sums_is_refused() -> None:
    data = made_up("model", tp=(FLAT, field(np.full(25, 1e-4)))).isel(time=[0])
    data["tp"].attrs["steps"] = "of a forecast"
    assert growing_sums(data, 0) == {}
    with pytest.raises(DataError, match="give at least two instants"):
        hourly_amounts(lambda places: np.ones((1, 2, 2)), 0, data["time"].values, frozenset())


def test_unreadable_instants_are_passed_over_until_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(field: xr.Variable) -> Callable[[list[int]], np.ndarray]:
        def read(places: list[int]) -> np.ndarray:
            if 7 in places:
                raise DataError("instant 7 is damaged")
            return np.asarray(field.isel(time=places).values)

        return read

    monkeypatch.setattr(era5_times, "time_reader", broken)
    data = made_up("model", tp=(FLAT, of_forecast(SHOWERS)))
    assert growing_sums(data, 0) == {"tp": frozenset()}


def test_sums_of_which_no_instant_can_be_read_are_refused_when_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(field: xr.Variable) -> Callable[[list[int]], np.ndarray]:
        def read(places: list[int]) -> np.ndarray:
            raise DataError("no instant is sound")

        return read

    monkeypatch.setattr(era5_times, "time_reader", broken)
    assert growing_sums(made_up("model", tp=(FLAT, of_forecast(SHOWERS))), 0) == {}
