"""What each source gives to a receptor: its emission times what that emission is worth, to first order.

    contribution of a source = sum over hours h and cells c of  adjoint[h, c] x rate of the source[h, c]

so that a cut of the source by a tenth changes what is measured by a tenth of it, as long as the cut is small. For the
air that the case begins with, and of the boundary, it is the adjoint times the mixing ratio.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.inverse.backward import Adjoints
from airshed.models.air.emissions.area import AreaEmissions
from airshed.models.air.emissions.gridded import GriddedEmissions
from airshed.models.air.emissions.inventory import Inventory
from airshed.models.air.emissions.point import PointEmissions, TimedEmissions
from airshed.models.air.model import AirModel
from airshed.models.air.sources import BiogenicSource
from airshed.process.context import Source

Array = npt.NDArray[np.float64]

INVENTORY: Final = "inventory"

_KINDS: Final = MappingProxyType(
    {
        BiogenicSource: "vegetation", PointEmissions: "point sources", AreaEmissions: "area sources",
        GriddedEmissions: "gridded files", TimedEmissions: "releases",
    }
)  # fmt: skip
_OTHER: Final = "processes"
_LEAST: Final = 1e-12
"""Part of the greatest contribution below which one is not reported."""


@dataclass(frozen=True)
class Contribution:
    """What one source gives, in the unit of the measure.

    source   "inventory", "vegetation", "point sources" ..., "air at the beginning", "air at the sides", "air above"
    country, sector  of the inventory, else empty
    species  of the mechanism; of the inventory the pollutant that is reported, such as NOx
    """

    source: str
    country: str
    sector: str
    species: str
    value: float


@dataclass(frozen=True)
class Contributions:
    """All contributions, the greatest first, and maps of those of emission by species (species, lat, lon)."""

    rows: tuple[Contribution, ...]
    maps: Array


def contributions(model: AirModel, adjoints: Adjoints, initial: Array) -> Contributions:
    """Return what all that a run was given contributes; the model is open, and all ranks call this together.

    adjoints  with as many levels of sources as the case emits into
    initial   mixing ratios of the whole area at the beginning of the run (species, level, lat, lon)
    """
    rows = [*_of_sources(model, adjoints), *_of_air(model, adjoints, initial)]
    least = _LEAST * max((abs(row.value) for row in rows), default=0.0)
    ranked = sorted((row for row in rows if abs(row.value) > least), key=lambda row: -abs(row.value))
    return Contributions(tuple(ranked), _maps(model, adjoints))


def _of_sources(model: AirModel, adjoints: Adjoints) -> Iterator[Contribution]:
    for whole, source in zip(model.parts.sources, model.parts.own_sources, strict=True):
        if isinstance(whole, Inventory):
            yield from _of_inventory(model, whole, adjoints.sources)
            continue
        kind = _KINDS.get(type(source), _OTHER)
        total = sum(
            np.einsum("klyx,klyx->k", _own(model, source, each), model.subdomain.whole(source.rate(begin)))
            for begin, each in adjoints.sources.items()
        )
        for name, value in zip(source.species, np.broadcast_to(total, len(source.species)), strict=True):
            yield Contribution(kind, "", "", name, float(value))


def _of_inventory(model: AirModel, whole: Inventory, sources: Mapping[float, Array]) -> Iterator[Contribution]:
    for country, part in whole.apart():
        total = np.zeros((len(part.sectors), len(part.pollutants)))
        for begin, each in sources.items():
            total += part.worth(_own(model, part, each), begin)
        for sector, row in zip(part.sectors, total, strict=True):
            for pollutant, value in zip(part.pollutants, row, strict=True):
                yield Contribution(INVENTORY, country, sector, pollutant, float(value))


def _of_air(model: AirModel, adjoints: Adjoints, initial: Array) -> Iterator[Contribution]:
    lateral, above = np.asarray(model.constants.profile), np.asarray(model.constants.top)
    given = model.forcing.boundary
    at_sides = np.sum(adjoints.boundary_profile * lateral, axis=1)
    if given is not None:
        each = [np.sum(found * given.field.at(seconds), axis=(1, 2)) for seconds, found in adjoints.boundary.items()]
        at_sides = np.sum(each, axis=0)
    worth = {
        "air at the beginning": np.einsum("klyx,klyx->k", adjoints.initial, initial),
        "air at the sides": at_sides,
        "air above": adjoints.top * above,
    }
    for source, values in worth.items():
        for name, value in zip(model.network.names, values, strict=True):
            yield Contribution(source, "", "", name, float(value))


def _maps(model: AirModel, adjoints: Adjoints) -> Array:
    found = np.zeros((len(model.network.names), *model.whole.shape[1:]))
    for source in model.parts.own_sources:
        rows = [model.network.index(name) for name in source.species]
        for begin, each in adjoints.sources.items():
            rate = model.subdomain.whole(source.rate(begin))
            found[rows] += np.einsum("klyx,klyx->kyx", _own(model, source, each), rate)
    return found


def _own(model: AirModel, source: Source, each: Array) -> Array:
    """The adjoints of the species and levels of a source."""
    return each[[model.network.index(name) for name in source.species], : source.levels]
