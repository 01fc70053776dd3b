"""Cases that a client may open: by name from the catalogue, or as the text of a case file, without code or paths."""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from airshed.case.case import RunCase
from airshed.case.locations import shipped_cases
from airshed.case.patch import patch_document
from airshed.case.toml import is_too_deep, read_toml
from airshed.core.errors import AirshedError, CaseError
from airshed.core.files import resource
from airshed.core.text import suggestion
from airshed.core.toml_text import parse_toml
from airshed.kernels.host import usable_cores
from airshed.runtime.registry import load_case, model_kind
from airshed.serve.access.limits import Limits
from airshed.serve.protocol.types import CaseEntry, OpenSession


@cache
def catalogue() -> list[CaseEntry]:
    """Return the shipped cases that can run."""
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


def case_of(request: OpenSession, limits: Limits) -> RunCase:
    """Return the case of a request; raises CaseError for one that is not allowed or too large.

    The text of a case takes its files from the folder of the case that is named with it, or from none. Each text in it
    that could be a path must be in that folder, or among the shipped mechanisms.
    """
    shipped, base = shipped_cases(), None
    if request.case is not None:
        if request.case not in shipped:
            raise CaseError(f"there is no case {request.case!r} in the catalogue; {suggestion(request.case, shipped)}")
        base = shipped[request.case]
    # The text of a case, or changes of one.
    sent: dict[str, Any] = {} if request.toml is None else _parsed(request.toml)
    patch_document(sent, request.changes)
    if is_too_deep(sent):
        raise CaseError("the case cannot be read: its tables nest too deeply")
    for text in set(texts(sent)):
        check_text(text, base)
    name = sent.get("model")
    if name is not None and not isinstance(name, str):
        raise CaseError(f"model = {name!r} must be the name of a model in quotes")
    # The case.
    if request.toml is None:
        if base is None:
            raise CaseError("name a case of the catalogue, or send the text of one")
        case = load_case(base, request.changes)
    else:
        case = model_kind(name).case.from_dict(sent, base or resource("cases"))
    cells = model_kind(case.model).cells(case)
    if cells > limits.cells:
        raise CaseError(f"the case has {cells} cells, and clients may open at most {limits.cells}; use larger cells")
    if case.run.threads > usable_cores():
        raise CaseError(f"run.threads = {case.run.threads} is more than the number of cores; use 0 for all cores")
    return case


def _parsed(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise CaseError(f"the text is not valid TOML: {error}") from None
    except RecursionError:
        raise CaseError("the TOML text cannot be read: it nests too deeply") from None


_mechanisms = cache(lambda: resource("mechanisms").resolve())

_LONGEST: Final = 4000
"""Characters of a text: no path can be longer, and to resolve a longer one would take long."""


def texts(node: Any) -> Iterator[str]:
    """Yield all texts of a case, including keys."""
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
    """Raise CaseError for a text that, as a path, leads out of the catalogue or to another machine.

    base   the folder of the case
    known  texts that the case already contains
    """
    if text in known:
        return
    if len(text) > _LONGEST:
        raise CaseError(f"a text of {len(text)} characters is too long; the limit is {_LONGEST}")
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
        raise CaseError(f"{text[:100]!r} may name a file outside the catalogue; clients may not name such files")


def _is_unit(text: str, place: Path, start: Path) -> bool:
    """Return whether a text with a slash is an ordinary text such as "1 kg/s", which names no existing file."""
    return (
        not text.startswith(("/", "\\", "-"))
        and ".." not in text
        and start.resolve() in place.parents
        and not _is_there(place)
    )


def _is_there(place: Path) -> bool:
    try:
        return place.exists()
    except OSError:  # the name is too long for a file
        return False
