"""A replay shares the model's thread with all other work of the server, and can be cancelled at any time."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.serve.conftest import serving

import airshed
from airshed.runtime.registry import load_case
from airshed.serve.client import Remote, ServerError
from airshed.serve.model import host
from airshed.serve.protocol import types

CASE = Path("tracer-rotation")


@pytest.fixture
def go_on(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Until this event is set, batches of a replay make no steps."""
    plain, ready = host.replay, threading.Event()

    def slowly(*given: object) -> Iterator[object]:
        made = plain(*given)  # type: ignore[arg-type]
        yield next(made)
        while not ready.is_set():
            yield 1
        return (yield from made)

    monkeypatch.setattr(host, "replay", slowly)
    return ready


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60.0
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def begun(remote: Remote) -> bool:
    return remote.state.replayed is not None


def test_other_sessions_continue_during_a_replay(go_on: threading.Event) -> None:
    with serving(load_case(CASE)) as server, airshed.connect(server.url) as main, main.branch() as branch:
        branch.step(3)
        with ThreadPoolExecutor(1) as pool, airshed.connect(server.url, branch.session) as watching:
            found = pool.submit(branch.replay)
            until(lambda: begun(watching))
            assert main.step(2).step == 2
            assert watching.info().state.step == 3
            assert watching.values("TRACER").ndim == 3
            assert not found.done()
            go_on.set()
            assert found.result(60.0) == types.ReplayResult(equal=True, step=3, differs=[])
            assert not begun(watching)


def test_a_session_that_advances_is_compared_at_the_start_of_the_replay(go_on: threading.Event) -> None:
    with serving(load_case(CASE)) as server, airshed.connect(server.url) as main:
        main.step(2)
        reply = server.engine.command("main", types.Replay(), "me")
        until(lambda: begun(main))
        main.set({"emissions.point.0.rate": "2 mol/s"})
        assert main.step(3).step == 5
        go_on.set()
        result = reply.result(60.0).replay
        assert result == types.ReplayResult(equal=True, step=2, differs=[])


def test_the_end_of_the_session_and_of_the_server_cancels_a_replay(go_on: threading.Event) -> None:
    with ThreadPoolExecutor(2) as pool:
        with serving(load_case(CASE)) as server, airshed.connect(server.url) as main, main.branch() as branch:
            for each in (main, branch):
                each.step(1)
            ended, stopped = (server.engine.command(name, types.Replay(), "me") for name in (branch.session, "main"))
            until(lambda: begun(branch) and begun(main))
            pool.submit(server.engine.close(branch.session).result).result(30.0)
            with pytest.raises(Exception, match=f"session {branch.session} has ended"):
                ended.result(30.0)
            assert not stopped.done()
        with pytest.raises(Exception, match="the server is shutting down"):
            stopped.result(30.0)
    assert not go_on.is_set()


def test_a_failed_replay_is_reported_and_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = host.replay

    def failing(*given: object) -> Iterator[object]:
        yield 1
        raise ValueError("a defect")

    with serving(load_case(CASE)) as server, airshed.connect(server.url) as main:
        main.step(1)
        monkeypatch.setattr(host, "replay", failing)
        with pytest.raises(ServerError, match="a defect of Airshed"):
            main.replay()
        monkeypatch.setattr(host, "replay", plain)
        assert main.replay().equal
