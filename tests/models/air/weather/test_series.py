from collections.abc import Mapping

import numpy as np
import pytest

from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.models.air.weather import MetState, RepeatedDay, interpolate
from airshed.models.air.weather.era5_times import ForcingTimes
from airshed.models.air.weather.fields import of_use
from airshed.models.air.weather.placement import Area
from airshed.models.air.weather.state import CheckedSeries, always, state_at

GRID = Grid.regular((0, 2), (48, 49), 0.5, [20.0, 100.0])


def state(value: float, obukhov: float = 100.0) -> MetState:
    arrays = {name: np.full((1, 1), value) for name in always()}
    return MetState(**{**arrays, "obukhov_length": np.full((1, 1), obukhov)})


class Ramp:
    """Temperature equal to the time, hourly for a day."""

    times = tuple(3600.0 * hour for hour in range(25))
    provenance: Mapping[str, str] = {"temperature": "given"}

    def at(self, seconds: float) -> MetState:
        return state_at(self.times, lambda index: state(self.times[index]), seconds)


def test_fields_are_linear_in_time() -> None:
    middle = interpolate(state(0.0), state(10.0), 0.25)
    assert middle.temperature[0, 0] == 2.5
    assert middle.eastward_air_flux[0, 0] == 2.5


def test_between_instants_only_what_is_asked_for_is_made() -> None:
    before, after = state(0.0), state(10.0)
    middle = interpolate(before, after, 0.5)
    assert middle.temperature is middle.temperature
    assert set(vars(middle)) & set(always()) == {"temperature"}
    with pytest.raises(AttributeError, match="has no wind"):
        middle.wind  # noqa: B018
    assert interpolate(before, after, 0.0) is before


def test_the_obukhov_length_passes_through_infinity() -> None:
    middle = interpolate(state(0.0, obukhov=-50.0), state(0.0, obukhov=50.0), 0.5)
    assert abs(middle.obukhov_length[0, 0]) == 1e6
    later = interpolate(state(0.0, obukhov=-50.0), state(0.0, obukhov=50.0), 0.75)
    assert later.obukhov_length[0, 0] == pytest.approx(100.0)


def test_states_at_the_instants_are_exact_and_held_outside() -> None:
    ramp = Ramp()
    assert ramp.at(7200.0).temperature[0, 0] == 7200.0
    assert ramp.at(5400.0).temperature[0, 0] == 5400.0
    assert ramp.at(-10.0).temperature[0, 0] == 0.0
    assert ramp.at(1e9).temperature[0, 0] == 86400.0


def test_the_newest_three_instants_are_kept() -> None:
    built: list[int] = []

    def build(index: int) -> MetState:
        built.append(index)
        return MetState(**{each.name: np.full(each.shape(GRID), float(index)) for each in of_use("state")})

    series = CheckedSeries(tuple(map(float, range(5))), Area.of(GRID, None), build, {})
    for index in (0, 1, 2, 0, 3, 2, 0):
        assert series.at(float(index)).temperature[0, 0, 0] == index
    assert built == [0, 1, 2, 3, 0]


def test_a_repeated_day_is_the_same_day_before_the_start() -> None:
    repeated = RepeatedDay(Ramp(), days=2)
    assert repeated.times[0] == -172800.0
    assert repeated.times == tuple(sorted(set(repeated.times)))
    for hour in range(-48, 0):
        assert repeated.at(3600.0 * hour).temperature[0, 0] == 3600.0 * (hour % 24)
    assert repeated.at(3600.0).temperature[0, 0] == 3600.0
    # the last hour of the repeated day goes linearly to midnight's state
    assert repeated.at(-1800.0).temperature[0, 0] == 0.5 * 23 * 3600.0
    assert "repeated" in repeated.provenance["before the start"]
    with pytest.raises(DataError, match="once or more often"):
        RepeatedDay(Ramp(), days=0)


HOURS = np.datetime64("2022-08-31T00:00") + np.arange(24) * np.timedelta64(1, "h")


def test_the_last_hour_of_a_day_is_held() -> None:
    period = ForcingTimes.of(HOURS, np.datetime64("2022-08-31T00:00"), 86400.0)
    assert period.times[-1] == 86400.0
    assert period.source[-2:] == (23, 23)
    assert period.held
    assert period.is_hourly


def test_only_the_instants_around_the_period_are_taken() -> None:
    period = ForcingTimes.of(HOURS, np.datetime64("2022-08-31T06:30"), 5400.0)
    assert period.times == (-1800.0, 1800.0, 5400.0)
    assert period.source == (6, 7, 8)
    assert not period.held


@pytest.mark.parametrize(
    ("start", "length"),
    [
        ("2022-08-30T23:00", 3600.0),
        ("2022-08-31T12:00", 86400.0),
        ("2023-01-01T00:00", 3600.0),
        ("2023-01-01T00:00", None),
    ],
)
def test_a_period_that_the_data_does_not_cover_is_refused(start: str, length: float | None) -> None:
    with pytest.raises(DataError, match="covers 2022-08-31T00:00 to 2022-08-31T23:00 UTC, the case needs"):
        ForcingTimes.of(HOURS, np.datetime64(start), length)


def test_a_gap_is_refused_where_the_case_needs_it() -> None:
    gappy = np.delete(HOURS, [5, 6])
    with pytest.raises(DataError, match="no times between 2022-08-31T04:00 and 2022-08-31T07:00"):
        ForcingTimes.of(gappy, np.datetime64("2022-08-31T00:00"), 86400.0)
    assert ForcingTimes.of(gappy, np.datetime64("2022-08-31T08:00"), 3600.0).times[0] == 0.0
