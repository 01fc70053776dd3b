"""Where something stands in a reaction file, and messages that say so."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from airshed.core.errors import MechanismError
from airshed.core.text import printable


@dataclass(frozen=True, order=True)
class Location:
    """A place in a reaction file; lines and columns count from 1."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{printable(self.file)}:{self.line}:{self.column}"


def error_at(location: Location | None, message: str) -> MechanismError:
    """Return the error ``file:line:column: message``, or the message alone where no place is known."""
    message = printable(message, lines=True)
    return MechanismError(f"{location}: {message}" if location else message)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'X'?`` for the known name nearest to `name` in any case of letters, or nothing."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    cutoff = 0.5 if len(name) <= 3 else 0.6  # of O3 and O4 only half is equal
    close = get_close_matches(name.casefold(), list(by_folded), n=1, cutoff=cutoff)
    return f"; did you mean {by_folded[close[0]]!r}?" if close else ""
