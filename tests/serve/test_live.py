"""The WebSocket: hello, subscriptions, commands, events, and slow readers."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from airshed.models.air.model import AirModel
from airshed.serve.client import Remote
from airshed.serve.http.server import Server
from airshed.serve.protocol.frames import Frame, frames


@pytest.fixture(autouse=True)
def _nobody_controls(rotation: Server) -> None:
    rotation.engine.sessions["main"].lease.holder = None


@contextmanager
def live(server: Server, client: str = "me", token: str | None = None, **more: Any) -> Iterator[ClientConnection]:
    with connect(f"ws://127.0.0.1:{server.port}/api/live", max_size=None, compression=None, **more) as socket:
        tell(socket, token=server.token if token is None else token, client=client, author=client)
        yield socket


def tell(socket: ClientConnection, **message: Any) -> None:
    socket.send(json.dumps(message))


def until(socket: ClientConnection, key: str, value: Any = None, seconds: float = 20.0) -> dict[str, Any]:
    """Return the next message that has a key (of a value)."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        message = socket.recv(timeout=seconds)
        if isinstance(message, str):
            found = json.loads(message)
            if key in found and (value is None or found[key] == value):
                return found
    raise TimeoutError(f"no message with {key}")


def next_frame(socket: ClientConnection, seconds: float = 20.0) -> Frame:
    while isinstance(message := socket.recv(timeout=seconds), str):
        pass
    (found,) = frames(message)
    return found


def test_a_subscription_sends_the_present_and_then_each_newer_state(rotation: Server, remote: Remote) -> None:
    with live(rotation) as socket:
        assert until(socket, "event", "hello")["state"]["session"] == "main"
        tell(socket, subscribe={"id": "map", "variable": "TRACER", "level": 0, "hz": 60})
        first = next_frame(socket)
        assert (first.header.subscription, first.header.shape, first.header.dropped) == ("map", [40, 40], 0)
        remote.step(1)
        second = next_frame(socket)
        assert second.header.version > first.header.version
        assert np.array_equal(second.values, remote.values("TRACER", level=0))
        tell(socket, unsubscribe="map")


def test_a_command_gets_its_reply_and_other_clients_an_event(rotation: Server) -> None:
    with live(rotation, "one") as one, live(rotation, "two") as two:
        tell(one, command={"kind": "step", "steps": 2}, id=7)
        reply = until(one, "reply", 7)
        assert reply["ok"]
        tell(two, command={"kind": "step"}, id=8)
        refused = until(two, "reply", 8)
        assert not refused["ok"]
        assert refused["problem"]["error"] == "ControlledError"
        tell(one, command={"kind": "snapshot", "text": "x"}, id=9)
        assert until(two, "event", "log")["entry"]["author"] == "one"
        assert until(two, "event", "state")["state"]["log_entries"] > 0


def test_a_reconnected_reader_gets_no_frame_twice(rotation: Server, remote: Remote) -> None:
    version = remote.step(1).version
    with live(rotation) as socket:
        tell(socket, subscribe={"id": "map", "variable": "TRACER", "since": version})
        with pytest.raises(TimeoutError):
            next_frame(socket, 0.5)
        remote.step(1)
        assert next_frame(socket).header.dropped == 0


def test_a_slow_reader_gets_the_newest_frame_and_the_number_missed(rotation: Server, remote: Remote) -> None:
    with live(rotation) as socket:
        tell(socket, subscribe={"id": "map", "variable": "TRACER", "level": 0, "hz": 5})
        first = next_frame(socket)
        for _ in range(30):
            remote.step(1)
        seen, dropped = [first.header.version], 0
        while seen[-1] < remote.state.version:
            found = next_frame(socket)
            seen.append(found.header.version)
            dropped += found.header.dropped
        assert seen == sorted(set(seen))
        assert len(seen) < 30
        assert dropped == seen[-1] - seen[0] - (len(seen) - 1)


@pytest.mark.parametrize(
    "message",
    [
        "no json",
        "{}",
        '{"subscribe": 3}',
        '{"command": {"kind": "shell"}, "id": true}',
        '{"subscribe": {"id": "a"}}',
        "[" * 5000,
    ],
)
def test_an_invalid_message_gets_an_error(rotation: Server, message: str) -> None:
    with live(rotation) as socket:
        socket.send(message)
        assert until(socket, "reply", "message")["ok"] is False
        tell(socket, subscribe={"id": "b", "variable": "nothing"})
        assert until(socket, "reply", "b")["problem"]["error"] == "NotThereError"


