"""Limits of sessions, of their logs and snapshots, and the number of states before changes that they store."""

from collections.abc import Iterable

from airshed.core.errors import CaseError
from airshed.serve.access.limits import Limits
from airshed.serve.fields.published import Session
from airshed.serve.model.host import Host
from airshed.serve.model.sessions import CHANGES, UNDO
from airshed.serve.protocol import types


def check_count(sessions: Iterable[Session], opening: int, limits: Limits) -> None:
    """Raise CaseError where another session with a model would exceed the limit; `opening` ones are being set up."""
    there = sum(each.finished is None for each in sessions) + opening
    if there >= limits.sessions:
        raise CaseError(f"there are {there} sessions, which is the limit; end one")


def check_log(host: Host, limits: Limits, name: str, command: types.Document) -> None:
    """Raise CaseError where the log or the snapshots of a session would exceed the limits."""
    hosted = host.sessions[name]
    if len(hosted.log) >= limits.log:
        raise CaseError(f"the log of {name} holds {len(hosted.log)} commands, which is the limit; end it")
    if hosted.log_bytes >= limits.log_bytes:
        raise CaseError(f"the log of {name} has {hosted.log_bytes} bytes, which is the limit; end it")
    if isinstance(command, types.Snapshot):
        count = sum(each.about.change is None for each in hosted.snapshots.values())
        if count >= limits.snapshots or snapshot_bytes(host) >= limits.snapshot_bytes:
            raise CaseError(f"{count} snapshots are stored, which is the limit; delete one")


def states_before(host: Host, limits: Limits, command: types.Document) -> int:
    """Return the number of states before changes to store with a command; 0 for a command that is no change.

    States before changes use at most half of the bytes of all snapshots; the rest is for snapshots of clients.
    """
    if not isinstance(command, CHANGES) or 2 * snapshot_bytes(host) >= limits.snapshot_bytes:
        return 0
    return UNDO


def snapshot_bytes(host: Host) -> int:
    """Return the size of the snapshots of all sessions on this rank; branches share those of their parents."""
    stored = [each for session in host.sessions.values() for each in session.snapshots.values()]
    return sum({id(each): each.about.bytes for each in stored}.values())
