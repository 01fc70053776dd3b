"""The case of a session at a time: its start, and the changes of its log that a case can express; its receptor."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airshed.core.errors import CaseError
from airshed.models.air.case import Case
from airshed.runtime.registry import model_kind
from airshed.serve.model.sessions import START, undo_name
from airshed.serve.protocol.origin import OriginRequest
from airshed.serve.protocol.types import LogEntry

_CHANGES = ("set", "release", "paint")
_INSTANT = 1e-6


def effective(log: Sequence[LogEntry]) -> list[LogEntry]:
    """Return the changes that led to the present state: those before a restored snapshot, and after it."""
    changes: list[LogEntry] = []
    stored: dict[str, list[LogEntry]] = {START: []}
    for entry in log:
        kind = entry.command["kind"]
        if kind == "restart":
            changes = []
        elif kind == "snapshot":
            stored[f"s{entry.number}"] = list(changes)
        elif kind == "restore":
            changes = list(stored.get(entry.command["snapshot"], []))
        elif kind in _CHANGES:
            stored[undo_name(entry.number)] = list(changes)
            changes.append(entry)
    return changes


def case_at(start: Case, log: Sequence[LogEntry], at: float, clock: Callable[[float], str]) -> Case:
    """Return the case whose run is that of a session up to a time [s]; raise CaseError where there is none.

    start  case of the session before any change
    clock  text of a time [s]
    """
    case, begin = start, -start.time.spinup.value
    for entry in effective(log):
        if entry.step > 0 and entry.seconds >= at - _INSTANT:
            continue
        in_between = entry.step > 0 and entry.seconds > begin + _INSTANT
        kind = entry.command["kind"]
        if kind == "paint" or (in_between and kind == "set"):
            changed = entry.command.get("variable") or next(iter(entry.command.get("changes", {})), "a setting")
            raise CaseError(
                f"{changed} was changed in mid-run, at {clock(entry.seconds)}, and sources need a run with the same "
                "settings from its start: choose an earlier hour, or return to the start, set it there, and run again"
            )
        try:
            case = case.patched(_changes(case, entry.seconds, entry.command))
        except CaseError as error:
            raise CaseError(f"a change of the log is no setting of a case, which sources need: {error}") from None
    return case


def _changes(case: Case, seconds: float, command: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the changed settings of a command."""
    if command["kind"] == "set":
        changes: Mapping[str, Any] = command["changes"]
        return changes
    release = model_kind(case.model).release
    assert release is not None
    return release(case, seconds, command)


def receptor_of(request: OriginRequest) -> dict[str, Any]:
    """Return the settings of the receptor of a request."""
    place = request.place
    where = {"place": place} if isinstance(place, str) else {"lon": [place[0]] * 2, "lat": [place[1]] * 2}
    return {
        **where, "species": request.species, "level": request.level, "time": [request.at] * 2, "measure": "mean",
        "fields": (),
    }  # fmt: skip
