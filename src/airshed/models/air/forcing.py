"""Packed forcing of the kernels: air contents, fluxes and exchange on the model grid, between instants."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from math import floor, inf, nextafter

import numpy as np

from airshed.core.arrays import Array
from airshed.grid import Grid
from airshed.io.timeline import InstantSpans, Timeline
from airshed.kernels.host import AnyArray, return_to_system
from airshed.kernels.layout import Layout
from airshed.kernels.step.arguments import Directions, Pair, TransportForcing
from airshed.models.air.boundary.field import FaceConcentrations, LateralBoundary
from airshed.models.air.weather import Meteorology, MetState
from airshed.process.processes import Processes
from airshed.process.vertical import outflow_rate, upward_air_flux

OpenRates = Callable[[MetState, float], Array]
_HOUR = 3600.0


@dataclass(frozen=True)
class Instant:
    """Air at an instant: arrays (level, lat, lon), and packed arrays that steps read."""

    seconds: float
    air: Array  # [mol]
    eastward: Array  # [mol/s]
    northward: Array
    flux_x: AnyArray
    flux_y: AnyArray
    temperature: AnyArray
    water: AnyArray
    cloud: AnyArray
    parameters: AnyArray
    fields: Mapping[str, AnyArray]  # of processes
    rates: Mapping[str, Array]  # loss rates of cells by explicit processes, in either direction [1/s]


@dataclass(frozen=True)
class Interval:
    """Interval between two instants, in which fields are linear in time; `end` is infinite after the last instant.

    flux_z         upward air flux [mol/s] at both ends, consistent with the change of the air content
    outflow_rates  maximum over cells of the ratio of outflow to air content [1/s], by directions of transport: the
                   Courant number divided by the step
    """

    start: Instant
    end: Instant
    until: float
    flux_z: Pair
    outflow_rates: Mapping[Directions, float]

    def weight(self, seconds: float) -> float:
        """Return the interpolation weight of the end at a time, 0 to 1."""
        span = self.end.seconds - self.start.seconds
        return (seconds - self.start.seconds) / span if span > 0.0 else 0.0

    def pair(self, name: str) -> Pair:
        """Return a packed field at both ends."""
        return getattr(self.start, name), getattr(self.end, name)

    def fields(self, names: Iterable[str]) -> dict[str, Pair]:
        """Return packed fields of processes at both ends."""
        return {name: (self.start.fields[name], self.end.fields[name]) for name in names}


class Forcing:
    """Packed forcing at any time, computed from a :class:`Meteorology` instant by instant.

    processes     active processes
    boundary      concentrations of the lateral face cells; None for a constant profile
    open_rates    returns the open parameters (parameter, level, lat, lon) [molecules, cm3, s] for the air at a time
    begin         [s] of the first step
    sunlit_until  [s] up to which each hour is an instant, also without meteorological data: weather is linear in time,
                  but processes and open rates follow the sun; None if they do not
    directions    directions of transport in a step
    also          returns times [s] between two hours for which other components need the weather
    greatest      maximum over ranks; identity for one rank

    Construction, requests of intervals and prefetching are collective, since ranks exchange input.
    """

    def __init__(
        self, grid: Grid, layout: Layout, meteorology: Meteorology, processes: Processes, open_rates: OpenRates,
        begin: float, *, sunlit_until: float | None = None, directions: Sequence[Directions] = ("all",),
        also: Callable[[float, float], list[float]] = lambda first, last: [],
        greatest: Callable[[float], float] = float,
    ) -> None:  # fmt: skip
        self.grid, self.layout, self.meteorology, self.processes = grid, layout, meteorology, processes
        self._open_rates, self._directions, self._also, self._greatest = open_rates, directions, also, greatest
        later = (time for time in meteorology.times if time > begin)
        hours = [] if sunlit_until is None else range(floor(begin / _HOUR) + 1, floor(sunlit_until / _HOUR) + 1)
        self._times = sorted({begin, *later, *(_HOUR * hour for hour in hours)})
        spans = InstantSpans(self._times)
        self._instants = Timeline[Instant](spans, self._build_instant)
        self._intervals = Timeline[Interval](spans, self._read, ahead=self._build_aside, finish=self._complete)
        self._outflow_rates: tuple[int, dict[Directions, float]] = -1, {}
        self.boundary: LateralBoundary | FaceConcentrations | None = None
        self._taken = range(0)
        self._take(range(1))

    def instant(self, index: int) -> Instant:
        """Return an instant by its index; the last two are cached."""
        return self._instants.of(self._times[index])

    def interval(self, index: int) -> Interval:
        """Return an interval by its index; the last two are cached."""
        return self._intervals.of(self._times[index])

    def read_ahead(self, seconds: float, pool: Executor | None) -> None:
        """Prefetch the interval that follows the one at a time, on a thread of a pool; nothing without a pool.

        The following interval is the earlier one if the previous call was for a later time. The pool is that of the
        steps: one thread prefetches while the other threads compute, so that no core is oversubscribed. The interval
        behind, needed only by the first step of an interval, is discarded. Collective, with or without a pool.
        """
        backwards, index = self._intervals.travel(seconds), self.index_at(seconds)
        first = max(index - 1, 0) if backwards else index
        self._take(range(first, min(first + 2, len(self._times))))
        self._intervals.read_ahead(seconds, pool)

    def renew(self) -> None:
        """Discard the computed instants after a change of numbers of processes."""
        self._instants.clear()
        self._intervals.clear()
        self._outflow_rates = -1, {}

    def outflow_rate(self, seconds: float, directions: Directions = "all") -> float:
        """Return the maximum ratio of outflow to air content of all cells [1/s] in the interval of a time.

        Collective.
        """
        index = self.index_at(seconds)
        if self._outflow_rates[0] != index:
            self._outflow_rates = index, {}
        rates = self._outflow_rates[1]
        if directions not in rates:
            rates[directions] = self._greatest(self.interval(index).outflow_rates[directions])
        return rates[directions]

    def _complete(self, make: Callable[[], Interval]) -> Interval:
        """Return the interval from a function; subclasses with the whole area gather it from all ranks."""
        return make()

    def _read(self, begin: float) -> Interval:
        index = self.index_at(begin)
        if index not in self._taken:  # a step at the beginning of an interval also needs the previous one
            self._take(range(max(index - 1, 0), index + 1))
        return self._build_interval(begin)

    def _take(self, intervals: range) -> None:
        """Load the weather of intervals and their hours; for two intervals, up to the hour after the first."""
        if intervals == self._taken or not hasattr(self.meteorology, "take"):
            return
        self._taken = intervals
        ends = [self._times[min(index, len(self._times) - 1)] for index in (intervals[0], intervals[0] + 1)]
        last = nextafter(ends[1] + (_HOUR if len(intervals) > 1 else 0.0), -inf)
        moments = [*self._times[intervals[0] : intervals[-1] + 2], *self._also(ends[0], last)]
        first, last = min(moments), max(moments)
        self.meteorology.take([first, *(time for time in self._times if first < time < last), last])

    def index_at(self, seconds: float) -> int:
        """Return the index of the interval that begins at or before a time."""
        return bisect_right(self._times, seconds) - 1

    def index_until(self, seconds: float) -> int:
        """Return the index of the interval that contains a time or ends there; the first one at the start."""
        return max(bisect_left(self._times, seconds) - 1, 0)

    def ends_around(self, seconds: float) -> tuple[float, float]:
        """Return the instants [s] before and after a time; after the last instant, that one twice."""
        index = self.index_at(seconds)
        return self._times[index], self._times[min(index + 1, len(self._times) - 1)]

    def next_change(self, seconds: float) -> float:
        """Return the next instant after a time [s]; infinity after the last one."""
        index = self.index_at(seconds) + 1
        return self._times[index] if index < len(self._times) else inf

    def transport(self, seconds: float, ratio: float = 1.0) -> TransportForcing:
        """Return air fluxes at a time, for a step `ratio` times as long as the previous one, 0 for a restart.

        At an instant between two intervals the vertical flux is a mean of both. The weight of the new interval is
        w = (1 + 2 r) / (1 + 2 r + 3 r^2): 1/2 for equal steps. With this weight the air content
        of the two-step formula returns to the input after a change of slope (from the recurrence of the formula).
        """
        index = self.index_at(seconds)
        interval = self.interval(index)
        flux_z, weight_z = interval.flux_z, interval.weight(seconds)
        if seconds == interval.start.seconds and index > 0:
            flux_z = (self.interval(index - 1).flux_z[1], interval.flux_z[0])
            weight_z = (1.0 + 2.0 * ratio) / (1.0 + 2.0 * ratio + 3.0 * ratio**2)
        return self._transport(interval, seconds, flux_z, weight_z)

    def transport_within(self, seconds: float, inside: float) -> TransportForcing:
        """Return air fluxes at a time for a one-step formula: of the interval with the time `inside`, ends included."""
        interval = self.interval(self.index_at(inside))
        return self._transport(interval, seconds, interval.flux_z, interval.weight(seconds))

    def _transport(self, interval: Interval, seconds: float, flux_z: Pair, weight_z: float) -> TransportForcing:
        return TransportForcing(
            interval.pair("flux_x"), interval.pair("flux_y"), flux_z, interval.weight(seconds), weight_z,
            interval.fields(self.processes.explicit_fields), self.processes.changed,
            None if self.boundary is None else self.boundary.at(seconds),
        )  # fmt: skip

    def _build_instant(self, seconds: float) -> Instant:
        grid, pack = self.grid, self.layout.pack
        met = self.meteorology.at(seconds)
        eastward, northward = met.eastward_air_flux, met.northward_air_flux
        if not self.processes.has_advection:
            eastward, northward = np.zeros_like(eastward), np.zeros_like(northward)
        air, fields = (
            met.air_density * grid.cell_volume,
            self.processes.at(met, seconds, getattr(self.meteorology, "around", self.meteorology.at)),
        )
        instant = Instant(
            seconds, air, eastward, northward,
            flux_x=pack(eastward, padding="constant"), flux_y=pack(northward, padding="constant"),
            temperature=pack(met.temperature), water=pack(met.water_vapour), cloud=pack(met.cloud_cover),
            parameters=pack(self._open_rates(met, seconds)),
            fields={name: pack(each, padding="constant") for name, each in fields.items()},
            rates=self.processes.outflow_rates(fields, air),
        )  # fmt: skip
        packed = (getattr(instant, name) for name in ("flux_x", "flux_y", "temperature", "water", "parameters"))
        self.layout.memory.prefetch([*packed, *instant.fields.values()], constant=True)
        return instant

    def _build_aside(self, begin: float) -> Interval:
        """Build an interval on a worker thread, and return freed memory to the system.

        Memory that a worker thread frees would be reused only by the same thread.
        """
        interval = self._build_interval(begin)
        return_to_system()
        return interval

    def _build_interval(self, begin: float) -> Interval:
        start, end, _ = self._instants.at(begin)
        if end is start:  # constant after the last instant
            span, until = 1.0, inf
        else:
            span, until = end.seconds - start.seconds, end.seconds
        change = (end.air - start.air) / span if self.processes.has_advection else np.zeros_like(start.air)
        upward = [upward_air_flux(each.eastward, each.northward, change) for each in (start, end)]
        rates = {
            where: max(_largest_outflow(*pair, where) for pair in zip((start, end), upward, strict=True))
            for where in self._directions
        }
        first, last = (self.layout.pack(up, padding="constant") for up in upward)
        self.layout.memory.prefetch([first, last], constant=True)
        return Interval(start, end, until, (first, last), rates)


def _largest_outflow(instant: Instant, upward: Array, directions: Directions) -> float:
    """Return the maximum ratio of outflow to air content of all cells [1/s]."""
    along, across = instant.eastward, instant.northward
    if directions == "vertical":
        along, across = np.zeros_like(along), np.zeros_like(across)
    if directions == "horizontal":
        upward = np.zeros_like(upward)
    rate = outflow_rate(along, across, upward, instant.air)
    for direction, further in instant.rates.items():
        if directions in ("all", direction):
            rate = rate + further
    return float(rate.max())
