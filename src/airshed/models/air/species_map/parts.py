"""A species map as data: what the rest of the model hands over, in the species of one mechanism."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final, Self, TypeVar

ISOPRENE: Final = "isoprene"  # the compound that vegetation emits
OPTIONAL: Final = ("NH3",)  # compounds that most mechanisms of ozone do without
Value = TypeVar("Value")
Amounts = Mapping[str, float]  # species (or column) -> factor [mol/mol]


def read_table(path: str) -> dict[str, Any]:
    """Return a table that is shipped with the model, by its path in the folder ``data``."""
    return tomllib.loads((files("airshed.models.air") / "data" / path).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Compound:
    """A part of what an inventory reports: its share of the mass [kg/kg], and the mass that counts as a mole [kg/mol].

    For NOx, reported as NO2, the molar mass is that of NO2 for both compounds.
    carbon  atoms of carbon in a molecule, None where it is unknown
    """

    name: str
    share: float
    molar_mass: float
    carbon: float | None = None


@dataclass(frozen=True)
class EmissionMap:
    """What each compound that is emitted becomes: moles of species from a mole of it, nothing by intent if empty.

    split   pollutant -> its compounds, in place of the inventory's own split
    carbon  species -> atoms of carbon, where the mechanism does not give them
    others  whether a compound that is not named becomes nothing
    """

    becomes: Mapping[str, Amounts] = field(default_factory=dict)
    split: Mapping[str, tuple[Compound, ...]] = field(default_factory=dict)
    carbon: Mapping[str, float] = field(default_factory=dict)
    others: bool = False

    @classmethod
    def same(cls, species: Iterable[str]) -> Self:
        """Return the map in which each compound is the species of its name; without ammonia it becomes nothing."""
        becomes: dict[str, Amounts] = {name: {} for name in OPTIONAL}
        return cls(becomes | {name: {name: 1.0} for name in species})

    def __contains__(self, compound: str) -> bool:
        return self.others or compound in self.becomes

    def of(self, compound: str) -> Amounts:
        """Return what a compound becomes."""
        return self.becomes.get(compound, {})


@dataclass(frozen=True)
class BoundaryMap:
    """How each species of clean air is made: 0, the same everywhere [mol/mol], or a sum of factor * column.

    name    of its file
    others  whether a species that is not named is 0
    """

    name: str = ""
    zero: frozenset[str] = frozenset()
    uniform: Mapping[str, float] = field(default_factory=dict)
    profile: Mapping[str, Amounts] = field(default_factory=dict)
    others: bool = False

    def __contains__(self, species: str) -> bool:
        return self.others or species in self.zero or species in self.uniform or species in self.profile


@dataclass(frozen=True)
class TableEntry:
    """A substance of a shipped table, and the source of its numbers."""

    name: str
    source: str
    particle: bool


Entry = TypeVar("Entry", bound=TableEntry)


def entries_of(path: str, make: Callable[[str, Mapping[str, Any]], Entry]) -> Mapping[str, Entry]:
    """Return what a shipped table holds, by folded name; a substance stands under its name and each of its aliases."""
    known: dict[str, Entry] = {}
    for name, row in read_table(path).items():
        entry = make(name, row)
        known.update({alias.casefold(): entry for alias in (name, *row.get("alias", ()))})
    return known


def look_up(
    species: Iterable[str], substances: Mapping[str, str], find: Callable[[str], Entry | None],
    given: Mapping[str, float], texts: tuple[str, str],
) -> tuple[dict[str, Entry], dict[str, str]]:  # fmt: skip
    """Return the entry of each species whose numbers are not given, and where each that has numbers has them from.

    substances  {species: substance of the table}, which `find` returns;  given  {species: number}, 0 for none
    texts       name of the scheme, and unit of the given numbers
    """
    table: dict[str, Entry] = {}
    provenance: dict[str, str] = {}
    for name in species:
        entry = find(substances[name]) if name in substances and name not in given else None
        if entry is not None:
            table[name] = entry
            other = "" if entry.name.casefold() == name.casefold() else f"as {entry.name}, "
            provenance[name] = f"{texts[0]}: {other}{entry.source}"
        elif given.get(name, 0.0) > 0.0:
            provenance[name] = f"given: {given[name]:g} {texts[1]}"
    return table, provenance


@dataclass(frozen=True)
class DepositingSpecies(TableEntry):
    """A substance that deposits: molar mass [g/mol], Henry's constant [mol/(l atm)], reactivity [1]; 0 for particles.

    ``constant`` are the velocities [m/s] over land and sea of the scheme "constant", None where it has none.
    """

    mass: float
    henry: float
    reactivity: float
    constant: tuple[float, float] | None


@cache
def depositing_species() -> Mapping[str, DepositingSpecies]:
    """Return what deposits, see :func:`entries_of`."""

    def make(name: str, row: Mapping[str, Any]) -> DepositingSpecies:
        constant = row.get("constant")
        return DepositingSpecies(
            name, row["source"], row.get("particle", False), row.get("mass", 0.0), row.get("henry", 0.0),
            row.get("reactivity", 0.0), (0.01 * constant["land"], 0.01 * constant["sea"]) if constant else None,
        )  # fmt: skip

    return entries_of("deposition/species.toml", make)


@dataclass(frozen=True)
class DepositionMap:
    """As which substance of the deposition table a species deposits; `none` are those that stay in the air.

    others  whether a species that is not named stays in the air
    """

    surrogate: Mapping[str, str] = field(default_factory=dict)
    none: frozenset[str] = frozenset()
    others: bool = False

    def __contains__(self, species: str) -> bool:
        return self.others or species in self.none or species in self.surrogate

    def substances(self, species: Iterable[str]) -> dict[str, str]:
        """Return as which substances species deposit: one that the map does not name, under its own name."""
        return {name: self.surrogate.get(name, name) for name in species if name in self.surrogate or name not in self}


@dataclass(frozen=True)
class SpeciesMap:
    """All that a case needs to run with a mechanism, see ``docs/how-to/species-maps.md``.

    source      the file, for messages; empty for the map that says nothing
    mechanisms  names of mechanisms that it is for, besides the name of its file
    air         species of the mechanism that are the air itself: not carried, of each cell's own concentration
    unfit       why the mechanism cannot run in a case; empty where it can
    caution     what its results must not be taken for; stands in the summary of a run
    rates       parameter that the mechanism leaves open -> formula in the language of rates
    names       name that cases use -> the mechanism's species, empty where it has none
    guesses     section -> its entries that a template guessed and that are not confirmed
    """

    source: str = ""
    mechanisms: tuple[str, ...] = ()
    air: tuple[str, ...] = ()
    unfit: str = ""
    caution: str = ""
    emissions: EmissionMap = field(default_factory=EmissionMap)
    boundary: BoundaryMap = field(default_factory=BoundaryMap)
    deposition: DepositionMap = field(default_factory=DepositionMap)
    rates: Mapping[str, str | float] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    guesses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def with_own_species(self, names: Iterable[str]) -> Self:
        """Return the map with species of processes: unless it has them, zero in clean air, and none deposits."""
        boundary, deposition = self.boundary, self.deposition
        zero = {name for name in names if name not in boundary}
        stay = {name for name in names if name not in deposition}
        return replace(
            self, boundary=replace(boundary, zero=boundary.zero | zero),
            deposition=replace(deposition, none=deposition.none | stay),
        )  # fmt: skip

    def renamed(self, rename: Callable[[str, str], str | None]) -> Self:
        """Return the map with other names of species.

        rename  takes a section and a name; None leaves the entry out, and a compound that becomes this species, too
        """

        def entries(section: str, given: Mapping[str, Value]) -> dict[str, Value]:
            names = ((rename(section, name), value) for name, value in given.items())
            return {name: value for name, value in names if name is not None}

        def names(section: str, given: Iterable[str]) -> frozenset[str]:
            return frozenset(entries(section, dict.fromkeys(sorted(given))))  # messages keep one order

        emissions, boundary, deposition = self.emissions, self.boundary, self.deposition
        becomes = {
            compound: amounts
            for compound, given in emissions.becomes.items()
            if len(amounts := entries("emissions", given)) == len({name.casefold() for name in given})
        }
        return replace(
            self,
            emissions=replace(emissions, becomes=becomes, carbon=entries("carbon", emissions.carbon)),
            boundary=replace(
                boundary, zero=names("boundary", boundary.zero), uniform=entries("boundary", boundary.uniform),
                profile=entries("boundary", boundary.profile),
            ),
            deposition=replace(
                deposition, surrogate=entries("deposition", deposition.surrogate),
                none=names("deposition", deposition.none),
            ),
            names={name: rename("names", own) or "" if own else "" for name, own in self.names.items()},
        )  # fmt: skip
