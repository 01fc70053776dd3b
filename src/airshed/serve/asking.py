"""What routes and WebSockets ask of the engine, as coroutines."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from airshed.case.case import RunCase
from airshed.core.errors import AirshedError, CaseError
from airshed.serve import types
from airshed.serve.engine import Engine
from airshed.serve.lease import Client
from airshed.serve.session import Copy, Session


class NotThereError(AirshedError):
    """There is no such session, variable or file."""


class NotYetError(AirshedError):
    """The model of the server is still being set up."""


@dataclass
class Asking:
    """An engine, for one event loop. A field or a summary that several ask for is asked for once."""

    engine: Engine

    def __post_init__(self) -> None:
        self._asked: dict[tuple[str, str], asyncio.Future[Any]] = {}

    def session(self, name: str) -> Session:
        """Return a session; raises NotThereError for one that is not there, NotYetError before the first one is."""
        found = self.engine.sessions.get(name)
        if not self.engine.began:
            raise NotYetError("the model is being set up; ask again soon")
        if found is None:
            there = ", ".join(self.engine.sessions) or "none"
            raise NotThereError(f"there is no session {name!r}; there are: {there}")
        found.used = time.monotonic()
        return found

    async def copy(self, session: str, name: str) -> Copy:
        """Return a copy of a field: that of the present state, or of the end of the step that is being made."""
        found = self.session(session)
        if name not in found.shape.variables:
            try:
                found.shape.variable(name)
            except CaseError as error:
                raise NotThereError(str(error)) from None
        present = found.present(name)
        if present is not None:
            return present
        copy: Copy = await self._once((session, name), lambda: self.engine.field(session, name))
        return copy

    async def difference(self, session: str, other: str, name: str) -> Copy:
        """Return a field of one session less that of another."""
        self.session(other)
        one, two = await asyncio.gather(self.copy(session, name), self.copy(other, name))
        return one.less(two)

    async def _once(self, key: tuple[str, str], ask: "Callable[[], Future[Any]]") -> Any:
        if key not in self._asked:
            future = asyncio.wrap_future(ask())
            self._asked[key] = future
            future.add_done_callback(lambda done: self._forget(key, done))
        return await asyncio.shield(self._asked[key])

    def _forget(self, key: tuple[str, str], done: "asyncio.Future[Any]") -> None:
        self._asked.pop(key, None)
        if not done.cancelled():
            done.exception()  # is raised where somebody still waits

    async def command(self, session: str, command: types.Document, client: Client) -> types.Result:
        """Let a client command a session."""
        found = self.session(session)
        before = found.lease.held_by()
        found.lease.command(client)
        if before is None:
            self.engine.told(types.Event(event="control", session=session, state=found.view()))
        return await asyncio.wrap_future(self.engine.command(session, command, client.author))

    async def open(self, case: RunCase) -> types.SessionState:
        """Begin a session, and return it when its model is ready."""
        return await asyncio.wrap_future(self.engine.open(case))

    async def close(self, session: str, client: Client) -> None:
        """End a session, of which a client has control."""
        self.session(session).lease.command(client)
        await asyncio.wrap_future(self.engine.close(session))

    def tell_control(self, session: str) -> None:
        """Tell all who controls a session now."""
        self.engine.told(types.Event(event="control", session=session, state=self.session(session).view()))

    async def summary(self, session: str) -> types.Summary:
        """Return what happened so far."""
        self.session(session)
        summary: types.Summary = await self._once((session, ""), lambda: self.engine.summary(session))
        return summary

    async def info(self, session: str) -> types.ModelInfo:
        """Return all there is to know about a session's model."""
        self.session(session)
        return await asyncio.wrap_future(self.engine.info(session))
