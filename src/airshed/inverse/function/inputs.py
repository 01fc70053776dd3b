"""Inputs of a run as a function: factors on emission and on rates, initial mixing ratios and boundary values.

Each kind of input has the values of the case (``own``) and sets other values in a model before its first step. It
derives its sensitivities from those of the run. Factors on emission divide each source into parts on which the same
controls act, so that each part is scaled exactly. 4D-Var uses them as well.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, TypeVar

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import SECONDS_PER_DAY, SECONDS_PER_HOUR
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.inverse.backward import Adjoints
from airshed.models.air.case.inverse import ControlSection
from airshed.models.air.emissions import Inventory, StackEmissions
from airshed.models.air.model import AirModel
from airshed.models.air.rates import RateFactors
from airshed.parallel.domain import Subdomain
from airshed.process.context import Source

Item = TypeVar("Item")

Controls = Mapping[str, Array]
"""Factors [1] by the name of their control."""

_EVERYWHERE: Final = "sectors and regions need an inventory, which this case does not have (emissions.inventory)"


@dataclass(frozen=True)
class ActiveControl:
    """A control that acts on a part of a source, and the number of the part's region among those of the control."""

    control: ControlSection
    region: int | None

    def place(self, hour: int) -> tuple[int, ...]:
        """Return the index of the factor for an hour of the day (UTC) in the array of the control."""
        part = hour * self.control.parts_of_day // 24
        return (part,) if self.region is None else (part, self.region)


@dataclass(frozen=True)
class SourcePart:
    """Part of a source without factors, and the controls that act on each of its species."""

    source: Source
    acting: tuple[tuple[ActiveControl, ...], ...]


