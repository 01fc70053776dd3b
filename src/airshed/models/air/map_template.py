"""Template of a species map: entries that follow from names, atoms and families, and questions to the user."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from airshed.core.files import resource
from airshed.mechanism.expressions import SYMBOLS
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.boundary.profiles import read_profile
from airshed.models.air.emissions.split import read_split
from airshed.models.air.species_map.families import Meanings, meanings_elsewhere, meanings_of, substances
from airshed.models.air.species_map.parts import ISOPRENE, Amounts
from airshed.models.air.species_map.read import SUFFIX, shipped_species_map

_HEAD: Final = """\
# Species map of the mechanism {name}: emission, boundary, deposition and open rates in the species of the mechanism.
# Save it as {file} in the folder of the mechanism, or name it in a case: [chemistry] species_map = "{file}".
# Complete the lines with #?. The list at the head of a section names omissions by intent; "others" in place of the
# list omits all names that the section does not have. See docs/how-to/species-maps.md.
{family}"""

_FAMILY: Final = """\
# The names are those of {title}, recognised by {by}. Entries that depend on this alone are marked as guesses.
"""

_NO_FAMILY: Final = """\
# No family of mechanisms is recognised: names with different meanings in different mechanisms are questions.
"""

_AIR: Final = """
# Gases of the air itself: not transported, with the concentration of each cell.
air = [{names}]
"""

_NAMES: Final = """
# Names in cases for another mechanism, as theirs = "ours"; `none` lists species that this mechanism lacks.
[names]
none = []
{names}"""

_OF_CASES: Final = {"isoprene": "ISOPRE", "O": "OP", "O1D": "OD"}
"""Substances with a different name in cases, which use the names of the EMEP mechanism."""

_GUESSES: Final = """
# Entries that are guesses. The summary of each run lists them; remove a name once you have checked its entry.
[guesses]
"""


@dataclass
class _Section:
    """Entries of a section.

    nothing   names of the list at its head;  given  key -> value;  questions  key -> remark;  guessed  key -> reason
    below     remark at its end
    """

    nothing: list[str] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    guessed: dict[str, str] = field(default_factory=dict)
    below: str = ""

    def take(self, key: str, value: str | None, guess: str = "") -> None:
        """Add an entry; with None, add the key to the list at the head."""
        if value is None:
            self.nothing.append(key)
        else:
            self.given[key] = value
        if guess:
            self.guessed[key] = guess

    def text(self, name: str, empty: str, remark: str) -> str:
        """Return the section as text."""
        listed = ", ".join(f'"{each}"' for each in self.nothing)
        given = [f"{_key(key)} = {value}{self._guess(key)}\n" for key, value in self.given.items()]
        questions = [f"#? {_key(key)} ={f' # {text}' if text else ''}\n" for key, text in self.questions.items()]
        return "".join(
            [f"\n# {remark[0].upper()}{remark[1:]}.\n[{name}]\n{empty} = [{listed}]\n", *given, *questions, self.below]
        )

    def _guess(self, key: str) -> str:
        return f" # guess: as in {self.guessed[key]}" if key in self.guessed else ""


def template(network: ReactionNetwork) -> str:
    """Return the text of a species map for a mechanism.

    A line that begins with ``#?`` is a question. An entry that depends only on the names of a family of mechanisms is
    marked as a guess and listed under ``[guesses]``.
    """
    air = [name for name in network.names if name.upper() in SYMBOLS]
    names = [name for name in network.names if name not in air and name not in network.sums]
    meanings = meanings_of(network)
    emissions, boundary, deposition = (
        _emissions(names, meanings),
        _boundary(names, meanings),
        _deposition(names, meanings),
    )
    sections = {"emissions": emissions, "boundary": boundary, "deposition": deposition}
    return "".join(
        [
            _HEAD.format(name=network.name, file=_file_name(network), family=_family(meanings)),
            _AIR.format(names=", ".join(f'"{name}"' for name in air)) if air else "",
            _NAMES.format(names=_names(names, meanings)),
            emissions.text("emissions", "none", "moles of species per mole of an emitted compound"),
            boundary.text("boundary", "zero", "columns of the profile, or a mixing ratio"),
            deposition.text("deposition", "none", "the surrogate substance for the deposition of a species"),
            *_rates(network),
            *_carbon(network, emissions, meanings),
            *_guesses(sections),
        ]
    )  # fmt: skip


def _family(meanings: Meanings) -> str:
    if meanings.own.source:
        guesses = ": guesses, since the mechanism lacks species of that map" if meanings.loose else ""
        return f"# The entries are those of {_own_title(meanings)}{guesses}.\n"
    if meanings.family is None:
        return _NO_FAMILY
    by = ", ".join(meanings.by[:8]) + (" ..." if len(meanings.by) > 8 else "")
    return _FAMILY.format(title=meanings.family.title, by=by)


def _own_title(meanings: Meanings) -> str:
    return f"the shipped map {Path(meanings.own.source).stem}"


def _own_guess(meanings: Meanings, *names: str) -> str:
    """Return why an entry of the shipped map for some species is a guess; empty if it is certain."""
    known = meanings.species
    certain = bool(names) and all(name in known and not known[name].guess for name in names)
    return _own_title(meanings) if meanings.loose and not certain else ""


def _names(names: Iterable[str], meanings: Meanings) -> str:
    """Return lines with the mechanism's names of substances that have different names in cases."""
    taken = {name.casefold() for name in names}
    lines = []
    for substance in dict.fromkeys(each.substance for each in meanings.species.values() if each.substance):
        theirs, own = _OF_CASES.get(substance, substance), meanings.standing_for(substance)
        if own is not None and theirs.casefold() not in taken and theirs in _emep_names():
            lines.append(f'{theirs} = "{own}"\n')
    return "".join(lines)


