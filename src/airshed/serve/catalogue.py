"""The cases that a client may open: those of the catalogue by name, or the text of one, without code or paths."""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from airshed.case.case import RunCase
from airshed.case.patch import patch_document
from airshed.case.places import shipped_cases
from airshed.case.toml import is_too_deep, read_toml
from airshed.core.errors import AirshedError, CaseError
from airshed.core.files import resource
from airshed.core.text import suggestion
from airshed.core.toml_text import parse_toml
from airshed.kernels.host import usable_cores
from airshed.runtime.registry import load_case, model_kind
from airshed.serve.access import Limits
from airshed.serve.types import CaseEntry, OpenSession


@cache
def catalogue() -> list[CaseEntry]:
    """Return the cases that ship and can run."""
    found = []
    for name, folder in shipped_cases().items():
        try:
            data, _ = read_toml(folder / "case.toml")
            kind = data.get("model", "air")
            model_kind(kind)
        except AirshedError:
            continue
        about = {key: str(data.get(key, "")) for key in ("title", "description")}
        found.append(CaseEntry(name=name, model=kind, **about))
    return found


def case_of(wanted: OpenSession, limits: Limits) -> RunCase:
    """Return the case that a client asks for; raises CaseError for one that it may not have, or that is too large.

    The text of a case takes its files from the folder of the case that is named with it, or from none. Whatever could
    be a path in it must lie there, or among the mechanisms that ship.
    """
    shipped, base = shipped_cases(), None
    if wanted.case is not None:
        if wanted.case not in shipped:
            raise CaseError(f"there is no case {wanted.case!r} in the catalogue; {suggestion(wanted.case, shipped)}")
        base = shipped[wanted.case]
    # What is sent: a text that is a case, or changes of one.
    sent: dict[str, Any] = {} if wanted.toml is None else _parsed(wanted.toml)
    patch_document(sent, wanted.changes)
    if is_too_deep(sent):
        raise CaseError("the case cannot be read: its tables nest too deeply")
    for text in set(texts(sent)):
        check_text(text, base)
    name = sent.get("model")
    if name is not None and not isinstance(name, str):
        raise CaseError(f"model = {name!r} must be the name of a model in quotes")
    # The case.
    if wanted.toml is None:
        if base is None:
            raise CaseError("name a case of the catalogue, or send the text of one")
        case = load_case(base, wanted.changes)
    else:
        case = model_kind(name).case.from_dict(sent, base or resource("cases"))
    cells = model_kind(case.model).cells(case)
    if cells > limits.cells:
        raise CaseError(f"the case has {cells} cells, and clients may have {limits.cells}; take larger ones")
    if case.run.threads > usable_cores():
        raise CaseError(f"run.threads = {case.run.threads} are more threads than cores; take 0, for all")
    return case


def _parsed(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise CaseError(f"the text is no TOML: {error}") from None
    except RecursionError:
        raise CaseError("the text is no TOML that can be read: it nests too deeply") from None


_mechanisms = cache(lambda: resource("mechanisms").resolve())

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


def check_patch(patch: Mapping[str, Any], case: RunCase) -> None:
    """Raise CaseError for a patch that a client may not apply to a case: a text in it may name another file."""
    known = set(texts(case.to_dict()))
    for text in texts({**patch, "": [part for path in patch for part in path.split(".")]}):
        check_text(text, case.base, known)


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
