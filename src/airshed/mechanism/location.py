"""Locations in reaction files, messages with locations, and valid names in a mechanism."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from airshed.core.errors import MechanismError
from airshed.core.text import printable


@dataclass(frozen=True, order=True)
class Location:
    """Location in a reaction file; lines and columns count from 1."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{printable(self.file)}:{self.line}:{self.column}"


def error_at(location: Location | None, message: str) -> MechanismError:
    """Return the error ``file:line:column: message``, or the message alone if the location is unknown."""
    message = printable(message, lines=True)
    return MechanismError(f"{location}: {message}" if location else message)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'X'?`` for the known name nearest to `name`, ignoring case, or ""."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    cutoff = 0.5 if len(name) <= 3 else 0.6  # of O3 and O4 only half is equal
    close = get_close_matches(name.casefold(), list(by_folded), n=1, cutoff=cutoff)
    return f"; did you mean {by_folded[close[0]]!r}?" if close else ""


# Valid names in a mechanism.


LONGEST_NAME: Final = 80
LONGEST_LABEL: Final = 200

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def check_name(what: str, name: str, location: Location | None = None) -> None:
    """Raise MechanismError for an invalid name of a species or an atom."""
    if not is_name(name):
        message = f"{what} {quoted(name)}: a name is a letter and then letters, digits and _, {LONGEST_NAME} at most"
        raise error_at(location, message)


def is_name(name: str) -> bool:
    """Return whether a name is valid for a species or an atom."""
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None


def check_label(what: str, label: str, location: Location | None = None) -> None:
    """Raise MechanismError for a label, or a name of an open parameter, that is not printable on one line."""
    if not label.isprintable():
        raise error_at(location, f"{what} {quoted(label)}: there are characters in it that do not print; take them out")
    if len(label) > LONGEST_LABEL:
        raise error_at(location, f"{what} {quoted(label)}: it is longer than {LONGEST_LABEL} characters; shorten it")


def quoted(name: str) -> str:
    """Return a name in quotes, shortened for a message and without unprintable characters."""
    return f"'{printable(name if len(name) <= 60 else f'{name[:57]}...')}'"


def legal_names(names: Iterable[str]) -> dict[str, str]:
    """Return unique valid names of species for names of any text.

    A valid name is unchanged. In the others each character except letters and digits becomes an underscore; ``x`` is
    added before a name that does not begin with a letter, and ``_2``, ``_3`` ... after a name that another species has
    already. Names that differ only in case count as one, as everywhere in a mechanism.
    """
    wanted = list(dict.fromkeys(names))
    legal = {name: name for name in wanted if is_name(name)}
    taken = {name.casefold() for name in legal}
    for name in wanted:
        if name in legal:
            continue
        base = re.sub(r"[^A-Za-z0-9]", "_", name)
        base = (base if base[:1].isalpha() else f"x{base}")[: LONGEST_NAME - 6]
        new, number = base, 2
        while new.casefold() in taken:
            new, number = f"{base}_{number}", number + 1
        taken.add(new.casefold())
        legal[name] = new
    return legal