@cache
def _emep_names() -> frozenset[str]:
    boundary = shipped_species_map("emep").boundary
    return frozenset((*boundary.zero, *boundary.profile, *boundary.uniform))


def _file_name(network: ReactionNetwork) -> str:
    """Return the file name with which the map is found in the folder of the mechanism."""
    stem = Path(network.sources[0]).stem if network.sources else network.name
    return (network.name if stem == "config" else stem) + SUFFIX


def _emissions(names: Iterable[str], meanings: Meanings) -> _Section:
    """Return the species of each compound of the shipped inventory: itself, or the lumping of the family."""
    split = read_split(resource("cases/west-europe/emissions") / "species_split.csv")
    compounds = [compound.name for parts in split.values() for compound in parts]
    section, known = _Section(), {name.casefold(): name for name in names}
    for compound in (*compounds, ISOPRENE):
        own = meanings.own.emissions.becomes.get(compound)
        species = meanings.standing_for(compound)
        lumped = _lumped(compound, meanings, known)
        if own is not None:
            section.take(compound, _table(own) if own else None, _own_guess(meanings, *own))
        elif species is not None:
            section.take(compound, _table({species: 1.0}), meanings.species[species].guess)
        elif lumped is not None:
            section.take(compound, _table(lumped), meanings.family.title if meanings.family else "")
        else:
            section.questions[compound] = _likely(compound, known)
    return section


def _lumped(compound: str, meanings: Meanings, known: Mapping[str, str]) -> Amounts | None:
    """Return the first lumping of a compound in the family whose species the mechanism has."""
    if meanings.family is None:
        return None
    for way in meanings.family.emissions.get(compound, ()):
        if all(name.casefold() in known for name in way):
            return {known[name.casefold()]: factor for name, factor in way.items()}
    return None


def _likely(compound: str, known: Mapping[str, str]) -> str:
    """Return candidates for a compound: species that are this compound in some family, with other meanings."""
    told = []
    for name in known.values():
        meanings = meanings_elsewhere(name)
        if f"{compound} in" in meanings:
            told.append(f"{name} is {meanings}")
    return "; ".join(told)


def _boundary(names: Iterable[str], meanings: Meanings) -> _Section:
    """Return the profile of each species, as in the shipped map or by its substance; no column counts twice."""
    section, own, columns = _Section(), meanings.own.boundary, read_profile("clean-air").columns
    entries: dict[str, tuple[Amounts | str, str]] = {}
    for name in names:
        meaning = meanings.species.get(name)
        if name in own.zero:
            entries[name] = ({}, _own_guess(meanings, name))
        elif name in own.profile or name in own.uniform:
            uniform = own.uniform.get(name)
            value = own.profile[name] if uniform is None else f"{1e6 * uniform:g} ppm"
            entries[name] = (value, _own_guess(meanings, name))
        elif meaning is not None and meaning.boundary is not None:
            entries[name] = (meaning.boundary, meaning.guess)
        else:
            section.questions[name] = meanings_elsewhere(name) or (
                "the profile has a column of this name" if name in columns else ""
            )
    taken = {next(iter(each)) for each, _ in entries.values() if isinstance(each, Mapping) and each}
    for name, (value, guess) in entries.items():
        if isinstance(value, str):
            section.take(name, f'"{value}"', guess)
        else:
            left = {column: factor for n, (column, factor) in enumerate(value.items()) if n == 0 or column not in taken}
            section.take(name, _table(left) if left else None, guess)
    _refuse_twice(section, {name: value for name, (value, _) in entries.items() if name not in own.profile}, meanings)
    section.below = _unused_columns(section, columns)
    return section


