"""Search and reading of the species map of a mechanism: of the case, of the mechanism's folder, or a shipped one.

Errors name the file and the line.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from sys import float_info
from typing import Any, Final, NoReturn, TypeVar

from airshed.case.messages import dotted
from airshed.case.toml import KeyPath, flatten, key_lines, read_toml
from airshed.core.errors import CaseError
from airshed.core.text import shown, suggestion
from airshed.core.units import to
from airshed.models.air.species_map.parts import (
    Amounts,
    BoundaryMap,
    Compound,
    DepositionMap,
    EmissionMap,
    SpeciesMap,
    depositing_species,
)

AUTO = "auto"  # choice by the name of the mechanism
SUFFIX = ".species.toml"  # suffix of a map in the folder of a mechanism


def find_species_map(choice: str, mechanism: str, name: str, base: Path) -> SpeciesMap:
    """Return the species map of a mechanism, or an empty map if there is none.

    choice     "auto", the name of a shipped map, or a file
    mechanism  name or path in the case; ``NAME.species.toml`` is searched in the folder of a path
    name       name of the network
    base       folder to which `choice` is relative

    Raises CaseError for a map that does not exist, cannot be read, or declares the mechanism unfit.
    """
    found = species_map_of(mechanism, name) if choice == AUTO else _chosen(choice, base)
    if found.unfit:
        raise CaseError(f"mechanism {name} cannot run in a case: {found.unfit}")
    return found


def species_map_of(mechanism: str, name: str) -> SpeciesMap:
    """Return the map of a mechanism, from its name or path and the name of its network; empty if there is none."""
    beside = map_beside(mechanism)
    if beside is not None and beside.is_file():
        return read_species_map(beside)
    names = {Path(mechanism).stem.casefold(), mechanism.casefold(), name.casefold()}
    for known in _shipped():
        if known.casefold() in names:
            return shipped_species_map(known)
    maps = (shipped_species_map(known) for known in _shipped())
    return next((each for each in maps if not names.isdisjoint(map(str.casefold, each.mechanisms))), SpeciesMap())


def map_beside(mechanism: str) -> Path | None:
    """Return the path of the map of a mechanism that is a path, existing or not; None for a name."""
    path = Path(mechanism)
    return path.with_name(path.stem + SUFFIX) if path.suffix or len(path.parts) > 1 else None


def map_to_write(species_map: SpeciesMap, mechanism: str) -> str:
    """Return the user's file for new entries: the map itself, or a new file with the expected name."""
    shipped = [str(path) for path in _shipped().values()]
    own = species_map.source if species_map.source not in shipped else ""
    return own or str(map_beside(mechanism) or f"{mechanism}{SUFFIX}")


@cache
def shipped_species_map(name: str) -> SpeciesMap:
    """Return a shipped map by its name; raises CaseError for an unknown name."""
    if name not in _shipped():
        raise CaseError(f"there is no species map {name!r}; {suggestion(name, _shipped())}, and a file ends in .toml")
    return read_species_map(_shipped()[name])


def shipped_maps() -> tuple[SpeciesMap, ...]:
    """Return all shipped maps."""
    return tuple(map(shipped_species_map, _shipped()))


@cache
def _shipped() -> dict[str, Path]:
    with as_file(files("airshed.models.air") / "data" / "species") as folder:
        return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def _chosen(choice: str, base: Path) -> SpeciesMap:
    path = Path(choice)
    if not path.suffix and len(path.parts) == 1:
        return shipped_species_map(choice)
    return read_species_map(base / path)


Value = TypeVar("Value")

SECTIONS: Final = (
    "mechanisms", "unfit", "caution", "air", "names", "split", "emissions", "boundary", "deposition", "rates", "carbon",
    "guesses",
)  # fmt: skip

OTHERS: Final = "others"  # in place of a list of names: all names without an entry
_GUESSED: Final = ("emissions", "boundary", "deposition")
_LONGEST: Final = 60
_MOST_MOLES: Final = 1e6  # more moles than a mole of anything becomes, and more atoms of carbon than it has
_HEAVIEST: Final = 10.0
_COMPOUND: Final = 'NAME = { mass = 0.95, molar_mass = "46.0055 g/mol", carbon = 0 }'


