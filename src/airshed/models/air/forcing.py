"""Meteorology as the kernels want it: air contents, fluxes and exchange on the model grid, packed, between instants."""

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
from airshed.models.air.boundary.field import LateralBoundary
from airshed.models.air.weather import Meteorology, MetState
from airshed.process.processes import Processes
from airshed.process.vertical import outflow_rate, upward_air_flux

OpenRates = Callable[[MetState, float], Array]
_HOUR = 3600.0


@dataclass(frozen=True)
class Instant:
    """The air at one instant: plain arrays (level, lat, lon), and the packed ones that steps read."""

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
    rates: Mapping[str, Array]  # at which explicit processes empty cells, in either direction [1/s]


@dataclass(frozen=True)
class Interval:
    """The time between two instants, over which everything is linear; `end` is infinite after the last instant.

    flux_z         upward air flux [mol/s] at both ends, with the change of the air content in this interval
    outflow_rates  largest sum of outflow over air content of any cell [1/s], where transport goes in some directions:
                   Courant number = this times the step
    """

    start: Instant
    end: Instant
    until: float
    flux_z: Pair
    outflow_rates: Mapping[Directions, float]

    def weight(self, seconds: float) -> float:
        """Where a time lies between the ends, 0 to 1."""
        span = self.end.seconds - self.start.seconds
        return (seconds - self.start.seconds) / span if span > 0.0 else 0.0

    def pair(self, name: str) -> Pair:
        """A packed field at both ends."""
        return getattr(self.start, name), getattr(self.end, name)

    def fields(self, names: Iterable[str]) -> dict[str, Pair]:
        """Packed fields of processes at both ends."""
        return {name: (self.start.fields[name], self.end.fields[name]) for name in names}


