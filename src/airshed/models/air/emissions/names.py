"""Names in files of gridded emission: pollutants, sectors, and the layouts of known inventories.

The table is ``data/emissions/layouts.toml``. One reader serves all layouts; a layout only adds conventions that the
units, the coordinates and the names in a file do not contain.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final

from airshed.models.air.emissions.sectors import SECTORS
from airshed.models.air.species_map.parts import read_table

_WORD: Final = re.compile(r"[A-Za-z0-9]+(?:\.[0-9]+)?")
_TOTALS: Final = frozenset({"sum", "total", "totals", "tot", "sumallsectors", "all", "allsectors"})
_GENERAL: Final = frozenset(
    {"emi", "emis", "emission", "emissions", "flux", "fluxes", "flx", "sector", "anth", "anthro", "em"}
)
_GNFR: Final = re.compile("([A-M])[0-9]?")


@dataclass(frozen=True)
class Pollutant:
    """Emitted substance: its mass per mole in reports [kg/mol], 0 for a mixture, and its carbon atoms."""

    name: str
    mass: float = 0.0
    carbon: float = 0.0


@dataclass(frozen=True)
class FileLayout:
    """Conventions of an inventory that its files do not state, see ``data/emissions/layouts.toml``."""

    name: str = ""
    text: str = ""
    variables: Sequence[str] = ()
    attributes: Sequence[str] = ()
    strip: str = ""
    file_name: bool = False
    basis: Mapping[str, str] = field(default_factory=dict)
    per: str = ""
    sector: str = ""

    def fits(self, names: Iterable[str], attributes: Collection[str], text: str) -> bool:
        """Return whether a file is of this layout, from its variables, its global attributes and its texts."""
        found = not self.variables or any(fnmatchcase(name, each) for name in names for each in self.variables)
        has_text = not self.text or re.search(self.text, text, re.IGNORECASE) is not None
        return found and has_text and set(self.attributes) <= set(attributes)


def layout_of(names: Iterable[str], attributes: Mapping[Any, Any], text: str) -> FileLayout:
    """Return the first known layout that fits a file, or the empty layout.

    text  name of the file, and the texts of its attributes
    """
    listed = list(names)
    return next((each for each in _layouts() if each.fits(listed, list(attributes), text)), FileLayout())


@cache
def pollutants() -> Mapping[str, Pollutant]:
    """Return the known pollutants by folded name."""
    found: dict[str, Pollutant] = {}
    for name, row in _table()["pollutants"].items():
        one = Pollutant(name, 1e-3 * row.get("mass", 0.0), row.get("carbon", 0.0))
        found |= {folded(each): one for each in (name, *row.get("names", ()))}
    return found


def sector_of(name: str) -> str:
    """Return the GNFR sector that a name denotes: a code, its letter, or the sector of an inventory; "" if unknown."""
    match = _GNFR.fullmatch(name.strip())
    by_letter = {code[0]: code for code in SECTORS}
    if match:
        return by_letter[match[1]]
    return _sectors().get(folded(name)) or next((found for _, found in _windows(name, _sectors())), "")


def is_total(name: str) -> bool:
    """Return whether a name denotes the sum over all sectors."""
    return bool(_TOTALS & {word.casefold() for word in _WORD.findall(name)}) or folded(name) in _TOTALS


def parse(text: str, others: Collection[str] = ()) -> tuple[str, str]:
    """Return the pollutant or species, and the sector, in a name such as ``NOx_road`` or ``emi_co``; "" if unknown.

    others  further names of substances, such as the species of a mechanism; a match in case counts first
    """
    known: dict[str, str] = {**{folded(name): name for name in others}}
    known |= {key: one.name for key, one in pollutants().items()}
    words = _WORD.findall(text)
    for size in range(min(6, len(words)), 0, -1):
        for begin in range(len(words) - size + 1):
            name = known.get(folded("".join(words[begin : begin + size])))
            if name is not None:
                rest = [*words[:begin], *words[begin + size :]]
                after = words[begin + size :]
                letter = after[0] if len(after) == 1 and _GNFR.fullmatch(after[0]) else ""
                return name, _sector_text(letter, " ".join(rest))
    return "", _sector_text("", text)


def rest_of(text: str) -> str:
    """Return the words of a name that are neither a substance nor of emission in general, joined by underscores."""
    known = pollutants()
    words = [word for word in _WORD.findall(text) if folded(word) not in known and folded(word) not in _GENERAL]
    return "_".join(words)


def _sector_text(letter: str, text: str) -> str:
    if letter:
        return sector_of(letter)
    if is_total(text):
        return ""
    return next((found for _, found in _windows(text, _sectors())), "")


def _windows(text: str, known: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Yield the known names in a text, those of most words first."""
    words = _WORD.findall(text)
    for size in range(min(6, len(words)), 0, -1):
        for begin in range(len(words) - size + 1):
            key = folded("".join(words[begin : begin + size]))
            if key in known:
                yield key, known[key]


def folded(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return re.sub("[^a-z0-9]", "", name.casefold())


@cache
def _sectors() -> Mapping[str, str]:
    found = {folded(code): code for code in SECTORS}
    found |= {folded(code.partition("_")[2]): code for code in SECTORS if code != "M_Other"}
    for code, names in _table()["sectors"].items():
        found |= {folded(name): code for name in (code, *names)}
    return found


@cache
def _layouts() -> tuple[FileLayout, ...]:
    return tuple(FileLayout(**row) for row in _table()["layouts"])


@cache
def _table() -> dict[str, Any]:
    return read_table("emissions/layouts.toml")