def read_species_map(path: Path) -> SpeciesMap:
    """Return a species map; raises CaseError with file and line for invalid entries."""
    data, text = read_toml(path)
    reader = _Reader(path, data, key_lines(text))
    for key in data:
        if key not in SECTIONS:
            reader.refuse((key,), f"a species map has no {shown(key)}; {suggestion(key, SECTIONS)}")
    none, becomes = reader.section("emissions", "none", reader.amounts)
    zero, clean = reader.section("boundary", "zero", reader.clean_air)
    left, surrogate = reader.section("deposition", "none", reader.substance)
    return SpeciesMap(
        source=str(path),
        mechanisms=reader.words(("mechanisms",)),
        air=reader.words(("air",)),
        unfit=reader.text("unfit"),
        caution=reader.text("caution"),
        emissions=EmissionMap(
            becomes={name: {} for name in none or ()} | becomes, split=reader.split(),
            carbon=reader.table("carbon", reader.number), others=none is None,
        ),
        boundary=BoundaryMap(
            path.name, frozenset(zero or ()), others=zero is None,
            uniform={name: value for name, value in clean.items() if isinstance(value, float)},
            profile={name: value for name, value in clean.items() if not isinstance(value, float)},
        ),
        deposition=DepositionMap(surrogate, frozenset(left or ()), others=left is None),
        rates=reader.rates(),
        names=reader.names(),
        guesses=reader.guesses(),
    )  # fmt: skip


