"""Unauthenticated connections are limited in number, and ended where no request comes; other connections stay."""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.serve.conftest import serving
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import airshed
from airshed.runtime.registry import load_case
from airshed.serve.access.limits import Limits
from airshed.serve.http.server import Server

CASE = Path("tracer-rotation")


@pytest.fixture
def served() -> Iterator[Server]:
    with serving(load_case(CASE), Limits(connections=8, head=0.5, writing=0.5, unauthenticated_requests=30)) as server:
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
def test_a_connection_without_a_request_is_ended(served: Server, text: bytes) -> None:
    with knock(served, text) as made:
        assert is_ended(made)
    with airshed.connect(served.url) as client:
        assert client.step(1).step == 1


def test_a_second_request_of_a_connection_that_does_not_come_ends_it(served: Server) -> None:
    request = b"GET /api/openapi.json HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % served.port
    with knock(served, request) as made:
        answer = http.client.HTTPResponse(made)
        answer.begin()
        assert answer.status == 200
        answer.read()
        time.sleep(0.7)  # pauses between requests are allowed
        made.sendall(request)
        second = http.client.HTTPResponse(made)
        second.begin()
        assert second.status == 200
        second.read()
        made.sendall(b"GET / HT")
        assert is_ended(made)


ASKED = b"GET /missing HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"


def owned(server: Server) -> http.client.HTTPConnection:
    """Return a connection after a request with the token."""
    made = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20.0)
    made.request("GET", "/api/info", headers={"Authorization": f"Bearer {server.token}"})
    answer = made.getresponse()
    assert answer.status == 200
    answer.read()
    return made


def test_above_the_limit_the_oldest_unauthenticated_connection_ends(served: Server) -> None:
    made = [knock(served) for _ in range(6)]  # three quarters of all
    with knock(served):
        made[0].settimeout(0.4)  # less than the time for a header
        assert is_ended(made[0])
    for each in made:
        each.close()


def test_unauthenticated_connections_never_block_the_owner(served: Server) -> None:
    owner = owned(served)
    strangers = [knock(served, ASKED % served.port) for _ in range(40)]
    for _ in range(3):
        owned(served).close()
        strangers.append(knock(served, ASKED % served.port))
    owner.request("GET", "/api/info", headers={"Authorization": f"Bearer {served.token}"})
    assert owner.getresponse().status == 200
    owner.close()
    for each in strangers:
        each.close()


def test_without_the_reserve_the_owner_cannot_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: unauthenticated connections take all places, and none of them is ended for a new one."""
    with serving(load_case(CASE), Limits(connections=4, head=30.0)) as server:
        protocol = server._uvicorn.config.http
        monkeypatch.setattr(
            protocol, "_enforce_limits", lambda made: made.transport.abort() if len(made.connections) > 4 else None
        )
        strangers = [knock(server) for _ in range(4)]
        time.sleep(0.2)
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            owned(server)
        for each in strangers:
            each.close()


def test_an_unauthenticated_connection_ends_after_a_number_of_requests(served: Server) -> None:
    with knock(served, (ASKED % served.port) * 60) as made:
        content = b"".join(iter(lambda: made.recv(65536), b""))
    assert 1 <= content.count(b"HTTP/1.1 ") <= 30


def until_ended(made: socket.socket, text: bytes, pause: float, most: float = 20.0) -> float:
    """Send a text repeatedly, without reading, until that fails; return the time [s] until then."""
    began = time.monotonic()
    while time.monotonic() < began + most:
        try:
            made.sendall(text)
        except (BrokenPipeError, ConnectionResetError):
            break
        time.sleep(pause)
    return time.monotonic() - began


def test_a_silent_or_long_unauthenticated_connection_is_ended() -> None:
    with serving(load_case(CASE), Limits(unauthenticated_silence=1, unauthenticated=2.0)) as server:
        with knock(server, ASKED % server.port) as made:
            assert b"HTTP/1.1 404" in b"".join(iter(lambda: made.recv(65536), b""))
        with knock(server, ASKED % server.port) as made:
            assert until_ended(made, ASKED % server.port, pause=0.3) < 15.0
        owner = owned(server)
        time.sleep(2.5)
        owner.request("GET", "/api/info", headers={"Authorization": f"Bearer {server.token}"})
        assert owner.getresponse().status == 200
        owner.close()


def test_a_client_that_never_reads_is_ended(served: Server) -> None:
    """This holds for pipelined requests of the owner too: the time to send data is limited."""
    path = b"/api/sessions/main/netcdf?variables=TRACER,TRACER2"
    head = b"Host: 127.0.0.1:%d\r\nAuthorization: Bearer %s" % (served.port, served.token.encode())
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.connect(("127.0.0.1", served.port))
        assert until_ended(made, b"GET %s HTTP/1.1\r\n%s\r\n\r\n" % (path, head), pause=0.001, most=60.0) < 50.0


def test_the_oldest_silent_websocket_ends(served: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airshed.serve.http.connections.MOST_PENDING", 2)
    with ExitStack() as stack:
        silent = [stack.enter_context(connect(f"ws://127.0.0.1:{served.port}/api/live")) for _ in range(3)]
        with pytest.raises(ConnectionClosed):
            silent[0].recv(timeout=3.0)
        silent[2].send(json.dumps({"token": served.token, "client": "me"}))
        assert "hello" in silent[2].recv(timeout=20.0)


def test_a_websocket_stays(served: Server) -> None:
    with connect(f"ws://127.0.0.1:{served.port}/api/live") as live:
        live.send(json.dumps({"token": served.token, "client": "me"}))
        live.recv(timeout=20.0)
        time.sleep(0.7)
        live.send(json.dumps({"command": {"kind": "step", "steps": 1}, "id": 1}))
        while "reply" not in (message := json.loads(live.recv(timeout=20.0))):
            pass
        assert message["ok"]


def test_there_are_never_more_than_half_of_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airshed.serve.http.connections.resource.getrlimit", lambda which: (6, 6))
    with serving(load_case(CASE), Limits(head=60.0)) as server:
        made = [knock(server) for _ in range(4)]  # three may be open, three quarters of them without a token
        assert is_ended(made[0])
        for each in made:
            each.close()
