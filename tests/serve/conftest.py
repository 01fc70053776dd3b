"""A server of this process: the models in a thread, HTTP in another, a port of the system's choice."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import airshed
from airshed.case.case import RunCase
from airshed.parallel.communicator import Alone
from airshed.runtime.registry import load_case
from airshed.serve.client import Remote
from airshed.serve.limits import Limits
from airshed.serve.server import Server

Serve = Callable[..., Server]


@contextmanager
def serving(case: RunCase | None, limits: Limits | None = None) -> Iterator[Server]:
    """Serve a case, and end with the block."""
    server = Server(Alone(), limits=limits or Limits())
    thread = threading.Thread(target=server.run)
    with server.listening():
        thread.start()
        try:
            if case is not None:
                server.engine.open(case, "main").result(120.0)
            yield server
        finally:
            server.stop()
            thread.join(60.0)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """Return what starts a server of a shipped case, which ends with the module."""
    with ExitStack() as stack:
        yield lambda case=None, *settings, limits=None: stack.enter_context(
            serving(None if case is None else load_case(Path(case), list(settings)), limits)
        )


@pytest.fixture(scope="module")
def rotation(serve: Serve) -> Server:
    """A server of tracers that turn: a model of air without chemistry."""
    return serve("tracer-rotation")


@pytest.fixture
def remote(rotation: Server) -> Iterator[Remote]:
    """A client of it, at the start of the case, which then gives up control."""
    with airshed.connect(rotation.url) as client:
        client.restart()
        yield client
        client._ask("DELETE", "/control")