class Forcing:
    """Packed forcing at any time, made from a :class:`Meteorology` instant by instant.

    processes     those that act in steps
    boundary      concentrations along the lateral faces; None where a profile is there in all steps
    open_rates    what the mechanism leaves open (parameter, level, lat, lon) [molecules, cm3, s] for the air at a time
    begin         [s] of the first step
    sunlit_until  [s] up to which there is an instant at every hour, also where the meteorology has none: its fields are
                  linear in between, but processes and open rates follow the sun; None where they do not
    directions    in which transport may go in a step
    also          times [s] whose weather others request, from the hour of one time to that of another
    greatest      the greatest of what every rank has found; identity where there is one

    All ranks make a forcing, request intervals and let them be read ahead together: that is when input is sent.
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
        self.boundary: LateralBoundary | None = None
        self._taken = range(0)
        self._take(range(1))

    def instant(self, index: int) -> Instant:
        """The instant of a number; the nearest two are kept."""
        return self._instants.of(self._times[index])

    def interval(self, index: int) -> Interval:
        """The interval of a number; the nearest two are kept."""
        return self._intervals.of(self._times[index])

    def read_ahead(self, seconds: float, pool: Executor | None) -> None:
        """Let a thread of a pool prepare what follows the interval that holds a time; without a pool that can wait.

        That is the interval after it, or the one before it where the last call was for a later time. The pool is that
        of the steps: while one thread prepares, the others compute, and no core has two things to do. The interval
        behind, which only the first step of an interval requests, is given up. All ranks call this together, with or
        without a pool.
        """
        backwards, index = self._intervals.travel(seconds), self.index_at(seconds)
        first = max(index - 1, 0) if backwards else index
        self._take(range(first, min(first + 2, len(self._times))))
        self._intervals.read_ahead(seconds, pool)

    def renew(self) -> None:
        """Forget what was computed for instants, since numbers of processes have changed."""
        self._instants.clear()
        self._intervals.clear()
        self._outflow_rates = -1, {}

    def outflow_rate(self, seconds: float, directions: Directions = "all") -> float:
        """The largest sum of outflow over air content of any cell of the whole area [1/s] in the interval of a time.

        All ranks ask together.
        """
        index = self.index_at(seconds)
        if self._outflow_rates[0] != index:
            self._outflow_rates = index, {}
        rates = self._outflow_rates[1]
        if directions not in rates:
            rates[directions] = self._greatest(self.interval(index).outflow_rates[directions])
        return rates[directions]

    def _complete(self, make: Callable[[], Interval]) -> Interval:
        """Return an interval that a function makes; ranks with the whole area gather it here."""
        return make()

    def _read(self, begin: float) -> Interval:
        index = self.index_at(begin)
        if index not in self._taken:  # a step at the beginning of an interval requests the one before, too
            self._take(range(max(index - 1, 0), index + 1))
        return self._build_interval(begin)

    def _take(self, intervals: range) -> None:
        """Let the weather of intervals be at hand, and of the hours in them; of two, to the hour after the first."""
        if intervals == self._taken or not hasattr(self.meteorology, "take"):
            return
        self._taken = intervals
        ends = [self._times[min(index, len(self._times) - 1)] for index in (intervals[0], intervals[0] + 1)]
        last = nextafter(ends[1] + (_HOUR if len(intervals) > 1 else 0.0), -inf)
        moments = [*self._times[intervals[0] : intervals[-1] + 2], *self._also(ends[0], last)]
        first, last = min(moments), max(moments)
        self.meteorology.take([first, *(time for time in self._times if first < time < last), last])

    def index_at(self, seconds: float) -> int:
        """The number of the interval that begins at or before a time."""
        return bisect_right(self._times, seconds) - 1

    def index_until(self, seconds: float) -> int:
        """The number of the interval that holds a time as its end or inside; the first one at the very beginning."""
        return max(bisect_left(self._times, seconds) - 1, 0)

    def ends_around(self, seconds: float) -> tuple[float, float]:
        """The instants [s] between which a time lies; after the last one that one twice."""
        index = self.index_at(seconds)
        return self._times[index], self._times[min(index + 1, len(self._times) - 1)]

    def next_change(self, seconds: float) -> float:
        """The next instant after a time [s]; infinity after the last."""
        index = self.index_at(seconds) + 1
        return self._times[index] if index < len(self._times) else inf

    def transport(self, seconds: float, ratio: float = 1.0) -> TransportForcing:
        """Air fluxes at a time, for a step that is `ratio` times as long as the one before, 0 for one that restarts.

        At an instant between two intervals the vertical flux is (1 - w) times that of the old and w times that of the
        new interval, w = (1 + 2 r) / (1 + 2 r + 3 r^2): 1/2 for equal steps. So weighted, the air that the two-step
        formula advances comes back to the given one after a change of its slope (from the formula's recurrence).
        """
        index = self.index_at(seconds)
        interval = self.interval(index)
        flux_z, weight_z = interval.flux_z, interval.weight(seconds)
        if seconds == interval.start.seconds and index > 0:
            flux_z = (self.interval(index - 1).flux_z[1], interval.flux_z[0])
            weight_z = (1.0 + 2.0 * ratio) / (1.0 + 2.0 * ratio + 3.0 * ratio**2)
        return self._transport(interval, seconds, flux_z, weight_z)

    def transport_within(self, seconds: float, inside: float) -> TransportForcing:
        """Air fluxes at a time for a one-step formula: of the interval that holds `inside`, up to its very ends."""
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
        return Instant(
            seconds, air, eastward, northward,
            flux_x=pack(eastward, padding="constant"), flux_y=pack(northward, padding="constant"),
            temperature=pack(met.temperature), water=pack(met.water_vapour), cloud=pack(met.cloud_cover),
            parameters=pack(self._open_rates(met, seconds)),
            fields={name: pack(each, padding="constant") for name, each in fields.items()},
            rates=self.processes.outflow_rates(fields, air),
        )  # fmt: skip

    def _build_aside(self, begin: float) -> Interval:
        """Build an interval on a thread of the steps, and leave nothing behind.

        What each of several threads frees only this thread would use again; the computing thread does so by itself.
        """
        interval = self._build_interval(begin)
        return_to_system()
        return interval

    def _build_interval(self, begin: float) -> Interval:
        start, end, _ = self._instants.at(begin)
        if end is start:  # after the last instant nothing changes any more
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
        return Interval(start, end, until, (first, last), rates)


def _largest_outflow(instant: Instant, upward: Array, directions: Directions) -> float:
    """The largest sum of outflow over air content of any cell [1/s]."""
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
