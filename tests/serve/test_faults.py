"""Failures in one part of the server leave all other parts running, and are reported to the client concerned."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.serve.conftest import serving
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

import airshed
from airshed.core.errors import DataError, OutputError
from airshed.runtime.registry import load_case
from airshed.serve.client import Remote, ServerError
from airshed.serve.fields.published import Session
from airshed.serve.http.live import Connection
from airshed.serve.http.server import Server
from airshed.serve.model.requests import Request
from airshed.serve.model.sessions import HostedSession
from airshed.serve.protocol.errors import EndsError
from airshed.serve.protocol.frames import frames
from airshed.serve.protocol.types import Forget

CASE = Path("tracer-rotation")


@pytest.fixture
def served() -> Iterator[Server]:
    with serving(load_case(CASE)) as server:
        yield server


@pytest.fixture
def main(served: Server) -> Iterator[Remote]:
    with airshed.connect(served.url) as client:
        yield client


def test_a_failed_session_can_be_read_and_restored(
    served: Server, main: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    with main.branch() as other:
        main.step(1)
        model = served.engine.host.sessions["main"].simulation.model

        def no_weather(ends: object) -> None:
            raise DataError("the weather ends here")

        with monkeypatch.context() as patch:
            patch.setattr(model, "step_through", no_weather)
            with pytest.raises(ServerError, match="the weather ends here"):
                main.step(1)
        assert (main.state.status, main.state.error) == ("failed", "the weather ends here")
        with pytest.raises(ServerError, match="ended by an error"):
            main.values("TRACER")
        assert other.step(1).step == 1
        assert np.isfinite(other.values("TRACER")).all()
        main.restart()
        assert main.step(1).status == "paused"
        assert np.isfinite(main.values("TRACER")).all()


def test_a_branch_can_be_restored_to_its_start(main: Remote) -> None:
    main.step(2)
    name = main.snapshot()
    main.step(1)
    with main.branch(name) as branch:
        branch.step(1)
        assert branch.restore(name).step == 2
        assert branch.snapshot() != name
        branch.step(1)
        assert branch.replay().equal


@contextmanager
def live(server: Server) -> Iterator[ClientConnection]:
    with connect(f"ws://127.0.0.1:{server.port}/api/live") as socket:
        socket.send(json.dumps({"token": server.token}))
        yield socket


def fail(*given: object) -> None:
    raise ValueError("a defect")


def test_a_frame_that_cannot_be_made_ends_its_subscription_alone(
    served: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Session, "frame", fail)
    with live(served) as socket:
        socket.send(json.dumps({"subscribe": {"id": "map", "variable": "TRACER"}}))
        while "reply" not in (reply := json.loads(socket.recv(timeout=20.0))):
            pass
        assert (reply["reply"], reply["problem"]["error"]) == ("map", "DefectError")
        socket.send(json.dumps({"command": {"kind": "step"}, "id": 1}))
        while "reply" not in (reply := json.loads(socket.recv(timeout=20.0))):
            pass
        assert (reply["reply"], reply["ok"]) == (1, True)
    assert "ValueError: a defect" in capfd.readouterr().err


def test_a_connection_that_cannot_send_any_more_is_closed(
    served: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Connection, "_wait_time", fail)
    with live(served) as socket, pytest.raises(ConnectionClosed) as closed:
        deque(iter(lambda: socket.recv(timeout=20.0), None), maxlen=0)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1011
    assert "ValueError: a defect" in capfd.readouterr().err


def test_a_subscription_continues_after_a_failed_session_is_restored(
    served: Server, main: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = served.engine.host.sessions["main"].simulation.model
    with live(served) as socket:
        socket.send(json.dumps({"subscribe": {"id": "map", "variable": "TRACER", "level": 0}}))
        while isinstance(socket.recv(timeout=20.0), str):
            pass
        with monkeypatch.context() as patch:
            patch.setattr(model, "step_through", fail)
            with pytest.raises(ServerError, match="a defect of Airshed"):
                main.step(1)
        main.info()
        with pytest.raises(ServerError, match="restart it, or restore a snapshot"):
            main.step(1)
        assert main.pause().status == "failed"
        main.restart()
        while isinstance(message := socket.recv(timeout=20.0), str):
            assert "reply" not in json.loads(message)
        (frame,) = frames(message)
        assert frame.header.version == main.state.version


def test_a_version_is_that_of_the_state_alone(main: Remote) -> None:
    version = main.step(1).version
    name = main.snapshot()
    with main.branch(name) as branch:
        branch.end()
    main.command(Forget(snapshot=name))
    main.replay()
    assert main.pause().version == version
    assert main.restart().version == version + 1


def test_a_state_that_cannot_be_stored_ends_no_other_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    close = HostedSession.close

    def failing(hosted: HostedSession) -> None:
        close(hosted)
        raise OutputError("the disk is full")

    with serving(load_case(CASE), folder=tmp_path) as server, airshed.connect(server.url) as main:
        other = main.branch()
        with other, monkeypatch.context() as patch:
            patch.setattr(HostedSession, "close", failing)
            with pytest.raises(ServerError, match="the disk is full"):
                other.end()
        with other:
            assert main.step(1).step == 1
            assert other.session not in server.engine.sessions


@pytest.mark.thorough
def test_an_interrupt_while_the_model_is_set_up_ends_all_ranks(tmp_path: Path) -> None:
    program = [Path(sys.executable).with_name("airshed"), "serve", str(CASE), "-n", "2", "--threads", "1"]
    with subprocess.Popen(
        [*program, "--no-browser"], cwd=tmp_path, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            errors = process.communicate(timeout=30.0)[1]
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")


class DelayedQueue:
    """A queue that receives a query about a model only after the server has ended."""

    def __init__(self, queue: Any) -> None:
        self.queue, self.began, self.ended = queue, threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.queue, name)

    def put(self, request: Request) -> None:
        if getattr(request.handle, "func", print).__name__ == "_info":
            self.began.set()
            assert self.ended.wait(20.0)
        self.queue.put(request)


def test_requests_during_the_end_of_a_server_get_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(1) as pool:
        with serving(load_case(CASE)) as server:
            slow = DelayedQueue(server.engine._requests)
            monkeypatch.setattr(server.engine, "_requests", slow)
            request = pool.submit(server.engine.info, "main")
            assert slow.began.wait(20.0)
        slow.ended.set()
        assert isinstance(request.result(20.0).exception(10.0), EndsError)
