"""Parts of messages: counts, quoted values in printable characters, and suggestions for misspelt names."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from airshed.core.chemical_names import formula_of

_TELLING: Final = 4
"""Least number of letters by which a part of a name identifies it."""
_ALIKE: Final = 0.85
"""Similarity of a misspelt name that precedes a name with the same letters inside."""
_FULL: Final = 1e15
"""Numbers below are written in full."""
_MANY_DAYS: Final = 3.0
_DECIMALS: Final = 2
"""Most decimals of a duration."""


def printable(text: str, *, lines: bool = False) -> str:
    """Return a text with an escape, such as ``\\x1b``, for each character that does not print.

    lines  whether newlines are unchanged
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or (lines and each == "\n") else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def counted(number: int, what: str) -> str:
    """Return a number with its noun: "1 rank", "2 ranks"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def number(value: float) -> str:
    """Return a number with six significant digits, and large ones in full: 1200000 instead of 1.2e+06."""
    text = f"{value:g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < _FULL else text


def duration(seconds: float) -> str:
    """Return a duration in the largest unit that is short: "45 s", "10 min", "1.5 h", from three on in whole days."""
    days = seconds / 86400.0
    if abs(days) >= _MANY_DAYS and days == round(days) and abs(days) < _FULL:
        return f"{days:.0f} days"
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        text = f"{seconds / size:.10g}"
        if (abs(seconds) >= size or seconds == 0.0) and "e" not in text and len(text.partition(".")[2]) <= _DECIMALS:
            return f"{text} {unit}"
    return f"{number(seconds)} s"


def there_are(number: int) -> str:
    """Return a number as a clause: "there is 1", "there are 2"."""
    return "there is 1" if number == 1 else f"there are {number}"


def quoted(text: str, most: int = 60) -> str:
    """Return a text in quotes, shortened and on one line."""
    shown = printable(text)
    return f'"{shown}"' if len(shown) <= most else f'"{shown[: most - 3]}...'


def shown(value: object, most: int = 60) -> str:
    """Return the Python form of a value, shortened and on one line."""
    try:
        text = printable(repr(value))
    except ValueError:  # a whole number of more digits than Python prints
        return "a number of thousands of digits"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def shortened(text: str, most: int = 1200) -> str:
    """Return a long text without its middle, and with the number of omitted characters."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]} ... [{len(text) - most} characters] ... {text[-most // 2 :]}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, or None where no name is close.

    A species is found by its common name: O3 for "ozone". A name that contains the given one, best at the beginning of
    a word, precedes a name of similar spelling: F_RoadTransport for "Road". Upper and lower case are alike.
    """
    candidates = sorted(known)
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    folded = name.casefold()
    if folded not in by_folded and (formula := formula_of(name, candidates)):
        return formula
    within = [each for each in by_folded if folded in each] if len(folded) >= _TELLING else []
    within.sort(key=lambda each: (not _begins_word(by_folded[each], folded), len(each)))
    words = [each for each in within if _begins_word(by_folded[each], folded)]
    alike = get_close_matches(folded, by_folded, n=1, cutoff=0.6)
    matches = words or get_close_matches(folded, by_folded, n=1, cutoff=_ALIKE) or within or alike
    return by_folded[matches[0]] if matches else None


def _begins_word(name: str, folded: str) -> bool:
    """Return whether a part of a name begins at its start, at a capital, or after a character that is not a letter."""
    at = name.casefold().find(folded)
    return at == 0 or not name[at - 1].isalpha() or (name[at].isupper() and name[at - 1].islower())


def suggestion(name: str, known: Iterable[str], *, limit: int = 12) -> str:
    """Return the end of an error message: ``did you mean X?``, or the first known names."""
    candidates = sorted(set(known))
    match = nearest(name, candidates)
    if match is not None:
        return f"did you mean {match}?"
    if not candidates:
        return "there are none to choose from"
    return f"known are {listed(candidates, limit)}"


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names separated by commas, only the first of many: ``A, B and 3 more``."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
