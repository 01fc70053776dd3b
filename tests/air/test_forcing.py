"""Forcing in time: instants of the weather, and hours of the sun where the weather has fewer."""

import numpy as np
import numpy.typing as npt

from airshed.air.assembly import assemble
from airshed.air.case import Case
from airshed.air.deposition import DryDeposition
from airshed.air.forcing import Forcing
from airshed.air.meteorology import MetState
from airshed.kernels.layout import Layout

CASE = Case.from_dict(
    {
        "title": "steady air",
        "grid": {"area": {"lon": [4, 6], "lat": [48, 50]}, "spacing": "1 deg", "layers": ["20 m", "100 m"]},
        "time": {"start": "2022-06-21T00:00:00Z", "length": "24 h", "spinup": "6 h"},
        "chemistry": {"mechanism": "emep"},
        "meteorology": {"kind": "uniform", "eastward": "3 m/s"},
        "emissions": {"biogenic": False},
        "boundary": {"profiles": "clean-air"},
        "deposition": {"scheme": "resistance"},
    }
)
HOUR = 3600.0


def forcing(*, sunlit: bool) -> tuple[Forcing, int]:
    """The forcing of steady air, and the row of O3 in its deposition."""
    parts = assemble(CASE)

    def velocities(met: MetState, seconds: float) -> npt.NDArray[np.float64]:
        return parts.deposition.velocities(met, parts.land, parts.light.cos_zenith(seconds))

    def nothing_open(met: MetState, seconds: float) -> npt.NDArray[np.float64]:
        return np.zeros((0, *parts.grid.shape))

    rows, columns = parts.grid.shape[1:]
    until = CASE.time.length.value if sunlit else None
    layout = Layout(rows, columns, 4, np.dtype(np.float64))
    made = Forcing(
        parts.grid, layout, parts.meteorology, velocities, nothing_open, begin=parts.begin, sunlit_until=until
    )
    return made, parts.deposition.species.index("O3")


def deposition(made: Forcing, row: int, seconds: float) -> float:
    """Ozone's deposition of the whole area [mol/s per mol/mol] at a time."""
    interval = made.interval(made.index_at(seconds))
    weight = interval.weight(seconds) if interval.until < np.inf else 0.0
    start, end = interval.pair("deposition")
    return float((1.0 - weight) * start[:, :, row].sum() + weight * end[:, :, row].sum())


def test_deposition_sees_day_and_night_in_steady_air() -> None:
    made, ozone = forcing(sunlit=True)
    by_hour = [deposition(made, ozone, HOUR * hour) for hour in range(25)]
    assert max(by_hour) == max(by_hour[10:14])  # at noon, at 5 degrees east
    assert max(by_hour) > 2.0 * min(by_hour)
    assert made.next_change(-6.0 * HOUR) == -5.0 * HOUR
    assert made.next_change(24.0 * HOUR) == np.inf


def test_the_check_of_day_and_night_fails_without_instants_at_the_hours() -> None:
    made, ozone = forcing(sunlit=False)
    assert len({deposition(made, ozone, HOUR * hour) for hour in range(25)}) == 1


def test_instants_between_those_of_the_weather_leave_the_air_as_it_is() -> None:
    (hourly, _), (plain, _) = forcing(sunlit=True), forcing(sunlit=False)
    for hour in (-6.0, 0.0, 7.0, 23.5):
        some, other = hourly.transport(hour * HOUR), plain.transport(hour * HOUR)
        for name in ("flux_x", "flux_y", "flux_z"):
            assert np.array_equal(getattr(some, name)[0], getattr(other, name)[0]), (hour, name)


def test_only_velocities_of_a_scheme_follow_the_sun() -> None:
    assert DryDeposition(["O3"]).follows_the_sun
    assert not DryDeposition(["O3"], velocities={"O3": 0.005}).follows_the_sun
    assert not DryDeposition(["TRACER"]).follows_the_sun


def test_an_interval_older_than_those_kept_is_made_again() -> None:
    made, _ = forcing(sunlit=True)
    first = made.interval(0)
    for later in range(1, 5):
        made.interval(later)
    again = made.interval(0)
    assert again.start.seconds == first.start.seconds
    assert np.array_equal(again.start.deposition, first.start.deposition)
    assert made.interval(4).start.seconds == 4 * HOUR + first.start.seconds
