"""What a case that a client sends may name: nothing outside the folder of the case and the mechanisms."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from airshed.core.errors import CaseError
from airshed.core.files import resource


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
    roots = [resource("mechanisms").resolve(), *([] if base is None else [base.resolve()])]
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


def _is_unit(text: str, place: Path, start: Path) -> bool:
    """Whether a text with a slash is a plain one, such as "1 kg/s": it names nothing that is there."""
    return (
        not text.startswith(("/", "\\", "-"))
        and ".." not in text
        and start.resolve() in place.parents
        and not place.exists()
    )
