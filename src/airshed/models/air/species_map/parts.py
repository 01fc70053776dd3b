"""Species map as data: emission, boundary, deposition and rates in the species of one mechanism."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final, Self, TypeVar

ISOPRENE: Final = "isoprene"  # the compound that vegetation emits
OPTIONAL: Final = ("NH3",)  # compounds that most ozone mechanisms lack
Value = TypeVar("Value")
Amounts = Mapping[str, float]  # species (or column) -> factor [mol/mol]


def read_table(path: str) -> dict[str, Any]:
    """Return a shipped table, by its path in the folder ``data``."""
    return tomllib.loads((files("airshed.models.air") / "data" / path).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Compound:
    """Compound of an inventory pollutant: its mass fraction [kg/kg], and the mass per mole in the report [kg/mol].

    For NOx, reported as NO2, the molar mass is that of NO2 for both compounds.
    carbon  carbon atoms in a molecule, None if unknown
    """

    name: str
    share: float
    molar_mass: float
    carbon: float | None = None


@dataclass(frozen=True)
class EmissionMap:
    """Map of emitted compounds: moles of species per mole of a compound; an empty entry omits the compound.

    split   pollutant -> its compounds, in place of the split of the inventory
    carbon  species -> carbon atoms, if the mechanism does not give them
    others  True to omit all compounds without an entry
    """

    becomes: Mapping[str, Amounts] = field(default_factory=dict)
    split: Mapping[str, tuple[Compound, ...]] = field(default_factory=dict)
    carbon: Mapping[str, float] = field(default_factory=dict)
    others: bool = False

    @classmethod
    def same(cls, species: Iterable[str]) -> Self:
        """Return the map of each compound to the species of its name; ammonia is omitted if there is none."""
        becomes: dict[str, Amounts] = {name: {} for name in OPTIONAL}
        return cls(becomes | {name: {name: 1.0} for name in species})

    def __contains__(self, compound: str) -> bool:
        return self.others or compound in self.becomes

    def of(self, compound: str) -> Amounts:
        """Return the species of a compound, with their factors."""
        return self.becomes.get(compound, {})


@dataclass(frozen=True)
class BoundaryMap:
    """Map of clean air to species: 0, a uniform mixing ratio [mol/mol], or a sum of factor * column.

    name    name of its file
    others  True to set all species without an entry to 0
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
    """Substance of a shipped table, and the source of its numbers."""

    name: str
    source: str
    particle: bool


Entry = TypeVar("Entry", bound=TableEntry)


def entries_of(path: str, make: Callable[[str, Mapping[str, Any]], Entry]) -> Mapping[str, Entry]:
    """Return the entries of a shipped table by folded name, once for each name and alias of a substance."""
    known: dict[str, Entry] = {}
    for name, row in read_table(path).items():
        entry = make(name, row)
        known.update({alias.casefold(): entry for alias in (name, *row.get("alias", ()))})
    return known


def look_up(
    species: Iterable[str], substances: Mapping[str, str], find: Callable[[str], Entry | None],
    given: Mapping[str, float], texts: tuple[str, str],
) -> tuple[dict[str, Entry], dict[str, str]]:  # fmt: skip
    """Return the table entry of each species without a given number, and the source of all numbers.

    substances  {species: substance of the table}, for `find`;  given  {species: number}, 0 for none
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
    """Depositing substance: molar mass [g/mol], Henry's constant [mol/(l atm)], reactivity [1]; 0 for particles.

    ``constant`` are the velocities [m/s] over land and sea of the scheme "constant", None if there are none.
    """

    mass: float
    henry: float
    reactivity: float
    constant: tuple[float, float] | None


@cache
def depositing_species() -> Mapping[str, DepositingSpecies]:
    """Return the depositing substances, see :func:`entries_of`."""

    def make(name: str, row: Mapping[str, Any]) -> DepositingSpecies:
        constant = row.get("constant")
        return DepositingSpecies(
            name, row["source"], row.get("particle", False), row.get("mass", 0.0), row.get("henry", 0.0),
            row.get("reactivity", 0.0), (0.01 * constant["land"], 0.01 * constant["sea"]) if constant else None,
        )  # fmt: skip

    return entries_of("deposition/species.toml", make)


@dataclass(frozen=True)
class DepositionMap:
    """Map of species to surrogates in the deposition table; species in `none` do not deposit.

    others  True if species without an entry do not deposit
    """

    surrogate: Mapping[str, str] = field(default_factory=dict)
    none: frozenset[str] = frozenset()
    others: bool = False

    def __contains__(self, species: str) -> bool:
        return self.others or species in self.none or species in self.surrogate

    def substances(self, species: Iterable[str]) -> dict[str, str]:
        """Return the surrogates of species; the surrogate of a species without an entry is its own name."""
        return {name: self.surrogate.get(name, name) for name in species if name in self.surrogate or name not in self}


@dataclass(frozen=True)
class SpeciesMap:
    """Species map of a mechanism, see ``docs/how-to/species-maps.md``.

    source      file, for messages; empty for the empty map
    mechanisms  names of mechanisms that use the map, in addition to the name of its file
    air         gases of the air itself: not transported, with the concentration of each cell
    unfit       reason why the mechanism cannot run in a case; empty if it can
    caution     warning about the use of its results, for the summary of a run
    rates       open parameter of the mechanism -> formula in the language of rates
    names       name in cases -> species of the mechanism, empty if it has none
    guesses     section -> entries that a template guessed and that are not confirmed
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
        """Return the map with species of processes; without an entry they are zero in clean air and do not deposit."""
        boundary, deposition = self.boundary, self.deposition
        zero = {name for name in names if name not in boundary}
        stay = {name for name in names if name not in deposition}
        return replace(
            self, boundary=replace(boundary, zero=boundary.zero | zero),
            deposition=replace(deposition, none=deposition.none | stay),
        )  # fmt: skip

    def renamed(self, rename: Callable[[str, str], str | None]) -> Self:
        """Return the map with other names of species.

        rename  (section, name) -> new name; None omits the entry, and compounds mapped to this species
        """

        def entries(section: str, given: Mapping[str, Value]) -> dict[str, Value]:
            names = ((rename(section, name), value) for name, value in given.items())
            return {name: value for name, value in names if name is not None}

        def names(section: str, given: Iterable[str]) -> frozenset[str]:
            return frozenset(entries(section, dict.fromkeys(sorted(given))))  # sorted for reproducible messages

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