class Factors:
    """Factors of all controls, by the hour of the day.

    subdomain  columns of this rank, into which its sources emit; the arrays of controls cover the whole area
    """

    def __init__(self, start: np.datetime64, subdomain: Subdomain) -> None:
        self.controls: Controls = {}
        self.subdomain = subdomain
        self._late = float((start - start.astype("datetime64[D]")) / np.timedelta64(1, "s"))

    def hour(self, seconds: float) -> int:
        """Return the hour of the day (UTC), 0 to 23, of a time [s] since the start."""
        return int((self._late + seconds) % SECONDS_PER_DAY // SECONDS_PER_HOUR)

    def of(self, acting: ActiveControl, hour: int) -> Any:
        """Return the factor of a control in an hour of the day: a number, or an array (lat, lon) on this rank."""
        factor = self.controls[acting.control.name][acting.place(hour)]
        return self.subdomain.window.of(factor) if acting.control.resolution == "cell" else factor


class FactoredSource:
    """Source with factors on its parts:  rate[k] = sum over parts p of product of f_b, p  x  rate_p[k].

    It has the species, levels and changes of the original source. Factors change at full hours UTC.
    """

    def __init__(self, source: Source, parts: Sequence[SourcePart], factors: Factors) -> None:
        self.species, self.levels, self.changes = source.species, source.levels, source.changes
        self._parts, self._factors = parts, factors

    def rate(self, seconds: float) -> Array:
        """Return the emission [mol/s per cell], (species, levels, lat, lon)."""
        hour, total = self._factors.hour(seconds), np.zeros(())
        for part in self._parts:
            rate = np.array(part.source.rate(seconds))
            for row, acting in enumerate(part.acting):
                for each in acting:
                    rate[row] *= self._factors.of(each, hour)
            total = total + rate
        return total

    def add_gradient(self, seconds: float, adjoint: Mapping[str, Array], into: Mapping[str, Array]) -> None:
        """Add the gradient with respect to the factors in one period, which begins at a time [s].

            dJ/df_b = sum over cells of  dJ/drate  x  rate_p  x  product of the other factors

        adjoint  dJ/drate [s/mol] of the period by species, (level, lat, lon); it includes the length of the period

        Adjoints and gradients cover the whole area. All ranks call this together.
        """
        hour, own = self._factors.hour(seconds), self._factors.subdomain.window.of
        for part in self._parts:
            if any(part.acting):
                rate = part.source.rate(seconds)
                for row, acting in enumerate(part.acting):
                    by_column = np.sum(own(adjoint[self.species[row]][: rate.shape[1]]) * rate[row], axis=0)
                    for each in acting:
                        others = prod(self._factors.of(other, hour) for other in acting if other is not each)
                        found = self._factors.subdomain.whole(by_column * others)
                        into[each.control.name][each.place(hour)] += (
                            found if each.control.resolution == "cell" else found.sum()
                        )


def factored(sources: Iterable[Source], controls: Sequence[ControlSection], factors: Factors) -> list[FactoredSource]:
    """Return the sources with the factors of emission controls.

    raises  CaseError for a sector or region without emission in this case, or a control of species without emission
    """
    given, chosen = list(sources), [each for each in controls if each.target == "emission"]
    _check(given, chosen)
    return [FactoredSource(source, _parts(source, chosen), factors) for source in given]


def gradient_by_factors(
    sources: Iterable[FactoredSource], species: Sequence[str], adjoints: Mapping[float, Array], into: Controls
) -> None:
    """Add the gradient with respect to the factors on all sources.

    species   species of the mechanism, in the order of the adjoints
    adjoints  dJ/drate [s/mol] by the beginning [s] of each period: (species, level, lat, lon)
    """
    given = list(sources)
    for begin, adjoint in adjoints.items():
        by_species = dict(zip(species, adjoint, strict=True))
        for source in given:
            source.add_gradient(begin, by_species, into)


def _parts(source: Source, controls: Sequence[ControlSection]) -> list[SourcePart]:
    mine = [each for each in controls if set(each.species) & set(source.species)]
    if not isinstance(source, Inventory | StackEmissions):
        sector = getattr(source, "sector", "")
        acting = [ActiveControl(c, None) for c in mine if not c.regions and (not c.sectors or sector in c.sectors)]
        return [_part(source, acting)]
    sectors = _alike(source.sectors, lambda name: tuple(not c.sectors or name in c.sectors for c in mine))
    countries = _alike(source.countries, lambda name: tuple(_region(c, name) for c in mine))
    found = []
    for of_sectors, some in sectors.items():
        for regions, several in countries.items():
            acts = zip(mine, of_sectors, regions, strict=True)
            acting = [
                ActiveControl(c, region if c.resolution == "region" else None)
                for c, on, region in acts
                if on and region >= 0
            ]
            found.append(_part(source.selected(some, several), acting))
    return found


def _region(control: ControlSection, country: str) -> int:
    """Return the index of a country in the regions of a control; 0 for a control of all regions, -1 if not listed."""
    if not control.regions:
        return 0
    return control.regions.index(country) if country in control.regions else -1


def _part(source: Source, acting: Sequence[ActiveControl]) -> SourcePart:
    return SourcePart(source, tuple(tuple(a for a in acting if name in a.control.species) for name in source.species))


def _alike(names: Iterable[str], of: Callable[[str], Item]) -> dict[Item, list[str]]:
    found: dict[Any, list[str]] = {}
    for name in names:
        key: Hashable = of(name)
        found.setdefault(key, []).append(name)
    return found


def _check(sources: Sequence[Source], controls: Sequence[ControlSection]) -> None:
    inventories = [source for source in sources if isinstance(source, Inventory | StackEmissions)]
    emitted = {name for source in sources for name in source.species}
    for control in controls:
        if not set(control.species) & emitted:
            names = ", ".join(control.species)
            raise CaseError(f"the control {control.name} acts on {names}, which no source of this case emits")
        for key, listed in (("sectors", control.sectors), ("regions", control.regions)):
            known = [
                name for each in inventories for name in (each.sectors if key == "sectors" else each.countries) if name
            ]
            if key == "sectors":
                known += [name for each in sources if (name := getattr(each, "sector", ""))]
            for name in listed:
                if name not in known:
                    why = suggestion(name, known) if known else _EVERYWHERE
                    raise CaseError(f"the control {control.name}: {name!r} in {key} has no emission here; {why}")


class Inputs(ABC):
    """Inputs of one kind.

    own            values of the case, by name
    source_levels  number of lowest levels for which adjoints of sources are needed
    reactions      whether adjoints of factors on reaction rates are needed
    """

    own: Mapping[str, Array]
    source_levels: int = 1
    reactions: bool = False

    @abstractmethod
    def apply(self, values: Mapping[str, Array]) -> None:
        """Set the values in the model before its first step; raises CaseError for invalid values."""

    @abstractmethod
    def adjoints(self, values: Mapping[str, Array], found: Adjoints) -> dict[str, Array]:
        """Return the adjoints of the inputs for a run with these values."""


class EmissionFactors(Inputs):
    """Factors on emission by the names of controls, see :mod:`airshed.inverse.function.inputs`.

    Shapes: () for the domain, (region,) or (lat, lon); with a leading axis for parts of the day if there are several.
    """

    def __init__(self, model: AirModel, controls: Sequence[ControlSection]) -> None:
        self._model, self._factors = model, Factors(model.parts.start, model.subdomain)
        self._sources = factored(model.sources.sources, controls, self._factors)
        self.source_levels = max((source.levels for source in self._sources), default=1)
        self._shapes = {each.name: _shape(each, model.whole.shape[1:]) for each in controls}
        self.own = {name: np.ones(each[1:] if each[0] == 1 else each) for name, each in self._shapes.items()}

    def apply(self, values: Mapping[str, Array]) -> None:
        """Set the factors; see :class:`Inputs`."""
        self._factors.controls = self._whole(values)
        self._model.sources.replace(self._sources)

    def adjoints(self, values: Mapping[str, Array], found: Adjoints) -> dict[str, Array]:
        """Return the adjoints of the factors; see :class:`Inputs`."""
        self._factors.controls = self._whole(values)
        into = {name: np.zeros(shape) for name, shape in self._shapes.items()}
        gradient_by_factors(self._sources, self._model.network.names, found.sources, into)
        return {name: each.reshape(values[name].shape) for name, each in into.items()}

    def _whole(self, values: Mapping[str, Array]) -> dict[str, Array]:
        return {name: values[name].reshape(shape) for name, shape in self._shapes.items()}


def _shape(control: ControlSection, columns: tuple[int, ...]) -> tuple[int, ...]:
    behind = {"domain": (), "region": (len(control.regions),), "cell": columns}
    return (control.parts_of_day, *behind[control.resolution])


class MixingRatios(Inputs):
    """Mixing ratios [mol/mol] of species.

    kind  "initial", at the beginning of the run, before the spin-up (level, lat, lon); "boundary", the profile at the
          lateral boundary (level,); "top", above the area (). The last two do not change the initial mixing ratios.
    """

    def __init__(self, model: AirModel, kind: str, names: Iterable[str]) -> None:
        known = model.network.names
        for name in names:
            if name not in known:
                raise CaseError(f"inputs {kind}: {name!r} is not a species of the mechanism; {suggestion(name, known)}")
        if kind == "boundary" and model.forcing.boundary is not None:
            raise CaseError("the input boundary is a profile, but this run has boundary concentrations by face cell")
        self._model, self._kind = model, kind
        self._rows = {name: model.network.index(name) for name in names}
        self.own = self._of(self._whole())

    def apply(self, values: Mapping[str, Array]) -> None:
        """Set the mixing ratios; see :class:`Inputs`."""
        model, whole = self._model, self._whole()
        for name, row in self._rows.items():
            if values[name].min(initial=0.0) < 0.0 or values[name].max(initial=0.0) > 1.0:
                raise CaseError(f"input {self._kind} {name} has mixing ratios below 0 or above 1 mol/mol")
            whole[row] = values[name]
        if self._kind == "initial":
            model.begin_with(model.subdomain.window.of(whole))
        else:
            given = {"boundary": np.asarray(model.constants.profile), "top": np.asarray(model.constants.top)}
            given[self._kind] = whole
            model.set_boundary(given["boundary"], given["top"])

    def adjoints(self, values: Mapping[str, Array], found: Adjoints) -> dict[str, Array]:
        """Return the adjoints of the mixing ratios; see :class:`Inputs`."""
        by_kind = {"initial": found.initial, "boundary": found.boundary_profile, "top": found.top}
        return self._of(by_kind[self._kind])

    def _whole(self) -> Array:
        """Return a copy of the mixing ratios of all species (species, ...)."""
        model = self._model
        if self._kind == "initial":
            return np.array(model.subdomain.whole(model.mixing_ratios()))
        return np.array(model.constants.profile if self._kind == "boundary" else model.constants.top)

    def _of(self, whole: Array) -> dict[str, Array]:
        return {name: np.array(whole[row]) for name, row in self._rows.items()}


class ReactionRates(Inputs):
    """Factors on the rate constants of reactions, by their labels; each has the shape ()."""

    reactions = True

    def __init__(self, model: AirModel, factors: RateFactors) -> None:
        self._model, self._factors = model, factors
        labels = [each.label for each in model.network.reactions]
        self._numbers = {label: labels.index(label) for label in factors.values}
        self.own = {label: np.ones(()) for label in factors.values}

    def apply(self, values: Mapping[str, Array]) -> None:
        """Set the factors; see :class:`Inputs`."""
        for label in self._numbers:
            if values[label] <= 0.0:
                raise CaseError(f"input rates {label}: the factor is {float(values[label]):g}; it must be above 0")
            self._factors.values[label] = float(values[label])
        self._model.forcing.renew()

    def adjoints(self, values: Mapping[str, Array], found: Adjoints) -> dict[str, Array]:
        """Return the adjoints of the factors f, from those of relative changes df / f; see :class:`Inputs`."""
        assert found.reactions is not None
        return {label: found.reactions[number] / values[label] for label, number in self._numbers.items()}
