"""A real browser, controlled by tests/web/browser.mjs, with the pages that `make web` has built."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest
from tests.serve.conftest import serving

import airshed
from airshed.runtime.registry import load_case
from airshed.serve.http.server import Server

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = ROOT / "src" / "airshed" / "serve" / "web" / "index.html"
PATH = os.pathsep.join((os.environ["PATH"], str(ROOT / ".venv-node" / "bin")))
"""Search path for node: that of the system, then the wheel that `make web` installs."""

PARIS, PARIS_CELL = [2.5, 48.5], (3, 2)
"""Longitude and latitude of Paris, and its row and column in the fixture `chemistry`."""

Browse = Callable[..., Any]
Answers = Mapping[str, Callable[[], object]]


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of the browser; tests are skipped without it or without the pages."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("chromium is not installed")
    if not PAGES.is_file() or shutil.which("node", path=PATH) is None:
        pytest.skip("the pages are not built (make web)")
    return found


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator["subprocess.Popen[str]"]:
    """Start one browser for all scenarios, each with its own windows; it ends with its standard input."""
    command = ["node", str(HERE / "browser.mjs"), chromium]
    environment = {**os.environ, "PATH": PATH}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process


@pytest.fixture
def browse(browser: "subprocess.Popen[str]") -> Browse:
    """Return a function that runs a scenario in the browser, and returns its results."""
    requests, replies = browser.stdin, browser.stdout
    assert requests is not None
    assert replies is not None

    def send(message: object) -> dict[str, Any]:
        requests.write(json.dumps(message) + "\n")
        requests.flush()
        line = replies.readline()
        assert line, "the browser has ended, see above"
        return cast("dict[str, Any]", json.loads(line))

    def run(scenario: str, server: Server, answers: Answers | None = None, **given: Any) -> Any:
        message = send({"scenario": scenario, "given": {"url": server.url, **given}})
        while "ask" in message:
            message = send((answers or {})[message["ask"]]())
        assert "failed" not in message, message
        assert message["errors"] == []
        return message["found"]

    return run


@pytest.fixture(scope="module")
def served(chromium: str) -> Iterator[Callable[..., Server]]:
    """Return a function that serves a case until the end of the module, one server per case."""
    with ExitStack() as stack:
        there: dict[str, Server] = {}

        def serve(case: str, *settings: str) -> Server:
            key = " ".join((case, *settings))
            if key not in there:
                there[key] = stack.enter_context(serving(load_case(Path(case), list(settings))))
            return there[key]

        yield serve


@pytest.fixture
def air(served: Callable[..., Server]) -> Server:
    """A model of air without chemistry, at its start."""
    return _begun(served("cases/tracer-rotation"))


@pytest.fixture
def chemistry(served: Callable[..., Server]) -> Server:
    """Western Europe in cells of a degree, at its start."""
    return _begun(served("cases/west-europe", "grid.spacing=1 deg", "time.spinup=0 h"))


@pytest.fixture
def pasture(served: Callable[..., Server]) -> Server:
    """The pastures of Queensland, at their start."""
    return _begun(served("cases/queensland"))


def _begun(server: Server) -> Server:
    """Return a server to its initial state: one session, without a controller."""
    for name, session in list(server.engine.sessions.items()):
        session.lease.holder = session.lease.asking = None  # browsers of the previous test
        with airshed.connect(server.url, name) as client:
            client.restart() if name == "main" else client.end()
            if name == "main":
                client._ask("DELETE", "/control")
    return server
