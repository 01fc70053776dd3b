"""What a case that a client sends may name: nothing outside the folder of the case and the mechanisms."""

from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from airshed.core.errors import CaseError
from airshed.core.files import resource

_LONGEST: Final = 4000
"""Characters of a text; no path can be longer, and to resolve one would take long."""


def texts(node: Any) -> Iterator[str]:
    """Yield all texts of a case, keys too."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from texts(key)
            yield from texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value)


def check_text(text: str, base: Path | None, known: Collection[str] = ()) -> None:
    """Raise CaseError for what, taken as a path, leads out of the catalogue, or to another machine.

    base   the folder of the case
    known  texts that the case has already
    """
    if text in known:
        return
    if len(text) > _LONGEST:
        raise CaseError(f"a text of {len(text)} characters is too long; a client may send {_LONGEST}")
    roots = [_mechanisms(), *([] if base is None else [base.resolve()])]
    start = base or resource("cases")
    try:
        place = (start / text).resolve()
    except (OSError, ValueError, RuntimeError):
        place = Path("/")
    within = any(place == root or root in place.parents for root in roots)
    is_plain = base is None and not any(each in text for each in "/\\")
    if (
        text.startswith("~")
        or "://" in text
        or "\0" in text
        or not (within or is_plain or _is_unit(text, place, start))
    ):
        raise CaseError(f"{text[:100]!r} may name a file outside the catalogue; a client may name none of those")


@cache
def _mechanisms() -> Path:
    return resource("mechanisms").resolve()


def _is_unit(text: str, place: Path, start: Path) -> bool:
    """Whether a text with a slash is a plain one, such as "1 kg/s": it names nothing that is there."""
    return (
        not text.startswith(("/", "\\", "-"))
        and ".." not in text
        and start.resolve() in place.parents
        and not _is_there(place)
    )


def _is_there(place: Path) -> bool:
    try:
        return place.exists()
    except OSError:  # no file has a name as long as that
        return False
