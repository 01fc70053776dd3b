"""The emission of all sources, packed for the kernels: the sum of inventory, files, points and vegetation.

Emission is constant in each *period*: an hour UTC, or less where a source changes inside it.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from airshed.io.timeline import Timeline
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.models.air.emissions.biogenic import BiogenicIsoprene
from airshed.models.air.emissions.sources import CombinedEmissions
from airshed.models.air.weather import Meteorology
from airshed.process.context import Source

Array = npt.NDArray[np.float64]

_HOUR = 3600.0


def hour_of(seconds: float, start: np.datetime64) -> float:
    """Return when the full hour UTC began that holds a time, both in seconds since the start of the case."""
    late = _late(start)
    return (seconds + late) // _HOUR * _HOUR - late


@lru_cache(maxsize=1)
def _late(start: np.datetime64) -> float:
    """How long after a full hour the case starts [s]; every step asks."""
    return float((start - start.astype("datetime64[h]")) / np.timedelta64(1, "s"))


class BiogenicSource:
    """Isoprene of the vegetation as an emission source: of each hour that of its middle.

    total  sums up (..., lat, lon) over the whole area, of which this may be a part
    """

    levels, changes = 1, ()

    def __init__(
        self, isoprene: BiogenicIsoprene, meteorology: Meteorology, cos_zenith: Callable[[float], Array], land: Array,
        start: np.datetime64, total: Callable[[Array], Array],
    ) -> None:  # fmt: skip
        self.species, self._start, self._total = isoprene.species, start, total
        self._isoprene, self._meteorology, self._cos_zenith, self._land = isoprene, meteorology, cos_zenith, land
        self._emitted: dict[float, Array] = {}
        self._totals: dict[float, Array] = {}

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell] of the hour that holds the time, (species, 1, lat, lon)."""
        middle = hour_of(seconds, self._start) + 0.5 * _HOUR
        rate = self._isoprene.rate(self._meteorology.at(middle), self._cos_zenith(middle), self._land)
        if middle not in self._totals:
            self._emitted[middle] = rate
        return self._isoprene.factors[:, None, None, None] * rate

    def totals(self, seconds: float) -> Array:
        """Emission of the area [mol/s] in the hour that holds a time, (species,); stored, since the weather is costly.

        All ranks call this together.
        """
        middle = hour_of(seconds, self._start) + 0.5 * _HOUR
        if middle not in self._totals:
            if middle not in self._emitted:
                self.rate(seconds)
            self._totals[middle] = self._isoprene.factors * self._total(self._emitted.pop(middle))
        return self._totals[middle]

    def save(self) -> dict[str, Array]:
        """Return the totals of the hours so far: a resumed run needs no weather of the past for them."""
        known = dict(sorted(self._totals.items()))
        return {"middles": np.array(list(known)), "totals": np.array(list(known.values()))}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore saved totals."""
        self._totals |= dict(zip(arrays["middles"].tolist(), arrays["totals"].copy(), strict=True))


@dataclass(frozen=True)
class Emission:
    """Emission of the period that begins at a time [s] [mol/s]: packed, and of whole columns (species, lat, lon)."""

    begin: float
    packed: AnyArray
    columns: Array


@dataclass(frozen=True)
class _Period:
    begin: float
    packed: AnyArray
    totals: Array


class PackedSources:
    """The sum of emission sources as the step reads it, renewed at the beginning of each period.

    total  sums up (..., lat, lon) over the whole area, of which this may be a part
    """

    def __init__(
        self, sources: Sequence[Source], layout: Layout, columns: tuple[int, int], start: np.datetime64,
        total: Callable[[Array], Array],
    ) -> None:  # fmt: skip
        self._sum = CombinedEmissions(sources) if sources else None
        self.species = self._sum.species if self._sum else ()
        self._changes: Sequence[float] = self._sum.changes if self._sum else ()
        self._layout, self._columns, self._start, self._total = layout, columns, start, total
        self._periods = Timeline[_Period](self, self._build, finish=self._period)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources that are summed up."""
        return self._sum.sources if self._sum else ()

    def replace(self, sources: Sequence[Source]) -> None:
        """Take other sources with the species, levels and changes of those of now; raises ValueError for others."""
        new = CombinedEmissions(sources) if sources else None
        if self._sum and (not new or (new.species, list(new.changes)) != (self.species, list(self._changes))):
            raise ValueError("sources can be replaced by ones of the same species and changes alone")
        self._sum = new
        self._periods.clear()

    def middles(self, first: float, last: float) -> list[float]:
        """The middles of the hours that hold two times, where something is emitted: vegetation needs their weather."""
        return [hour_of(each, self._start) + 0.5 * _HOUR for each in (first, last)] if self._sum else []

    def next_change(self, seconds: float) -> float:
        """The beginning of the next period [s]; infinity where nothing is emitted."""
        if not self._sum:
            return np.inf
        later = bisect_right(self._changes, seconds)
        return min([hour_of(seconds, self._start) + _HOUR, *self._changes[later : later + 1]])

    def at(self, seconds: float) -> tuple[AnyArray, Array]:
        """Return the packed emission [mol/s] of the period that holds the time, and its sums by species [mol/s].

        The sums are those of the whole area: all ranks call this together.
        """
        now = self._periods.of(self.begin_of(seconds))
        return now.packed, now.totals

    def changes_at(self, seconds: float) -> bool:
        """Whether a period begins at a time [s]."""
        return self._sum is not None and self.begin_of(seconds) == seconds

    def read_ahead(self, seconds: float, pool: Executor | None) -> None:
        """Prefetch the period after the one that holds a time, see :meth:`airshed.io.timeline.Timeline.read_ahead`."""
        self._periods.travel(seconds)
        self._periods.read_ahead(seconds, pool)

    def begin_of(self, seconds: float) -> float:
        """When the period began that holds a time [s]."""
        if self._sum is None:
            return 0.0
        earlier = bisect_right(self._changes, seconds)
        return max([hour_of(seconds, self._start), *self._changes[max(earlier - 1, 0) : earlier]])

    def _period(self, make: Callable[[], Emission]) -> _Period:
        made = self._complete(make)
        return _Period(made.begin, made.packed, self._total(made.columns))

    def _complete(self, make: Callable[[], Emission]) -> Emission:
        """Return an emission that a function makes; ranks with the whole area gather it here."""
        return make()

    def _build(self, begin: float) -> Emission:
        rate = self._sum.rate(begin) if self._sum else np.zeros((0, 1, *self._columns))
        return Emission(begin, self._layout.pack(rate, padding="constant"), rate.sum(axis=1))
