"""Access to the server: listening addresses, secrecy of the token, and limits of requests without it."""

import http.client
import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serve.conftest import Start, refused, serving

import airshed
from airshed.core.errors import AirshedError, CaseError
from airshed.parallel.communicator import SingleRank
from airshed.runtime.registry import load_case
from airshed.serve.access.gate import Gate
from airshed.serve.access.limits import Limits, RefusedError
from airshed.serve.access.tokens import Tokens
from airshed.serve.http.server import Address, Server

CASE = Path("tracer-rotation")


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    with serving(load_case(CASE), Limits(open_requests=5.0, open_burst=20.0, request_bytes=10_000)) as server:
        yield server


def ask(server: Server, text: bytes) -> tuple[int, dict[str, str]]:
    """Send a raw request; return the status and the document of the response."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20.0) as made:
        made.sendall(text)
        answer = http.client.HTTPResponse(made)
        answer.begin()
        content = answer.read()
    return answer.status, json.loads(content) if content.startswith(b"{") else {}


def post(server: Server, headers: str, body: bytes = b"") -> bytes:
    head = f"POST /api/sessions HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
    return f"{head}Content-Type: application/json\r\n{headers}\r\n\r\n".encode() + body


@pytest.mark.parametrize("host", ["", " "])
def test_an_empty_host_is_refused(host: str) -> None:
    assert "would listen on all addresses" in refused(CASE, "--host", host).stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_need_tls_or_insecure(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--insecure" in refused(CASE, "--host", host).stderr
    with pytest.raises(CaseError, match="makes the server reachable from other machines"):
        Server(SingleRank(), Address(host))
    Address(host, certificate=Path("some.crt")).check()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_this_machine_needs_no_option(host: str) -> None:
    address = Address(host)
    address.check()
    assert address.warnings(1) == []


def test_an_open_address_works_here_and_warns_about_host_names(tmp_path: Path) -> None:
    address = Address("0.0.0.0", insecure=True)
    with serving(load_case(CASE), address=address) as server, airshed.connect(server.url) as main:
        assert server.url.startswith(f"http://127.0.0.1:{server.port}/")
        assert main.state.step == 0
        plain, names = address.warnings(server.port)
    assert "clear text" in plain
    assert f":{server.port}" in names
    assert "--known-as" in names


def test_the_token_is_in_no_command_line(tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = tmp_path / "bin" / "xdg-open"
    browser.parent.mkdir()
    browser.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/given.part\nmv {tmp_path}/given.part {tmp_path}/given\n')
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", f"{browser.parent}:{os.environ['PATH']}")
    process, main = start("--output", "live", browser=True)
    until = time.monotonic() + 60.0
    while not (tmp_path / "given").exists() and time.monotonic() < until:
        time.sleep(0.05)
    page = Path((tmp_path / "given").read_text().strip())
    token = main.url.partition("#token=")[2]
    assert token not in str(page)
    assert f"#token={token}" in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    process.terminate()
    process.wait(60.0)
    assert not page.exists()


def test_the_openapi_document_is_made_once_and_bounded(served: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    request = f"GET /api/openapi.json HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode()
    status, document = ask(served, request)
    assert (status, document["info"]["title"]) == (200, "Airshed live")  # type: ignore[index]
    monkeypatch.setattr("airshed.serve.http.api.schemas", lambda: pytest.fail("the document is built a second time"))
    statuses = [ask(served, request)[0] for _ in range(40)]
    assert set(statuses) == {200, 429}
    with airshed.connect(served.url) as main:  # clients with the token are not delayed
        assert main.state.step == 0


@pytest.mark.parametrize("path", ["/", "/missing", "/index.html"])
def test_pages_are_bounded_too(path: str) -> None:
    gate = Gate(Tokens("secret"), frozenset(), frozenset(), Limits(open_requests=1.0, open_burst=2.0))
    gate.check_open_rate()
    gate.check_open_rate()
    with pytest.raises(RefusedError, match="without a token"):
        gate.check_open_rate()


BODIES = {
    "a length": ("Content-Length: 20000", b""),
    "a length of many digits": (f"Content-Length: {'9' * 19}", b""),
    "chunks": ("Transfer-Encoding: chunked", b"1000\r\n" + b"x" * 4096 + b"\r\n" + b"2000\r\n" + b"x" * 8192 + b"\r\n"),
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_body_that_is_too_long_is_refused(served: Server, kind: str) -> None:
    status, problem = ask(served, post(served, *BODIES[kind]))
    assert (status, problem.get("message")) == (413, "a request may have 10000 bytes at most")


@pytest.mark.parametrize("length", ["-1", "1e3", "9" * 5000, "abc", "1, 2"])
def test_an_invalid_length_is_refused(served: Server, length: str, capfd: pytest.CaptureFixture[str]) -> None:
    status, _ = ask(served, post(served, f"Content-Length: {length}"))
    assert status in (400, 413)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("token", ["", "wrong", "é" * 40, "\ud800", "x" * 100_000, "a b"])
def test_malformed_tokens_are_wrong_ones(token: str) -> None:
    gate = Gate(Tokens("secret"), frozenset(), frozenset(), Limits())
    with pytest.raises(RefusedError, match="missing or wrong"):
        gate.check_token(token)


@pytest.mark.parametrize(
    "url",
    ["", "http://127.0.0.1:8017/", "ftp://127.0.0.1:1/#token=x", "http://127.0.0.1:99999/#token=x", "http://[::1/#token=x",
     "http://127.0.0.1:port/#token=x", "http://127.0.0.1:1/#token=", "http:///#token=x", "http://127.0.0.1:1/#token=é\n"],
)  # fmt: skip
def test_a_client_refuses_an_invalid_address_in_one_line(url: str) -> None:
    with pytest.raises(AirshedError) as error:
        airshed.connect(url)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("content", ["", "short", "x" * 15, "with space in the token", "é" * 20, "two\nlines"])
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content)
    assert "must hold a token" in refused(CASE, "--token-file", tmp_path / "token").stderr
