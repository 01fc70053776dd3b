"""The WebSocket: subscriptions, where new data replace data not yet sent, commands, and events."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Final, Generic, TypeVar, get_args
from uuid import uuid4

from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from pydantic import TypeAdapter, ValidationError

from airshed.core.errors import AirshedError
from airshed.serve.access.gate import READ_ONLY, Gate, role_of_request
from airshed.serve.access.lease import Client
from airshed.serve.access.limits import Bucket, RefusedError
from airshed.serve.access.people import People
from airshed.serve.access.waiting import AccessRequests
from airshed.serve.fields.published import Selection
from airshed.serve.http.connections import PendingSockets
from airshed.serve.model.requests import Requests
from airshed.serve.protocol import messages, types
from airshed.serve.protocol.access import Role
from airshed.serve.protocol.errors import as_airshed_error

_EVENTS: Final = 1000
"""Most events that wait for a client; the oldest ones are discarded, and the log shows the gap."""

_STATES: Final = 0.1
"""Least number of seconds between two states of a session."""

_MESSAGE: TypeAdapter[Any] = TypeAdapter(messages.ClientMessage)
_SELECTED: Final = [each.name for each in fields(Selection)]
_READING: Final = (
    messages.Subscribe, messages.Unsubscribe, messages.SubscribeBudgets, messages.UnsubscribeBudgets,
    messages.ChooseName,
)  # fmt: skip
"""Messages that change nothing: a reader may send no others."""

_EXPIRY: Final = 1.0
"""Seconds between two checks whether control has changed without a request."""

_RENAMES: Final = 0.2
"""Changes of the name of a connection per second, on average."""

_MESSAGES: tuple[type[types.Document], ...] = get_args(messages.ClientMessage)


Request = TypeVar("Request", messages.Subscription, messages.Budgets)


@dataclass
class _Watch(Generic[Request]):
    """A subscription, the version of the state that was sent last, and the time of sending."""

    request: Request
    sent: int = -1
    at: float = 0.0


@dataclass(eq=False)
class Connection:
    """WebSocket of a client, with a task that reads and a task that sends from a bounded queue."""

    socket: WebSocket
    requests: Requests
    client: Client
    bucket: Bucket
    role: Role
    on_rename: "Callable[[Connection, str], None]"
    names: Bucket = field(default_factory=lambda: Bucket(_RENAMES, 10.0))
    watched: dict[str, _Watch[messages.Subscription]] = field(default_factory=dict)
    summed: dict[str, _Watch[messages.Budgets]] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    _events: deque[str] = field(default_factory=lambda: deque(maxlen=_EVENTS))
    _states: dict[str, str] = field(default_factory=dict)
    _stated: float = 0.0
    _commands: set[asyncio.Task[types.Result]] = field(default_factory=set)

    def add_event(self, event: messages.Event, text: str) -> None:
        """Queue an event and its text, which all connections share; newer states and people replace older ones."""
        if event.event == "state" and event.session is not None:
            self._states[event.session] = text
        elif event.event == "people":
            self._states[""] = text
        else:
            self._events.append(text)
        self.wake.set()

    async def run(self) -> None:
        """Read and send messages until one side closes the connection."""
        states = [session.view() for session in list(self.requests.engine.sessions.values())]
        hellos = [self._hello(each) for each in states] or [self._hello(None)]
        openings = self.requests.engine.openings.items()
        hellos += [messages.Event(event="opening", session=name, stage=stage) for name, stage in list(openings)]
        self._events.extendleft(map(_text, reversed(hellos)))
        talk = [asyncio.create_task(each) for each in (self._read_all(), self._send_all())]
        try:
            await asyncio.wait(talk, return_when=asyncio.FIRST_COMPLETED)
            next(task for task in talk if task.done()).result()  # raises the error that ended the connection
        finally:
            for task in (*talk, *self._commands):
                task.cancel()
                with suppress(asyncio.CancelledError, AirshedError, WebSocketDisconnect, RuntimeError):
                    await task

    def _hello(self, state: types.SessionState | None) -> messages.Event:
        return messages.Event(
            event="hello", session=None if state is None else state.session, state=state, client=self.client.identity,
            protocol=types.PROTOCOL,
        )  # fmt: skip

    async def _read_all(self) -> None:
        while True:
            message = await self.socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            if not self.bucket.take():
                await self.socket.close(1008, "too many messages")
                return
            try:
                message = _MESSAGE.validate_json(text or "")
                if self.role == "watch" and not isinstance(message, _READING):
                    self._wrong(getattr(message, "id", "message"), "RefusedError", READ_ONLY)
                elif isinstance(message, messages.ChooseName):
                    self.on_rename(self, message.rename)
                elif not isinstance(message, messages.CommandMessage):
                    self._subscribe(message)
                elif len(self._commands) >= self.requests.engine.limits.subscriptions:
                    self._wrong(message.id, "CaseError", "too many commands are waiting; wait for their replies")
                else:
                    task = asyncio.create_task(self.requests.command(message.session, message.command, self.client))
                    self._commands.add(task)
                    task.add_done_callback(partial(self._reply, message.id))
            except ValidationError as error:
                self._wrong(_identity(text or ""), "TypeError", _words(error, text or ""))
            except AirshedError as error:
                self._wrong("message", type(error).__name__, str(error))
            self.wake.set()

    def _wrong(self, reply: int | str, kind: str, message: str) -> None:
        problem = types.Problem(error=kind, message=message)
        self._events.append(_text(messages.Reply(reply=reply, ok=False, problem=problem)))

    def _subscribe(self, message: Any) -> None:
        match message:
            case messages.Subscribe(subscribe=request):
                if len(self.watched) >= self.requests.engine.limits.subscriptions and request.id not in self.watched:
                    self._wrong(request.id, "CaseError", f"{len(self.watched)} subscriptions are the limit; end one")
                else:
                    self.watched[request.id] = _Watch(request, -1 if request.since is None else request.since)
            case messages.Unsubscribe(unsubscribe=name):
                self.watched.pop(name, None)
            case messages.SubscribeBudgets(subscribe_budgets=request):
                self.requests.session(request.session)
                self.summed[request.session] = _Watch(request)
            case messages.UnsubscribeBudgets(unsubscribe_budgets=name):
                self.summed.pop(name, None)

    def _reply(self, number: int, task: "asyncio.Task[types.Result]") -> None:
        """Queue the reply to a finished command."""
        self._commands.discard(task)
        if not task.cancelled():
            error = task.exception()
            if isinstance(error, Exception):
                problem = as_airshed_error(error)
                self._wrong(number, type(problem).__name__, str(problem))
            else:
                self._events.append(_text(messages.Reply(reply=number, ok=True, result=task.result())))
        self.wake.set()

    async def _send_all(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            timer = loop.call_later(self._wait_time(), self.wake.set)  # lighter than asyncio.wait_for
            await self.wake.wait()
            timer.cancel()
            self.wake.clear()
            while self._events:
                await self.socket.send_text(self._events.popleft())
            now = time.monotonic()
            if self._states and now - self._stated >= _STATES:
                states, self._states, self._stated = self._states, {}, now
                for text in states.values():
                    await self.socket.send_text(text)
            for name in list(self.watched):
                if name in self.watched:
                    await self._send_frame(name)
            for name in list(self.summed):
                if name in self.summed:
                    await self._send_summary(name)

    def _wait_time(self) -> float:
        """Return the time [s] until the next data are due."""
        now = time.monotonic()
        for each in self.watched.values():
            if session := self.requests.engine.sessions.get(each.request.session):
                session.used = now  # not idle
        waits = [each.at + 1.0 / each.request.hz - now for each in self.watched.values() if self._is_new(each)]
        waits += [each.at + each.request.every - now for each in self.summed.values() if self._has_changed(each)]
        if self._states:
            waits.append(self._stated + _STATES - now)
        return 0.0 if self._events else max(min(waits, default=2.0), 0.0)

    def _is_new(self, each: _Watch[messages.Subscription]) -> bool:
        sessions, request = self.requests.engine.sessions, each.request
        session, other = sessions.get(request.session), sessions.get(request.less or "")
        if session is None or (request.less and other is None):
            return each.sent < 0  # the client gets an error
        if self._has_failed(request):
            return False  # events report the failure; fields return with a restored state
        behind = session.state.version + (0 if other is None else other.state.version) - each.sent
        if behind == 0:
            return False
        return each.sent < 0 or behind < 0 or behind >= each.request.every or session.state.status != "running"

    def _has_failed(self, request: messages.Subscription) -> bool:
        sessions = self.requests.engine.sessions
        found = (sessions.get(each) for each in (request.session, request.less or ""))
        return any(each is not None and each.state.error is not None for each in found)

    def _has_changed(self, each: _Watch[messages.Budgets]) -> bool:
        session = self.requests.engine.sessions.get(each.request.session)
        return session is None or session.state.version != each.sent

    async def _send_summary(self, name: str) -> None:
        """Send the summary of a session, where it is due."""
        each, now = self.summed[name], time.monotonic()
        if not self._has_changed(each) or now < each.at + each.request.every:
            return
        try:
            summary = await self.requests.summary(name)
        except AirshedError:  # the session has ended, which an event reports
            self.summed.pop(name, None)
            return
        each.sent, each.at = summary.state.version, now
        await self.socket.send_text(_text(messages.Event(event="budget", session=name, summary=summary)))

    async def _send_frame(self, name: str) -> None:
        """Send the newest data of a subscription, where they are due."""
        each, now = self.watched[name], time.monotonic()
        if not self._is_new(each) or now < each.at + 1.0 / each.request.hz:
            return
        try:
            copy = await self.requests.copy(each.request.session, each.request.variable, each.request.less)
            session = self.requests.session(each.request.session)
            dropped = 0 if each.sent < 0 else max(copy.version - each.sent - 1, 0)
            chosen = Selection(**{key: getattr(each.request, key) for key in _SELECTED})
            data = session.frame(copy, chosen, name, dropped)
        except Exception as error:
            if self._has_failed(each.request):  # in the meantime
                return
            self.watched.pop(name, None)
            problem = as_airshed_error(error)
            self._wrong(name, type(problem).__name__, str(problem))
            self.wake.set()
            return
        each.sent, each.at = copy.version, now
        await self.socket.send_bytes(data)


@dataclass
class Hub:
    """All connections. Events come from the model's thread and are passed to the event loop."""

    requests: Requests
    gate: Gate
    access_requests: AccessRequests
    people: People = field(default_factory=People)
    loop: asyncio.AbstractEventLoop | None = None
    connections: set[Connection] = field(default_factory=set)
    _silent: PendingSockets = field(default_factory=PendingSockets)

    def on_event(self, event: messages.Event) -> None:
        """Send an event to all connections; callable from any thread."""
        if self.connections and self.loop is not None and not self.loop.is_closed():
            with suppress(RuntimeError):  # the loop has ended
                self.loop.call_soon_threadsafe(self._broadcast, event)

    def _broadcast(self, event: messages.Event) -> None:
        text = _text(event)
        for each in self.connections:
            each.add_event(event, text)

    def publish_waiting(self) -> None:
        """Send the requests for access to clients with control."""
        event = messages.Event(event="access", waiting=self.access_requests.waiting())
        for each in self.connections:
            if each.role == "control":
                each.add_event(event, _text(event))

    async def watch_control(self) -> None:
        """Publish the control of sessions where it has ended, or passed on, without a request."""
        while True:
            await asyncio.sleep(_EXPIRY)
            for session in list(self.requests.engine.sessions.values()):
                if session.control() != session.published_control:
                    with suppress(AirshedError):  # the session has ended
                        self.requests.publish_control(session.name)

    def add_to(self, app: FastAPI) -> None:
        """Add the route of the WebSocket."""

        @app.websocket("/api/live")
        async def live(socket: WebSocket) -> None:
            await self._talk(socket)

    async def _talk(self, socket: WebSocket) -> None:
        if len(self.connections) >= self.gate.limits.sockets:
            await socket.close(1013, "too many connections")
            return
        await socket.accept()
        connection: Connection | None = None
        try:
            hello = messages.Hello.model_validate_json(await self._silent.first(socket))
            connection = self._welcome(socket, hello, self.gate.check_token(hello.token))
            await connection.run()
        except (TimeoutError, ValidationError, KeyError):
            with suppress(RuntimeError):
                await socket.close(1008, "the first message must be a hello with the token")
        except RefusedError as refused:
            await socket.close(1008, str(refused)[:100])
        except WebSocketDisconnect:
            pass
        except Exception as error:
            with suppress(RuntimeError):
                await socket.close(1011, str(as_airshed_error(error))[:100])
        finally:
            if connection is not None:
                self._leave(connection)

    def _welcome(self, socket: WebSocket, hello: messages.Hello, role: Role) -> Connection:
        """Return the connection of a client, after its name has been chosen and published."""
        role_of_request.set(role)
        limits = self.gate.limits
        client = Client(hello.client or uuid4().hex, hello.author)
        bucket = Bucket(limits.requests, limits.burst)
        connection = Connection(socket, self.requests, client, bucket, role, self._rename)
        self.connections.add(connection)
        connection.client = self.people.add(connection, client, role)
        self._publish_name(connection)
        if role == "control":
            waiting = messages.Event(event="access", waiting=self.access_requests.waiting())
            connection.add_event(waiting, _text(waiting))
        return connection

    def _rename(self, connection: Connection, wanted: str) -> None:
        if not connection.names.take():
            return
        connection.client = self.people.rename(connection, wanted)
        for session in self.requests.engine.sessions.values():
            session.lease.rename(connection.client)
        self._publish_name(connection)

    def _publish_name(self, connection: Connection) -> None:
        named = messages.Event(event="named", author=connection.client.author, role=connection.role)
        connection.add_event(named, _text(named))
        self._broadcast(messages.Event(event="people", people=self.people.listed()))

    def _leave(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if self.people.remove(connection):
            for session in self.requests.engine.sessions.values():
                session.lease.leave(connection.client.identity)
        self._broadcast(messages.Event(event="people", people=self.people.listed()))


def _text(document: types.Document) -> str:
    return document.model_dump_json(exclude_none=True)


def _given(text: str) -> dict[str, Any]:
    """Return the document in a client's message, valid or not; empty where it holds none."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _identity(text: str) -> int | str:
    """Return the number of the command or subscription in an invalid message, for the reply to it."""
    given = _given(text).get("id")
    return given if isinstance(given, int) and not isinstance(given, bool) and abs(given) < 2**53 else "message"


def _words(error: ValidationError, text: str) -> str:
    """Return the error of a message for the type that it names; errors of other types do not matter."""
    errors, given = error.errors(), _given(text)
    meant = {each.__name__ for each in _MESSAGES if next(iter(each.model_fields)) in given}
    place, message = types.first_wrong([each for each in errors if each["loc"] and each["loc"][0] in meant] or errors)
    where = [str(each) for each in place if each not in meant]
    return f"{'.'.join(where) or 'message'}: {message}"
