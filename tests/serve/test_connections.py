"""Connections of strangers: bounded in number, and ended where no request comes; those that speak stay."""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serve.conftest import serving
from websockets.sync.client import connect

import airshed
from airshed.runtime.registry import load_case
from airshed.serve.limits import Limits
from airshed.serve.server import Server

CASE = Path("tracer-rotation")


@pytest.fixture
def served() -> Iterator[Server]:
    with serving(load_case(CASE), Limits(connections=8, head=0.5)) as server:
        yield server


def knock(server: Server, text: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", server.port), timeout=20.0)
    made.sendall(text)
    return made


def is_ended(made: socket.socket) -> bool:
    try:
        return made.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("text", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_connection_whose_request_does_not_come_is_ended(served: Server, text: bytes) -> None:
    with knock(served, text) as made:
        assert is_ended(made)
    with airshed.connect(served.url) as client:
        assert client.step(1).step == 1


def test_a_second_request_of_a_connection_that_does_not_come_ends_it(served: Server) -> None:
    asked = b"GET /api/openapi.json HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % served.port
    with knock(served, asked) as made:
        answer = http.client.HTTPResponse(made)
        answer.begin()
        assert answer.status == 200
        answer.read()
        time.sleep(0.7)  # a pause between requests is no fault
        made.sendall(asked)
        second = http.client.HTTPResponse(made)
        second.begin()
        assert second.status == 200
        second.read()
        made.sendall(b"GET / HT")
        assert is_ended(made)


def test_more_than_the_limit_are_ended_at_once(served: Server) -> None:
    made = [knock(served) for _ in range(8)]
    with knock(served) as one_more:
        one_more.settimeout(0.4)  # less than the time for a head
        assert is_ended(one_more)
    for each in made:
        each.close()
    with airshed.connect(served.url) as client:
        assert client.step(1).step == 1


def test_a_websocket_stays(served: Server) -> None:
    with connect(f"ws://127.0.0.1:{served.port}/api/live") as live:
        live.send(json.dumps({"token": served.token, "client": "me"}))
        live.recv(timeout=20.0)
        time.sleep(0.7)
        live.send(json.dumps({"command": {"kind": "step", "steps": 1}, "id": 1}))
        while "reply" not in (told := json.loads(live.recv(timeout=20.0))):
            pass
        assert told["ok"]


def test_there_are_never_more_than_half_of_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airshed.serve.connections.resource.getrlimit", lambda which: (6, 6))
    with serving(load_case(CASE), Limits(head=60.0)) as server:
        made = [knock(server) for _ in range(3)]
        with knock(server) as one_more:
            assert is_ended(one_more)
        for each in made:
            each.close()
