"""Suggests the known name that an unknown one was probably meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to ``name``, upper and lower case alike, or None when none is close."""
    by_folded = {candidate.casefold(): candidate for candidate in sorted(known)}
    matches = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def suggestion(name: str, known: Iterable[str], *, limit: int = 12) -> str:
    """Return the end of an error message: ``did you mean X?``, or the names there are when they are few."""
    candidates = sorted(set(known))
    match = nearest(name, candidates)
    if match is not None:
        return f"did you mean {match}?"
    if not candidates:
        return "there are none to choose from"
    listed = ", ".join(candidates[:limit])
    return f"known are {listed}" + (f" and {len(candidates) - limit} more" if len(candidates) > limit else "")
