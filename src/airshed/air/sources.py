"""All that is emitted, hour by hour, packed for the kernels: the sum of inventory, files, points and vegetation."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from airshed.air.emissions.biogenic import BiogenicIsoprene
from airshed.air.emissions.source import CombinedEmissions, EmissionSource
from airshed.air.meteorology import Meteorology
from airshed.kernels.layout import AnyArray, Layout

Array = npt.NDArray[np.float64]

_HOUR = 3600.0


def hour_of(seconds: float, start: np.datetime64) -> float:
    """Return when the full hour UTC began that holds a time, both in seconds since the start of the case."""
    late = float((start - start.astype("datetime64[h]")) / np.timedelta64(1, "s"))
    return (seconds + late) // _HOUR * _HOUR - late


class BiogenicSource:
    """Isoprene of the vegetation as an emission source: of each hour that of its middle."""

    levels = 1

    def __init__(
        self, isoprene: BiogenicIsoprene, meteorology: Meteorology, cos_zenith: Callable[[float], Array], land: Array,
        start: np.datetime64,
    ) -> None:  # fmt: skip
        self.species, self._start = isoprene.species, start
        self._isoprene, self._meteorology, self._cos_zenith, self._land = isoprene, meteorology, cos_zenith, land
        self._totals: dict[float, Array] = {}

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell] of the hour that holds the time, (species, 1, lat, lon)."""
        middle = hour_of(seconds, self._start) + 0.5 * _HOUR
        rate = self._isoprene.rate(self._meteorology.at(middle), self._cos_zenith(middle), self._land)
        self._totals[middle] = self._isoprene.factors * rate.sum()
        return self._isoprene.factors[:, None, None, None] * rate

    def totals(self, seconds: float) -> Array:
        """Emission of the area [mol/s] in the hour that holds a time, (species,); kept, since the weather is costly."""
        middle = hour_of(seconds, self._start) + 0.5 * _HOUR
        if middle not in self._totals:
            self.rate(seconds)
        return self._totals[middle]


class PackedSources:
    """The sum of emission sources as the step reads it, renewed at each full hour UTC."""

    def __init__(
        self, sources: Sequence[EmissionSource], layout: Layout, columns: tuple[int, int], start: np.datetime64
    ) -> None:
        self._sum = CombinedEmissions(sources) if sources else None
        self.species = self._sum.species if self._sum else ()
        self._layout, self._columns, self._start = layout, columns, start
        self._hour: float | None = None
        self._packed: AnyArray | None = None
        self._totals = np.zeros(len(self.species))

    def next_change(self, seconds: float) -> float:
        """The beginning of the next hour; infinity where nothing is emitted."""
        return hour_of(seconds, self._start) + _HOUR if self._sum else np.inf

    def at(self, seconds: float) -> tuple[AnyArray, Array]:
        """Return the packed emission [mol/s] and its sums by species [mol/s] for the hour that holds the time."""
        hour = hour_of(seconds, self._start) if self._sum else 0.0
        if self._packed is None or hour != self._hour:
            rate = self._sum.rate(hour) if self._sum else np.zeros((0, 1, *self._columns))
            self._packed = self._layout.pack(rate, padding="constant")
            self._totals, self._hour = rate.sum(axis=(1, 2, 3)), hour
        return self._packed, self._totals