def _unused_columns(section: _Section, columns: Iterable[str]) -> str:
    """Return a remark with the columns of the profile that no entry uses."""
    counted = {name for value in section.given.values() for name in re.findall(r"\b(\w+) =", value)}
    left = [column for column in columns if column not in counted]
    return f"# Columns of the profile that no entry uses: {', '.join(left)}.\n" if left else ""


def _refuse_twice(section: _Section, entries: Mapping[str, Amounts | str], meanings: Meanings) -> None:
    """Turn entries into questions where several species have the same column, such as isomers."""
    first: dict[str, list[str]] = {}
    known = meanings.species
    for name, value in entries.items():
        if isinstance(value, Mapping) and value:
            first.setdefault(next(iter(value)), []).append(name)
    for column, species in first.items():
        if len(species) > 1 and not all(name in known and known[name].shared for name in species):
            for name in species:
                section.given.pop(name, None)
                section.guessed.pop(name, None)
                section.questions[name] = f"{', '.join(species)} share the column {column}"


def _deposition(names: Iterable[str], meanings: Meanings) -> _Section:
    """Return the surrogate of each species, as in the shipped map or by its substance."""
    section, own = _Section(), meanings.own.deposition
    for name in names:
        meaning = meanings.species.get(name)
        if name in own.none or name in own.surrogate:
            substance = f'"{own.surrogate[name]}"' if name in own.surrogate else None
            section.take(name, substance, _own_guess(meanings, name))
        elif meaning is not None and meaning.deposits is not None:
            section.take(name, f'"{meaning.deposits}"' if meaning.deposits else None, meaning.guess)
        else:
            section.questions[name] = meanings_elsewhere(name)
    return section


def _rates(network: ReactionNetwork) -> list[str]:
    if not network.open_parameters:
        return []
    lines = ["\n# Open parameters of the mechanism, as formulas in the language of rates.\n[rates]\n"]
    for each in network.open_parameters:
        text = " ".join(filter(None, (each.unit, each.text)))
        lines.append(f"#? {_key(each.name)} =" + (f" # {text}" if text else "") + "\n")
    return lines


def _carbon(network: ReactionNetwork, emissions: _Section, meanings: Meanings) -> list[str]:
    """Return the carbon atoms of emitted species whose composition the mechanism does not give."""
    silent = [species.name for species in network.species if not species.atoms]
    emitted = [name for name in silent if any(f" {_key(name)} =" in value for value in emissions.given.values())]
    known = {name: meanings.own.emissions.carbon.get(name) or _carbon_of(name, meanings) for name in emitted}
    lines = [f"{_key(name)} = {carbon:g}\n" for name, carbon in known.items() if carbon]
    text = "\n# Carbon atoms of emitted species that the mechanism's file does not give; for the report.\n[carbon]\n"
    return [text, *lines] if lines else []


def _carbon_of(name: str, meanings: Meanings) -> float | None:
    meaning = meanings.species.get(name)
    if meaning is None:
        return None
    return float(substances()[meaning.substance].carbon) if meaning.substance else meaning.carbon


def _guesses(sections: Mapping[str, _Section]) -> list[str]:
    guessed = {name: ", ".join(f'"{each}"' for each in section.guessed) for name, section in sections.items()}
    lines = [f"{name} = [{names}]\n" for name, names in guessed.items() if names]
    return [_GUESSES, *lines] if lines else []


def _table(amounts: Amounts) -> str:
    return "{ " + ", ".join(f"{_key(name)} = {factor:g}" for name, factor in amounts.items()) + " }"


def _key(name: str) -> str:
    """Return a name as a TOML key."""
    return name if name.isascii() and name.replace("_", "a").replace("-", "a").isalnum() else f'"{name}"'