@pytest.mark.parametrize("first", [b"bytes", "no json", '{"token": "wrong"}', "{}"])
def test_without_the_token_the_socket_is_closed(rotation: Server, first: str | bytes) -> None:
    with connect(f"ws://127.0.0.1:{rotation.port}/api/live") as socket:
        socket.send(first)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008


def test_a_page_of_another_origin_gets_no_socket(rotation: Server) -> None:
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus), live(rotation, origin="http://evil.example"):
        pass


def test_a_decreasing_range_is_refused(rotation: Server) -> None:
    with live(rotation) as socket:
        tell(socket, subscribe={"id": "map", "variable": "TRACER", "encoding": "byte", "range": [1.0, 0.0]})
        assert "two increasing numbers" in until(socket, "reply", "map")["problem"]["message"]


def test_a_message_that_is_too_large_ends_the_socket(rotation: Server) -> None:
    with live(rotation) as socket:
        until(socket, "event", "hello")
        socket.send("x" * 100_000)
        with pytest.raises(ConnectionClosed):
            until(socket, "event", "never", 10.0)


def test_a_client_that_disconnects_during_frames_affects_no_other(rotation: Server, remote: Remote) -> None:
    for _ in range(5):
        with live(rotation) as socket:
            tell(socket, subscribe={"id": "map", "variable": "TRACER", "hz": 60})
            next_frame(socket)
            socket.socket.close()
    assert remote.step(1).status == "paused"


def test_budgets_are_sent_first_and_after_changes_of_the_state(rotation: Server, remote: Remote) -> None:
    with live(rotation) as socket:
        tell(socket, subscribe_budgets={"every": 0.1})
        first = until(socket, "event", "budget")
        assert first["session"] == "main"
        assert any("Budgets" in table["title"] for table in first["summary"]["tables"])
        remote.step(1)
        second = until(socket, "event", "budget")
        assert second["summary"]["state"]["version"] > first["summary"]["state"]["version"]
        with pytest.raises(TimeoutError):
            until(socket, "event", "budget", seconds=0.5)
        tell(socket, unsubscribe_budgets="main")
        remote.step(1)
        with pytest.raises(TimeoutError):
            until(socket, "event", "budget", seconds=0.5)
        tell(socket, subscribe_budgets={"session": "none"})
        assert "no session 'none'" in until(socket, "reply")["problem"]["message"]


def test_an_invalid_command_gets_an_error_with_its_number(rotation: Server) -> None:
    with live(rotation) as socket:
        tell(socket, command={"kind": "step", "steps": -3}, id=71)
        problem = until(socket, "reply", 71)["problem"]
    assert problem["message"] == "command.step.steps: Input should be greater than or equal to 1"


def callers() -> list[str]:
    """Return the functions of the package on the call stack, the outermost first."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        if "/src/airshed/" in frame.f_code.co_filename:
            found.append(frame.f_code.co_qualname)
        frame = frame.f_back  # type: ignore[assignment]
    return found[::-1]


class RecordingQueue:
    """A queue that records the call stack of each item."""

    def __init__(self, queue: Any, calls: list[list[str]]) -> None:
        self.queue, self.calls = queue, calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self.queue, name)

    def put(self, request: Any) -> None:
        self.calls.append(callers())
        self.queue.put(request)


def test_a_setting_takes_seven_calls_from_the_socket_to_the_model(
    rotation: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The value stays JSON up to the model; with three calls in the browser they are those of docs/how-to/serve.md."""
    puts: list[list[str]] = []
    sets: list[tuple[list[str], object]] = []
    plain = AirModel.set

    def recorded(model: AirModel, name: str, value: object) -> None:
        sets.append((callers(), value))
        plain(model, name, value)

    monkeypatch.setattr(rotation.engine, "_requests", RecordingQueue(rotation.engine._requests, puts))
    monkeypatch.setattr(AirModel, "set", recorded)
    with live(rotation) as socket:
        tell(socket, command={"kind": "set", "changes": {"TRACER": "3 ppb", "TRACER2": 2e-9}}, id=1)
        assert until(socket, "reply", 1)["ok"]
    before = ["Server.listening", "Server._serve", "Server._serve.<locals>.serve"]
    assert [each for each in puts[0] if each not in before] == ["Requests.command", "Engine.command"]
    loop, *calls = sets[0][0][sets[0][0].index("Engine.run") :]
    assert (loop, calls) == ("Engine.run", ["Engine._apply", "Host.give", "HostedSession.apply", "Simulation.set"])
    assert [value for _, value in sets] == ["3 ppb", 2e-9]
    assert len(rotation.engine.sessions["main"].log) >= 1
