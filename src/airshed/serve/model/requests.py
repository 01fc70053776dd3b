"""Requests to the model's thread: items of its queue and coroutines for routes."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from airshed.case.case import RunCase
from airshed.core.errors import CaseError
from airshed.serve.access.gate import role_of_request
from airshed.serve.access.lease import Client
from airshed.serve.fields.published import Copy, Session
from airshed.serve.origin.jobs import OriginJobs
from airshed.serve.protocol import messages, types
from airshed.serve.protocol.errors import NotThereError, NotYetError

if TYPE_CHECKING:
    from airshed.serve.model.engine import Engine
    from airshed.serve.model.sessions import HostedSession


_SETTING_UP: Final = "the model is being set up; repeat the request soon"


def _running_reply() -> "Future[Any]":
    """Return a reply that a disconnected client does not cancel: its request is executed all the same."""
    reply: Future[Any] = Future()
    reply.set_running_or_notify_cancel()
    return reply


@dataclass(frozen=True)
class Request:
    """A call for the model's thread between two steps, with the reply that it sets now or later.

    prepared  name of the session that the request begins, and the session
    """

    handle: "Callable[[Future[Any]], None]"
    reply: "Future[Any]" = field(default_factory=_running_reply)
    prepared: "tuple[str, HostedSession] | None" = None


@dataclass
class Requests:
    """Requests to an engine from an event loop. Simultaneous requests for one field or summary share its result."""

    engine: "Engine"
    origins: OriginJobs = field(default_factory=OriginJobs)

    def __post_init__(self) -> None:
        self._pending: dict[tuple[str, str], asyncio.Future[Any]] = {}

    def session(self, name: str) -> Session:
        """Return a session; raises NotThereError for an unknown name, NotYetError before the first session exists."""
        found = self.engine.sessions.get(name)
        if found is None and role_of_request.get() == "control" and self.engine.begin_offered(name) is not None:
            raise NotYetError(_SETTING_UP)
        if not self.engine.began:
            raise NotYetError(_SETTING_UP)
        if found is None:
            there = ", ".join(self.engine.sessions) or "none"
            raise NotThereError(f"there is no session {name!r}; there are: {there}")
        found.used = time.monotonic()
        return found

    async def copy(self, session: str, name: str, less: str | None = None) -> Copy:
        """Return a copy of a field of the present state, or of the state after the step in progress.

        less  another session, whose values are subtracted
        """
        if less is not None:
            if not self.session(session).shape.has_cells_of(self.session(less).shape):
                raise CaseError(f"{name} of {session} and of {less} are on different grids; compare runs of one grid")
            one, two = await asyncio.gather(self.copy(session, name), self.copy(less, name))
            return one.less(two)
        found = self.session(session)
        if name not in found.shape.variables:
            try:
                found.shape.variable(name)
            except CaseError as error:
                raise NotThereError(str(error)) from None
        present = found.present(name)
        if present is None and found.finished is not None and found.recorded is not None:
            present = await asyncio.to_thread(found.publish_last, name)
        if present is not None:
            return present
        copy: Copy = await self._once((session, name), lambda: self.engine.field(session, name))
        return copy

    async def _once(self, key: tuple[str, str], request: "Callable[[], Future[Any]]") -> Any:
        if key not in self._pending:
            future = asyncio.wrap_future(request())
            self._pending[key] = future
            future.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(self._pending[key])

    def _forget(self, key: tuple[str, str], done: "asyncio.Future[Any]") -> None:
        self._pending.pop(key, None)
        if not done.cancelled():
            done.exception()  # raised where a client still waits

    async def command(self, session: str, command: types.Document, client: Client) -> types.Result:
        """Pass a client's command to the model's thread, if the client has or gets control of the session."""
        found = self.session(session)
        if found.finished is not None:
            steer = "send commands to the session main" if self.engine.offers else "start its case with airshed serve"
            raise CaseError(f"{session} is a finished run without a model; to steer one, {steer}")
        before = found.lease.held_by()
        found.lease.command(client)
        if before is None:
            self.publish_control(session)
        return await asyncio.wrap_future(self.engine.command(session, command, client.author))

    async def open(self, case: RunCase, request: types.OpenSession) -> types.SessionState:
        """Begin a session of a request, and return it when its model is ready."""
        opened = self.engine.open(case, scenario=request.scenario, changes=request.changes)
        return await asyncio.wrap_future(opened)

    async def set_up(self, session: str) -> types.SessionState:
        """Set up the model of a recorded session, and return the main session when it is ready."""
        opened = self.engine.begin_offered() if self.session(session).finished is not None else None
        if opened is None:
            raise CaseError(f"{session} has no model that can be set up")
        return await asyncio.shield(asyncio.wrap_future(opened))

    async def close(self, session: str, client: Client) -> None:
        """End a session that the client controls."""
        if self.session(session).finished is not None:
            raise CaseError(f"{session} is a finished run, which stays open until the server ends")
        self.session(session).lease.command(client)
        await asyncio.wrap_future(self.engine.close(session))

    def publish_control(self, session: str) -> None:
        """Publish the present controller of a session."""
        found = self.session(session)
        found.published_control = found.control()
        self.engine.on_event(messages.Event(event="control", session=session, state=found.view()))

    async def summary(self, session: str) -> types.Summary:
        """Return the summary of the run so far."""
        if (finished := self.session(session).finished) is not None:
            return finished.summary
        summary: types.Summary = await self._once((session, ""), lambda: self.engine.summary(session))
        return summary

    async def info(self, session: str) -> types.ModelInfo:
        """Return the variables, grid, settings and clock of a session's model."""
        if (finished := self.session(session).finished) is not None:
            return finished.info
        return await asyncio.wrap_future(self.engine.info(session))
