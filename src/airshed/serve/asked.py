"""What other threads ask of the model's thread, and what becomes of a defect there."""

import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from airshed.core.errors import AirshedError
from airshed.serve import types


class DefectError(AirshedError):
    """Something is wrong with Airshed itself."""


class EndsError(AirshedError):
    """The server ends, and with it what was asked for."""

    def __init__(self) -> None:
        super().__init__("the server ends")


def as_told(error: Exception) -> AirshedError:
    """Return an error as clients are told it; a defect is told where the server was started."""
    if isinstance(error, AirshedError):
        return error
    traceback.print_exception(error)
    return DefectError("a defect of Airshed, told where the server was started; restore a snapshot, or go on")


@contextmanager
def telling_unkept(told: Callable[[types.Event], None], session: str) -> Iterator[None]:
    """Tell all who look at a session that its state was not kept, and why, where a block raises that."""
    try:
        yield
    except Exception as error:
        why = as_told(error)
        problem = types.Problem(error=type(why).__name__, message=f"session {session} was not kept: {why}")
        told(types.Event(event="problem", session=session, problem=problem))


def _awaited() -> "Future[Any]":
    """Return a reply that a client who vanishes does not cancel: what it asked for is done all the same."""
    reply: Future[Any] = Future()
    reply.set_running_or_notify_cancel()
    return reply


@dataclass(frozen=True)
class Asked:
    """What a client waits for: `what` is done between steps."""

    what: Any
    reply: "Future[Any]" = field(default_factory=_awaited)


@dataclass(frozen=True)
class FieldOf:
    """A copy of a field of a session."""

    session: str
    name: str


@dataclass(frozen=True)
class InfoOf:
    """All there is to know about a session's model."""

    session: str


@dataclass(frozen=True)
class CommandTo:
    """A command to a session."""

    session: str
    command: types.Document
    author: str
