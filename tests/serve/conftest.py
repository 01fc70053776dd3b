"""Fixtures of servers in this process or in a process of their own, each on a port that the system chooses."""

import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.started import python
from typer.testing import CliRunner, Result

import airshed
from airshed.case.case import RunCase
from airshed.cli.program import app
from airshed.core.errors import AirshedError
from airshed.parallel.communicator import SingleRank
from airshed.runtime.registry import load_case
from airshed.serve.access.limits import Limits
from airshed.serve.client import Remote
from airshed.serve.http.server import Address, Server

Serve = Callable[..., Server]
Start = Callable[..., tuple[subprocess.Popen[str], Remote]]


@contextmanager
def serving(
    case: RunCase | None,
    limits: Limits | None = None,
    address: Address | None = None,
    folder: Path | None = None,
    *,
    resume: bool = False,
    accept: bool = False,
) -> Iterator[Server]:
    """Serve a case for the duration of the block."""
    server = Server(SingleRank(), address or Address(), limits or Limits(), folder=folder)
    thread = threading.Thread(target=server.run)
    with server.listening():
        thread.start()
        try:
            if case is not None:
                server.engine.open(case, "main", resume=resume, accept=accept).result(120.0)
            yield server
        finally:
            server.stop()
            thread.join(60.0)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """Return a function that starts a server of a shipped case, which ends with the module."""
    with ExitStack() as stack:
        yield lambda case=None, *settings, limits=None: stack.enter_context(
            serving(None if case is None else load_case(Path(case), list(settings)), limits)
        )


@pytest.fixture(scope="module")
def rotation(serve: Serve) -> Server:
    """A server of rotating tracers: a model of air without chemistry."""
    return serve("tracer-rotation")


@pytest.fixture
def remote(rotation: Server) -> Iterator[Remote]:
    """A client at the start of the case, which gives up control after the test."""
    with airshed.connect(rotation.url) as client:
        client.restart()
        yield client
        client._ask("DELETE", "/control")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts `airshed serve` in a temporary folder, with the process and a client of `main`."""
    begun: list[tuple[subprocess.Popen[str], Remote]] = []

    def serve(
        *options: str, case: str = "tracer-rotation", browser: bool = False
    ) -> tuple[subprocess.Popen[str], Remote]:
        program = [python(), "-m", "airshed", "serve", case, *([] if browser else ["--no-browser"]), *options]
        process = subprocess.Popen(
            program, cwd=tmp_path, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        line = process.stdout.readline().strip().removeprefix("To steer: ")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=[\w-]{40,}", line), process.communicate()[1]
        begun.append((process, airshed.connect(line)))
        return begun[-1]

    yield serve
    for process, client in begun:
        client.close()
        if process.poll() is None:
            process.kill()
        process.communicate()


def refused(*arguments: object) -> Result:
    """Run `airshed serve` in this process, check that it is refused with one line, and return its output."""
    done = CliRunner().invoke(app, ["serve", "--no-browser", *map(str, arguments)])
    assert done.exit_code == 2, done.output
    assert len(done.stderr.strip().splitlines()) == 1
    return done


def reached(url: str, session: str = "main") -> Remote:
    """Return a client of a session, after waiting for it."""
    deadline = time.monotonic() + 60.0
    while True:
        try:
            return airshed.connect(url, session)
        except AirshedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