class _Reader:
    """Parsed file, and the line of each key."""

    def __init__(self, path: Path, data: Mapping[str, Any], lines: Mapping[KeyPath, int]) -> None:
        self._path, self._data, self._lines = path, data, lines

    def refuse(self, key: KeyPath, message: str) -> NoReturn:
        """Raise CaseError with the line of a key."""
        known = next((self._lines[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self._lines), None)
        place = f"{self._path}:{known}" if known else str(self._path)
        raise CaseError(f"{place}: {message}")

    def table(self, name: str, check: Callable[[KeyPath, Any], Value]) -> dict[str, Value]:
        """Return a section with each value checked."""
        return {key: check((name, key), value) for key, value in self._table((name,)).items()}

    def section(
        self, name: str, empty: str, check: Callable[[KeyPath, Any], Value]
    ) -> tuple[tuple[str, ...] | None, dict[str, Value]]:
        """Return the names under the key `empty` (None for "others") and the other entries of a section."""
        entries = self._table((name,))
        key = (name, empty)
        left = entries.get(empty, [])
        none = None if left == OTHERS else self.words(key, left)
        found = {species: check((name, species), value) for species, value in entries.items() if species != empty}
        for species in none or ():
            if species in found:
                self.refuse(key, f"{name}: {species} has an entry and is also in {empty!r}; remove one of the two")
        return none, found

    def words(self, key: KeyPath, value: object = None) -> tuple[str, ...]:
        """Return a list of names."""
        value = self._data.get(str(key[0]), []) if value is None else value
        if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
            self.refuse(key, f'{dotted(key)} must be a list of names such as ["OH", "HO2"], or "{OTHERS}"')
        return tuple(value)

    def word(self, key: KeyPath, value: object) -> str:
        """Return a text."""
        if not isinstance(value, str):
            self.refuse(key, f"{dotted(key)} must be a text in quotes, not {shown(value)}")
        return value

    def substance(self, key: KeyPath, value: object) -> str:
        """Return the name of a substance of the deposition table."""
        name, known = self.word(key, value), depositing_species()
        if name.casefold() not in known:
            among = suggestion(name, (entry.name for entry in known.values()))
            self.refuse(key, f"{dotted(key)} = {shown(value)} is not in the deposition table; {among}")
        return name

    def text(self, name: str) -> str:
        """Return a text of one or more lines as one line; empty if it is missing."""
        return " ".join(self.word((name,), self._data.get(name, "")).split())

    def number(self, key: KeyPath, value: object, most: float = float_info.max) -> float:
        """Return a number that is finite, not negative, and not above a limit."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            limit = "" if most == float_info.max else f" and at most {most:g}"
            self.refuse(key, f"{dotted(key)} = {shown(value)} must be a number of 0 or more{limit}")
        return float(value)

    def rates(self) -> dict[str, str | float]:
        """Return formulas and numbers by name; entries of an inner table have its name and a dot as a prefix."""
        named = flatten(self._table(("rates",)), ("rates",))
        return {
            ".".join(map(str, key[1:])): value if isinstance(value, str) else self.number(key, value)
            for key, value in named.items()
        }

    def amounts(self, key: KeyPath, value: object) -> Amounts:
        """Return the species of a compound, with their factors."""
        if not isinstance(value, dict):
            self.refuse(
                key, f"{dotted(key)} must be a table of factors such as {{ OLE = 1, PAR = 1 }}, not {shown(value)}"
            )
        return {name: self.number((*key, name), factor, _MOST_MOLES) for name, factor in value.items()}

    def clean_air(self, key: KeyPath, value: object) -> float | Amounts:
        """Return a mixing ratio, or the columns of the profile whose sum is a species."""
        if isinstance(value, dict):
            return self.amounts(key, value)
        if not isinstance(value, str) or len(value) > _LONGEST:
            self.refuse(key, f'{dotted(key)} must be a mixing ratio such as "1.9 ppm", or {{ COLUMN = 1 }}')
        try:
            return self.number(key, to(value, "mol/mol", where=dotted(key)))
        except CaseError as error:
            self.refuse(key, str(error).removeprefix(f"{self._path}: "))

    def names(self) -> dict[str, str]:
        """Return the mechanism's species for names in cases; empty for names without a counterpart."""
        none, names = self.section("names", "none", self.word)
        if none is None:
            self.refuse(("names", "none"), 'names.none must be a list of names: "others" would hide misspelt species')
        return names | dict.fromkeys(none, "")

    def guesses(self) -> dict[str, tuple[str, ...]]:
        """Return the entries of other sections that are guesses; each must be an entry."""
        found = self.table("guesses", self.words)
        for section, names in found.items():
            if section not in _GUESSED:
                self.refuse(("guesses", section), f"guesses.{section}: {suggestion(section, _GUESSED)}")
            entries = self._table((section,))
            listed = [name for value in entries.values() if isinstance(value, list) for name in value]
            for name in names:
                if name not in entries and name not in listed:
                    self.refuse(("guesses", section), f"guesses.{section}: {shown(name)} has no entry; remove it")
        return found

    def split(self) -> dict[str, tuple[Compound, ...]]:
        """Return the compounds of the pollutants that the map splits."""
        return {
            pollutant: tuple(
                self._compound(("split", pollutant, name), name, value)
                for name, value in self._table(("split", pollutant)).items()
            )
            for pollutant in self._table(("split",))
        }

    def _compound(self, key: KeyPath, name: str, value: object) -> Compound:
        if not isinstance(value, dict) or not {"mass", "molar_mass"} <= value.keys() <= {
            "mass",
            "molar_mass",
            "carbon",
        }:
            self.refuse(key, f"{dotted(key)} must be of the form {_COMPOUND}")
        mass = to(self.word(key, value["molar_mass"]), "kg/mol", where=f"{self._path}: {dotted(key)}.molar_mass")
        if not 0.0 < mass <= _HEAVIEST:
            self.refuse(key, f"{dotted(key)}.molar_mass must be more than 0 and at most {_HEAVIEST:g} kg/mol")
        carbon = self.number(key, value["carbon"], _MOST_MOLES) if "carbon" in value else None
        return Compound(name, self.number(key, value["mass"], 1.0), mass, carbon)

    def _table(self, key: KeyPath) -> Mapping[str, Any]:
        node: Any = self._data
        for part in key:
            node = node.get(part, {})
        if not isinstance(node, dict):
            self.refuse(key, f"{dotted(key)} must be a table: write [{dotted(key)}] above its entries")
        return node
