"""Meanings of the species of a mechanism: from a shipped map, their atoms, or the family of the mechanism.

A name alone is sufficient only if it has the same meaning in every mechanism, such as O3 and C2H6. ISOP is isoprene in
carbon bond mechanisms and its peroxy radical in RACM: the family of the mechanism, which several of its species
identify, decides the meaning of such names. A composition in the mechanism's file has priority over a name.

:func:`doubts` lists doubtful entries of a map: guesses, contradictions, and columns that count twice.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from airshed.mechanism.network import ReactionNetwork, Species
from airshed.models.air.species_map.parts import Amounts, BoundaryMap, SpeciesMap, depositing_species, read_table
from airshed.models.air.species_map.read import shipped_maps

_FORMULA: Final = re.compile(r"([A-Z][a-z]?)(\d*)")
_RADICAL: Final = "radical"
_FITS: Final = 0.8  # fraction of the species of a shipped map that a mechanism must have to use the map


@dataclass(frozen=True)
class Substance:
    """Substance that species can represent, see ``data/families/substances.toml``.

    boundary  columns of the clean-air profile with factors, empty for substances not in clean air, or a mixing ratio
    deposits  substance of the deposition table; empty for a substance that does not deposit
    isomers   True if other substances have the same atoms
    shared    True if the species has only a fraction of the first column, and other species have the rest
    """

    name: str
    atoms: Mapping[str, int]
    boundary: Amounts | str
    deposits: str
    isomers: bool
    shared: bool = False

    @property
    def carbon(self) -> int:
        """Atoms of carbon in a molecule."""
        return self.atoms.get("C", 0)

    @property
    def nitrogen(self) -> int:
        """Atoms of nitrogen in a molecule."""
        return self.atoms.get("N", 0)


@dataclass(frozen=True)
class Family:
    """Family of mechanisms, see ``data/families/families.toml``; names are in upper case."""

    title: str
    marks: frozenset[str]
    least: int
    names: Mapping[str, str]
    radicals: frozenset[str]
    lumped: Mapping[str, Mapping[str, Any]]
    emissions: Mapping[str, tuple[Amounts, ...]]
    variants: tuple["Family", ...] = ()


@dataclass(frozen=True)
class Meaning:
    """Meaning of a species; entries are None if unknown.

    substance  name of a substance, empty for a lumped species or a radical
    boundary, deposits  as of a substance
    carbon     carbon atoms of a species whose composition the file does not give
    guess      title of the family whose names are the only evidence; empty if the meaning is certain
    shared     True if the species has only a fraction of the first column, and other species have the rest
    """

    substance: str = ""
    boundary: Amounts | str | None = None
    deposits: str | None = None
    carbon: float | None = None
    guess: str = ""
    shared: bool = False


@dataclass(frozen=True)
class Meanings:
    """Meanings of the species of a mechanism.

    own      shipped map that fits the mechanism, in the names of the mechanism; else an empty map
    loose    True if the mechanism lacks species of that map, so that its entries are guesses
    family   family of the mechanism, recognised by the species `by`
    species  name -> meaning, for species with a known meaning
    """

    own: SpeciesMap
    loose: bool = False
    family: Family | None = None
    by: tuple[str, ...] = ()
    species: Mapping[str, Meaning] = field(default_factory=dict)

    def standing_for(self, substance: str) -> str | None:
        """Return the species that is a substance, a certain one before guesses; None for no or several species."""
        found = [name for name, meaning in self.species.items() if meaning.substance == substance]
        certain = [name for name in found if not self.species[name].guess]
        best = certain or found
        return best[0] if len(best) == 1 else None


def meanings_of(network: ReactionNetwork) -> Meanings:
    """Return the meanings of the species of a mechanism that follow from names, atoms and its family."""
    own, loose = _own_map(network.names)
    family, by = recognise(network.names)
    found: dict[str, Meaning] = {}
    for species in network.species:
        meaning = _by_name(species, family)
        if meaning is not None:
            found[species.name] = meaning
    taken = {meaning.substance for meaning in found.values()}
    found |= _by_atoms([each for each in network.species if each.name not in found], taken)
    return Meanings(own, loose, family, by, found)


def recognise(names: Iterable[str]) -> tuple[Family | None, tuple[str, ...]]:
    """Return the family of a mechanism and the names that identify it; None if no family, or two, fit equally well."""
    known = {name.upper(): name for name in names}
    counted = [(family.marks.intersection(known), family) for family in families()]
    fitting = sorted(
        ((len(marks), family, marks) for marks, family in counted if len(marks) >= family.least),
        key=lambda each: -each[0],
    )
    if not fitting or (len(fitting) > 1 and fitting[0][0] == fitting[1][0]):
        return None, ()
    _, family, marks = fitting[0]
    for variant in family.variants:
        if len(variant.marks.intersection(known)) >= variant.least:
            family, marks = variant, marks | variant.marks.intersection(known)
    return family, tuple(sorted(known[mark] for mark in marks))


def meanings_elsewhere(name: str) -> str:
    """Return the meanings of a name in all families that have it, as text; empty for an unknown name."""
    found = []
    for family in families():
        if name.upper() in family.names:
            found.append(f"{family.names[name.upper()]} in {family.title}")
        elif name.upper() in family.radicals:
            found.append(f"a radical in {family.title}")
        elif name.upper() in family.lumped:
            found.append(f"a lumped species in {family.title}")
    return ", ".join(found)


def atoms_agree(species: Species, atoms: Mapping[str, int]) -> bool:
    """Return False if the composition in the mechanism's file contradicts that of a substance.

    Files often give only carbon or nitrogen; hydrogen is compared only for hydrocarbons.
    """
    own = {atom.capitalize(): number for atom, number in species.atoms.items()}
    if any(atom not in atoms for atom in own if atom in ("C", "N", "S", "O")):
        return False
    compared: list[str] = [atom for atom in ("C", "N", "S", "O") if atom in own]
    if "C" in own and "H" in own and not set(own) - {"C", "H"}:
        compared.append("H")
    return all(own[atom] == atoms.get(atom, 0) for atom in compared)


def _by_name(species: Species, family: Family | None) -> Meaning | None:
    """Return the meaning of a name in the family, else in all mechanisms, unless the atoms contradict it."""
    name = species.name.upper()
    if family is not None:
        if name in family.names:
            return _as_substance(species, substances()[family.names[name]], family)
        if name in family.lumped:
            row = family.lumped[name]
            carbon = row.get("carbon")
            if carbon is not None and abs(species.atoms.get("C", carbon) - carbon) > 1.5:
                return None
            boundary, deposits = row.get("boundary", {}), row.get("deposits", "")
            return Meaning("", boundary, deposits, carbon, family.title, row.get("shared", False))
        if name in family.radicals:
            return Meaning("", {}, "", None, family.title)
    universal = _universal_names().get(name)
    return None if universal is None else _as_substance(species, substances()[universal], None)


def _as_substance(species: Species, substance: Substance, family: Family | None) -> Meaning | None:
    if not atoms_agree(species, substance.atoms):
        return None
    guess = "" if family is None or species.atoms else family.title
    return Meaning(substance.name, substance.boundary, substance.deposits, substance.carbon, guess, substance.shared)


def _by_atoms(left: Iterable[Species], taken: set[str]) -> dict[str, Meaning]:
    """Return the meanings of species whose full composition identifies one substance and one species."""
    by_formula = {frozenset(each.atoms.items()): each for each in substances().values() if not each.isomers}
    found: dict[str, list[Species]] = {}
    for species in left:
        atoms = frozenset((atom.capitalize(), number) for atom, number in species.atoms.items())
        if atoms in by_formula and by_formula[atoms].name not in taken:
            found.setdefault(by_formula[atoms].name, []).append(species)
    alone = {of[0].name: substances()[name] for name, of in found.items() if len(of) == 1}
    return {name: Meaning(each.name, each.boundary, each.deposits, each.carbon) for name, each in alone.items()}


def _own_map(names: Iterable[str]) -> tuple[SpeciesMap, bool]:
    """Return the shipped map that fits a mechanism with these species, and True if it has additional species.

    The map is empty if none fits. Its names of species are those of the mechanism.
    """
    known = {name.casefold(): name for name in names}
    for each in shipped_maps():
        mapped = {name.casefold() for name in (*each.boundary.zero, *each.boundary.profile, *each.boundary.uniform)}
        if len(mapped) > 10 and len(mapped & known.keys()) > _FITS * len(mapped):
            return each.renamed(lambda _, name: known.get(name.casefold())), not mapped <= known.keys()
    return SpeciesMap(), False


@cache
def substances() -> Mapping[str, Substance]:
    """Return the substances by name."""
    found = {}
    for name, row in read_table("families/substances.toml").items():
        atoms: dict[str, int] = {}
        for atom, number in _FORMULA.findall(row["formula"]):
            atoms[atom] = atoms.get(atom, 0) + int(number or 1)
        boundary = {} if _RADICAL in row["boundary"] else row["boundary"]
        entry = depositing_species().get(row.get("deposits", name).casefold())
        others = row.get("isomers", False), row.get("shared", False)
        found[name] = Substance(name, atoms, boundary, entry.name if entry else "", *others)
    return found


@cache
def _universal_names() -> Mapping[str, str]:
    table = read_table("families/substances.toml").items()
    return {each.upper(): name for name, row in table for each in (name, *row.get("names", ()))}


@cache
def families() -> tuple[Family, ...]:
    """Return the families of mechanisms; a variant has its own entries and the other entries of its family."""
    rows = read_table("families/families.toml")
    found: dict[str, Family] = {}
    for key, row in sorted(rows.items(), key=lambda each: "variant_of" in each[1]):  # families first
        own = Family(
            row["title"], frozenset(row["marks"]), row["least"], row.get("names", {}), frozenset(row["radicals"]),
            row.get("lumped", {}), {name: tuple(ways) for name, ways in row.get("emissions", {}).items()},
        )  # fmt: skip
        if "variant_of" not in row:
            found[key] = own
            continue
        base = found[row["variant_of"]]
        variant = replace(
            own, names={**base.names, **own.names}, radicals=base.radicals | own.radicals,
            lumped={**base.lumped, **own.lumped}, emissions={**base.emissions, **own.emissions},
        )  # fmt: skip
        found[row["variant_of"]] = replace(base, variants=(*base.variants, variant))
    return tuple(found.values())


_LISTED = 8
_WHOLE = 1.0  # factor above which a column counts fully in a species


def doubts(species_map: SpeciesMap, network: ReactionNetwork, compounds: Iterable[str]) -> list[str]:
    """Return a line for each doubt about a map, in the spelling of the mechanism.

    compounds  compounds that the case emits
    """
    meanings = meanings_of(network)
    return [
        *_guesses(species_map, compounds),
        *_contradictions(species_map, meanings, compounds),
        *counted_twice(species_map.boundary),
    ]


def counted_twice(boundary: BoundaryMap) -> list[str]:
    """Return a line for each column of the profile that counts fully in more than one species."""
    species: dict[str, list[str]] = {}
    for name, columns in boundary.profile.items():
        for column, factor in columns.items():
            if factor >= _WHOLE:
                species.setdefault(column, []).append(name)
    return [
        f"[boundary] counts the column {column} in {' and in '.join(names)}; remove it from all but one"
        for column, names in species.items()
        if len(names) > 1
    ]


def _guesses(species_map: SpeciesMap, compounds: Iterable[str]) -> list[str]:
    """Return a line with the entries that depend on guesses: species of compounds, and species by section."""
    guessed, emitted = species_map.guesses, set(compounds)
    found = []
    becomes = [
        f"{name} as {' + '.join(species_map.emissions.of(name)) or 'nothing'}"
        for name in guessed.get("emissions", ())
        if name in emitted
    ]
    if becomes:
        found.append(f"emission of {', '.join(becomes)}")
    for section, text in (("boundary", "clean air"), ("deposition", "deposition")):
        names = guessed.get(section, ())
        if names:
            more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
            found.append(f"{text} of {', '.join(names[:_LISTED])}{more}")
    return [f"{Path(species_map.source).name} guesses: {'; '.join(found)}"] if found else []


def _contradictions(species_map: SpeciesMap, meanings: Meanings, compounds: Iterable[str]) -> list[str]:
    """Return a line for each compound that the map assigns to a species with a different meaning."""
    if meanings.family is None or (meanings.own.source and not meanings.loose):
        return []
    found = []
    for compound in dict.fromkeys(compounds):
        right = meanings.standing_for(compound)
        becomes = species_map.emissions.of(compound)
        if right is not None and becomes and right not in becomes:
            title = meanings.family.title
            found.append(f"{compound} is mapped to {' + '.join(becomes)}, but is {right} in mechanisms like {title}")
    return found
