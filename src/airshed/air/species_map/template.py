"""A species map to begin with: what names give away is filled in, the rest is left to a person."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from airshed.air.boundary.sources import read_profile
from airshed.air.deposition.tables import depositing_species
from airshed.air.emissions.split import read_split
from airshed.air.species_map.find import SUFFIX, shipped_species_map
from airshed.air.species_map.parts import ISOPRENE, Amounts
from airshed.core.files import resource
from airshed.mechanism.expressions import SYMBOLS
from airshed.mechanism.network import ReactionNetwork

_OF_ISOPRENE: Final = ("ISOP", "C5H8", "ISOPRENE", "ISO")

_HEAD: Final = """\
# Species map of the mechanism {name}: what emission, the air outside, the ground and the sun are in its species.
# Save it as {file} beside the mechanism, or name it in a case: [chemistry] species_map = "{file}".
# Lines with #? wait for you. What is by intent nothing stands in the list at the head of its section; "others" in place
# of the list means all that the section does not name. docs/species-maps.md tells more.
"""

_AIR: Final = """
# Species that are the air itself: not carried, of each cell's own concentration.
air = [{names}]
"""

_NAMES: Final = """
# Names in cases that were written for another mechanism, as theirs = "ours"; `none` lists what this one lacks.
[names]
none = []
"""


def template(network: ReactionNetwork) -> str:
    """Return the text of a species map for a mechanism; what no name gives away is a line that begins with ``#?``."""
    example = shipped_species_map("emep")
    air = [name for name in network.names if name.upper() in SYMBOLS]
    names = [name for name in network.names if name not in air]
    known = {name.casefold(): name for name in names}
    return "".join(
        [
            _HEAD.format(name=network.name, file=_file_name(network)),
            _AIR.format(names=", ".join(f'"{name}"' for name in air)) if air else "",
            _NAMES,
            _section("emissions", "none", _emissions(known), "moles of species that a mole of a compound becomes"),
            _section("boundary", "zero", _boundary(names), "columns of the profile, or a mixing ratio",
                     [name for name in names if name in example.boundary.zero]),
            _section("deposition", "none", _deposition(names), "the substance as which a species deposits"),
            *_rates(network),
        ]
    )  # fmt: skip


def _file_name(network: ReactionNetwork) -> str:
    """The name under which the map is found beside the mechanism; a folder goes by its own name."""
    stem = Path(network.sources[0]).stem if network.sources else network.name
    return (network.name if stem == "config" else stem) + SUFFIX


def _section(name: str, empty: str, guesses: Mapping[str, str | None], text: str, nothing: Iterable[str] = ()) -> str:
    """Return a section: what is by intent nothing, what is guessed, what is asked."""
    left = list(nothing)
    listed = ", ".join(f'"{each}"' for each in left)
    given = [f"{_key(key)} = {value}\n" for key, value in guesses.items() if value is not None]
    asked = [f"#? {_key(key)} =\n" for key, value in guesses.items() if value is None and key not in left]
    return "".join([f"\n# {text[0].upper()}{text[1:]}.\n[{name}]\n{empty} = [{listed}]\n", *given, *asked])


def _emissions(known: Mapping[str, str]) -> dict[str, str | None]:
    """Each compound of the shipped inventory as the species of its name."""
    split = read_split(resource("cases/west-europe/emissions") / "species_split.csv")
    compounds = [compound.name for parts in split.values() for compound in parts]
    found: dict[str, str | None] = {}
    for compound in (*compounds, ISOPRENE):
        names = (compound, *shipped_species_map("emep").emissions.of(compound))
        names += _OF_ISOPRENE if compound == ISOPRENE else ()
        own = next((known[name.casefold()] for name in names if name.casefold() in known), None)
        found[compound] = _table({own: 1.0}) if own else None
    return found


def _boundary(names: Iterable[str]) -> dict[str, str | None]:
    """Each species as the EMEP mechanism has it, or as the profile's column of its name."""
    example, columns = shipped_species_map("emep").boundary, read_profile("clean-air").columns
    found: dict[str, str | None] = {}
    for name in names:
        if name in example.profile:
            found[name] = _table(example.profile[name])
        elif name in example.uniform:
            found[name] = f'"{1e6 * example.uniform[name]:g} ppm"'
        else:
            found[name] = _table({name: 1.0}) if name in columns else None
    return found


def _deposition(names: Iterable[str]) -> dict[str, str | None]:
    """Each species as the substance of its name or of a usual other name of it."""
    table = depositing_species()
    found = {name: table.get(name.casefold()) for name in names}
    return {name: f'"{entry.name}"' if entry else None for name, entry in found.items()}


def _rates(network: ReactionNetwork) -> list[str]:
    if not network.open_parameters:
        return []
    lines = ["\n# What the mechanism leaves open, as formulas in the language of rates.\n[rates]\n"]
    for each in network.open_parameters:
        text = " ".join(filter(None, (each.unit, each.text)))
        lines.append(f"#? {_key(each.name)} =" + (f" # {text}" if text else "") + "\n")
    return lines


def _table(amounts: Amounts) -> str:
    return "{ " + ", ".join(f"{_key(name)} = {factor:g}" for name, factor in amounts.items()) + " }"


def _key(name: str) -> str:
    """A name as a key of TOML."""
    return name if name.isascii() and name.replace("_", "a").replace("-", "a").isalnum() else f'"{name}"'
