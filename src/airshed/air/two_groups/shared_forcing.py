"""Forcing of the whole area in parts: each rank makes that of its tile, and gathers the others'."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from airshed.air.forcing import Instant, Interval
from airshed.air.sources import Emission
from airshed.io.instants import together
from airshed.kernels.memory import AnyArray
from airshed.parallel.allgather import Allgather, Wanted

T = TypeVar("T")


class SharedForcing:
    """What ``Forcing`` and ``PackedSources`` of a tile are given, so that they have what moves planes of the area.

    All ranks that gather call together, from the thread that computes. What goes wrong on one is raised on all.

    fluxes   what is wanted of the packed air fluxes of an instant, by name;  fields  the same of those of processes; no
             others are gathered
    upward   what is wanted of the upward air flux; None for nothing
    emitted  numbers of the wanted species among those of the sources

    All else stays that of the tile, and is not to be read.
    """

    def __init__(
        self, gathering: Allgather, fluxes: Mapping[str, Wanted], fields: Mapping[str, Wanted], upward: Wanted | None,
        emitted: list[int],
    ) -> None:  # fmt: skip
        self._gathering, self._upward, self._emitted = gathering, upward, emitted
        self._fluxes, self._fields = fluxes, fields
        self._instants: dict[float, Instant] = {}

    def interval(self, make: Callable[[], Interval]) -> Interval:
        """Return the interval that each rank makes for its tile: an instant that the last one had is not sent again."""
        part = self._made(make)
        ends = {end.seconds: end for end in (part.start, part.end)}
        new = {seconds: end for seconds, end in ends.items() if seconds not in self._instants}
        sent = [each for end in new.values() for each in self._wanted(end)]
        upward = [] if self._upward is None else [(flux, self._upward) for flux in part.flux_z]
        whole = iter(self._gathering.whole([*sent, *upward]))
        for seconds, end in new.items():
            fluxes: dict[str, Any] = {name: next(whole) for name in self._fluxes}
            self._instants[seconds] = replace(end, **fluxes, fields={name: next(whole) for name in self._fields})
        self._instants = {seconds: self._instants[seconds] for seconds in ends}
        flux_z = (next(whole), next(whole)) if upward else part.flux_z
        start, end = self._instants[part.start.seconds], self._instants[part.end.seconds]
        return replace(part, start=start, end=end, flux_z=flux_z)

    def _wanted(self, end: Instant) -> Iterator[tuple[AnyArray, Wanted]]:
        for name, wanted in self._fluxes.items():
            yield getattr(end, name), wanted
        for name, wanted in self._fields.items():
            yield end.fields[name], wanted

    def emission(self, make: Callable[[], Emission]) -> Emission:
        """Return the emission of a period that each rank makes for its tile; the sums over columns stay those of it."""
        part = self._made(make)
        return replace(part, packed=self._gathering.whole([(part.packed, self._emitted)])[0])

    def _made(self, make: Callable[[], T]) -> T:
        with together(self._gathering.ranks):
            part = make()
        return part
