"""Forcing in time: instants of the weather, and hours of the sun where the weather has fewer."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest

from airshed.kernels.layout import Layout
from airshed.models.air.assembly import assemble
from airshed.models.air.case import Case
from airshed.models.air.emissions.sources import PackedSources, hour_of
from airshed.models.air.forcing import Forcing
from airshed.models.air.processes.dry_deposition.velocity import DepositionVelocities
from airshed.models.air.weather import Meteorology, MetState
from airshed.models.air.weather.state import around
from airshed.process.processes import Processes

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

    def nothing_open(met: MetState, seconds: float) -> npt.NDArray[np.float64]:
        return np.zeros((0, *parts.grid.shape))

    rows, columns = parts.grid.shape[1:]
    until = CASE.time.length.value if sunlit else None
    layout = Layout(rows, columns, 4, np.dtype(np.float64))
    made = Forcing(
        parts.grid, layout, parts.meteorology, parts.processes, nothing_open, parts.begin, sunlit_until=until
    )
    (deposited,) = (each for each in parts.processes.operators if each.name == "dry_deposition_deposited")
    return made, list(deposited.species).index(parts.network.index("O3"))


def deposition(made: Forcing, row: int, seconds: float) -> float:
    """Ozone's deposition of the whole area [mol/s per mol/mol] at a time."""
    interval = made.interval(made.index_at(seconds))
    weight = interval.weight(seconds) if interval.until < np.inf else 0.0
    start, end = (each.fields["dry_deposition_conductance"] for each in (interval.start, interval.end))
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
    assert DepositionVelocities(["O3"], {"O3": "O3"}).depends_on_sun
    assert not DepositionVelocities(["O3"], {}, given={"O3": 0.005}).depends_on_sun
    assert not DepositionVelocities(["TRACER"], {}).depends_on_sun


def test_an_interval_older_than_those_kept_is_made_again() -> None:
    made, _ = forcing(sunlit=True)
    first = made.interval(0)
    for later in range(1, 5):
        made.interval(later)
    again = made.interval(0)
    assert again.start.seconds == first.start.seconds
    for name, values in first.start.fields.items():
        assert np.array_equal(again.start.fields[name], values)
    assert made.interval(4).start.seconds == 4 * HOUR + first.start.seconds


def contents(made: Forcing, sources: PackedSources, seconds: float) -> list[bytes]:
    """All bits of the weather and of the emission at a time."""
    interval = made.interval(made.index_at(seconds))
    instants = [*vars(interval.start).values(), *vars(interval.end).values(), *interval.flux_z]
    arrays = [each for each in instants if isinstance(each, np.ndarray)]
    arrays += [*interval.start.fields.values(), *interval.end.fields.values(), *sources.at(seconds)]
    return [each.tobytes() for each in arrays]


@pytest.mark.parametrize("way", ["backwards", "jumps"])
@pytest.mark.parametrize("threads", [0, 1])
def test_whoever_asks_in_another_order_finds_the_same_bits(way: str, threads: int) -> None:
    """Forwards as a run, backwards as an adjoint, or here and there."""
    hours = np.arange(-5.5, 24.0)
    orders = {"forwards": hours, "backwards": hours[::-1], "jumps": np.random.default_rng(3).permutation(hours)}
    found: dict[str, dict[float, list[bytes]]] = {}
    for each in ("forwards", way):
        made, _ = forcing(sunlit=True)
        start, layout = np.datetime64("2022-06-21"), made.layout
        sources = PackedSources([Vegetation(made.meteorology, start)], layout, (2, 2), start, lambda rate: rate)
        found[each] = {}
        with ThreadPoolExecutor(1) as pool:
            for seconds in orders[each] * HOUR:
                found[each][seconds] = contents(made, sources, seconds)
                for ahead in (made, sources):
                    ahead.read_ahead(seconds, pool if threads else None)
    assert found[way] == found["forwards"]
    assert len({b"".join(bits) for bits in found[way].values()}) == len(hours)


class WeatherMonitor:
    """Weather that refuses instants outside the latest ones taken, and records their largest number."""

    def __init__(self, base: Meteorology, times: tuple[float, ...]) -> None:
        self._base, self.times, self.provenance = base, times, base.provenance
        self.taken: list[int] = []
        self.most = 0

    def take(self, moments: Sequence[float]) -> None:
        assert list(moments) == sorted(moments)
        self.taken = list(dict.fromkeys(index for moment in moments for index in around(self.times, moment)))
        self.most = max(self.most, len(self.taken))

    def close(self) -> None:
        pass

    def at(self, seconds: float) -> MetState:
        assert set(around(self.times, seconds)) <= set(self.taken), seconds
        return self._base.at(0.0)


class Vegetation:
    """Source that reads the weather in the middle of each hour."""

    species, levels, changes = ("C5H8",), 1, ()

    def __init__(self, air: WeatherMonitor, start: np.datetime64) -> None:
        self._air, self._start = air, start

    def rate(self, seconds: float) -> npt.NDArray[np.float64]:
        self._air.at(hour_of(seconds, self._start) + 0.5 * HOUR)
        return np.full((1, 1, 2, 2), seconds)


def ask_for_weather(every: float, *, resumed: bool, threads: int, announced: bool = True) -> int:
    """Step through some hours as a run does; return the largest number of instants in memory."""
    start, begin = np.datetime64("2022-06-21T00:45"), 0.0
    parts = assemble(CASE)
    air = WeatherMonitor(parts.meteorology, tuple(-900.0 + every * number for number in range(int(9 * HOUR / every))))
    layout = Layout(2, 2, 4, np.dtype(np.float64))
    sources = PackedSources(
        [Vegetation(air, start)], layout, (2, 2), start, lambda rate: lambda: rate.sum(axis=(-2, -1))
    )
    made = Forcing(
        parts.grid, layout, air, Processes([]), lambda met, seconds: np.zeros((0, 2, 2, 2)),
        begin, also=sources.middles if announced else lambda first, last: [],
    )  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        seconds = 4.3 * HOUR if resumed else begin
        while seconds < 6.0 * HOUR:
            step = min(500.0, made.next_change(seconds) - seconds, sources.next_change(seconds) - seconds)
            made.outflow_rate(seconds)
            made.transport(seconds)
            sources.at(seconds + 0.5 * step)
            made.interval(made.index_until(seconds + step))
            made.read_ahead(seconds, pool if threads else None)
            sources.read_ahead(seconds, pool if threads else None)
            seconds += step
            air.at(seconds)
    return air.most


@pytest.mark.parametrize("every", [600.0, 2400.0, 3600.0, 10800.0])
@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("threads", [0, 1])
def test_all_weather_that_steps_and_vegetation_ask_for_was_taken(every: float, resumed: bool, threads: int) -> None:
    most = ask_for_weather(every, resumed=resumed, threads=threads)
    assert most <= {600.0: 16, 2400.0: 6}.get(every, 4)


def test_weather_that_is_not_taken_is_noticed() -> None:
    """Negative control: vegetation does not announce the instants that it requires."""
    with pytest.raises(AssertionError):
        ask_for_weather(600.0, resumed=True, threads=0, announced=False)
