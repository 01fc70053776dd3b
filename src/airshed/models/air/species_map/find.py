"""Finds the species map of a mechanism: the case's, the one beside the mechanism's file, or a shipped one."""

from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.models.air.species_map.parts import SpeciesMap
from airshed.models.air.species_map.read import read_species_map

AUTO = "auto"
"""The choice that goes by the mechanism."""

SUFFIX = ".species.toml"
"""End of the name of a map beside a mechanism's file."""


def find_species_map(choice: str, mechanism: str, name: str, base: Path) -> SpeciesMap:
    """Return a mechanism's species map, or the one that says nothing where there is none.

    choice     "auto", the name of a shipped map, or a file
    mechanism  as the case names it: a name or a path, beside which ``NAME.species.toml`` is looked for
    name       of the network
    base       the folder that `choice` is relative to

    Raises CaseError for a map that is not there or cannot be read, and for one that declares the mechanism unfit.
    """
    found = species_map_of(mechanism, name) if choice == AUTO else _chosen(choice, base)
    if found.unfit:
        raise CaseError(f"mechanism {name} cannot run in a case: {found.unfit}")
    return found


def species_map_of(mechanism: str, name: str) -> SpeciesMap:
    """Return the map of a mechanism, given by its name or path and the name of its network; an empty one without."""
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
    """Return where a mechanism that is a path has its own map, whether or not it is there; None for a mere name."""
    path = Path(mechanism)
    return path.with_name(path.stem + SUFFIX) if path.suffix or len(path.parts) > 1 else None


def map_to_write(species_map: SpeciesMap, mechanism: str) -> str:
    """Return the user's file to which entries are added: the map itself, or a new one of a name that is found."""
    shipped = [str(path) for path in _shipped().values()]
    own = species_map.source if species_map.source not in shipped else ""
    return own or str(map_beside(mechanism) or f"{mechanism}{SUFFIX}")


@cache
def shipped_species_map(name: str) -> SpeciesMap:
    """Return the map that is shipped under a name; raises CaseError where there is none."""
    if name not in _shipped():
        raise CaseError(f"there is no species map {name!r}; {suggestion(name, _shipped())}, and a file ends in .toml")
    return read_species_map(_shipped()[name])


def shipped_maps() -> tuple[SpeciesMap, ...]:
    """Return all maps that are shipped."""
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
