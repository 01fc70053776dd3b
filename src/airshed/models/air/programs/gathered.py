"""Forcing and emission of the whole area on transport ranks: each computes those of a tile, an all-gather joins them.

All ranks of an all-gather call it together, from the computing thread. An error on one rank is raised on all.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from airshed.io.timeline import together
from airshed.kernels.host import AnyArray
from airshed.models.air.forcing import Forcing, Instant, Interval
from airshed.models.air.sources import Emission, PackedSources
from airshed.parallel.groups import Allgather, Wanted

T = TypeVar("T")


@dataclass(frozen=True)
class GatheredFields:
    """Fields of a forcing that are gathered, with the levels or species of each.

    fluxes  packed fields of an instant, by name;  fields  fields of processes;  upward  upward air flux, None without
    """

    fluxes: Mapping[str, Wanted]
    fields: Mapping[str, Wanted]
    upward: Wanted | None

    def of(self, end: Instant) -> Iterator[tuple[AnyArray, Wanted]]:
        """Yield the fields of an instant."""
        for name, wanted in self.fluxes.items():
            yield getattr(end, name), wanted
        for name, wanted in self.fields.items():
            yield end.fields[name], wanted


class GatheredForcing(Forcing):
    """Forcing whose gathered fields cover the whole area; the others cover a tile, and are not read."""

    def __init__(self, gathering: Allgather, wanted: GatheredFields, *forcing: Any) -> None:
        self._gathering, self._wanted = gathering, wanted
        self._gathered: dict[float, Instant] = {}
        super().__init__(*forcing)

    def _complete(self, make: Callable[[], Interval]) -> Interval:
        """Return an interval with the gathered fields; an instant of the interval before is not sent again."""
        # this rank's tile
        part = _on_all(self._gathering, make)
        ends = {end.seconds: end for end in (part.start, part.end)}
        new = {seconds: end for seconds, end in ends.items() if seconds not in self._gathered}

        # all tiles
        sent = [each for end in new.values() for each in self._wanted.of(end)]
        upward = [] if self._wanted.upward is None else [(flux, self._wanted.upward) for flux in part.flux_z]
        whole = iter(self._gathering.whole([*sent, *upward]))
        for seconds, end in new.items():
            fluxes: dict[str, Any] = {name: next(whole) for name in self._wanted.fluxes}
            fields = {name: next(whole) for name in self._wanted.fields}
            self._gathered[seconds] = replace(end, **fluxes, fields=fields)

        # the interval between both instants
        self._gathered = {seconds: self._gathered[seconds] for seconds in ends}
        flux_z = (next(whole), next(whole)) if upward else part.flux_z
        start, end = self._gathered[part.start.seconds], self._gathered[part.end.seconds]
        return replace(part, start=start, end=end, flux_z=flux_z)


class GatheredSources(PackedSources):
    """Emission whose packed rates cover the whole area.

    emitted  numbers of the wanted species among those of the sources
    """

    def __init__(self, gathering: Allgather, emitted: list[int], *sources: Any) -> None:
        self._gathering, self._emitted = gathering, emitted
        super().__init__(*sources)

    def _complete(self, make: Callable[[], Emission]) -> Emission:
        part = _on_all(self._gathering, make)
        return replace(part, packed=self._gathering.whole([(part.packed, self._emitted)])[0])


def _on_all(gathering: Allgather, make: Callable[[], T]) -> T:
    """Return the result of a function that all ranks call; an error on one rank is raised on all."""
    with together(gathering.ranks):
        part = make()
    return part
