"""Finds a mechanism by name or path."""

from os import PathLike
from pathlib import Path

from airshed.core.errors import MechanismError
from airshed.core.resources import resource
from airshed.mechanism.kpp import read_kpp
from airshed.mechanism.location import nearest
from airshed.mechanism.network import ReactionNetwork

SUFFIXES = (".def", ".kpp", ".eqn", ".spc")


def shipped_mechanisms() -> tuple[str, ...]:
    """Return the names of the mechanisms that come with Airshed."""
    return tuple(sorted(path.stem for path in resource("mechanisms").glob("*.def")))


def load_mechanism(name_or_path: str | PathLike[str]) -> ReactionNetwork:
    """Return a shipped mechanism by its name, such as ``emep``, or the one of a reaction file by its path.

    Raises MechanismError with the names that there are, or with file, line and column of a fault in the file.
    """
    text = str(name_or_path)
    path = Path(text)
    if path.suffix.lower() in SUFFIXES or len(path.parts) > 1:
        return read_kpp(path)
    names = shipped_mechanisms()
    for name in names:
        if name.casefold() == text.casefold():
            return read_kpp(resource("mechanisms") / f"{name}.def", shown=f"{name}.def")
    known = ", ".join(names)
    raise MechanismError(
        f"there is no mechanism {text[:80]!r} (shipped are {known}; a path ends in .def, .eqn, .spc or .kpp)"
        f"{nearest(text[:80], names)}"
    )
