"""All sessions on disk are resumed with their logs after any end of the server, on one rank and on two."""

import json
import signal
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.serve.conftest import Start, reached, serving
from websockets.sync.client import connect

import airshed
from airshed.core.errors import AirshedError, OutputError
from airshed.io.strategies.states import GatheredStates
from airshed.runtime.registry import load_case
from airshed.serve.access.limits import Limits
from airshed.serve.client import ServerError
from airshed.serve.model import engine
from airshed.serve.model.host import Host
from airshed.serve.model.sessions import HostedSession

RATE = "emissions.point.0.rate"


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ("kill", ()),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in (("kill", ("-n", "2")), ("interrupt", ("-n", "2")))
        ),
    ],
)
def test_branches_are_resumed(start: Start, how: str, options: tuple[str, ...]) -> None:
    process, main = start(*options, "--threads", "1")
    main.step(3)
    at = main.snapshot()
    with main.branch(at, {RATE: "0.5 mol/s"}) as less, main.branch(at) as ended:
        less.step(2)
        less.snapshot("here")
        stored = less["TRACER"].values
        ended.end()
    main.step(2)
    main.snapshot()
    if how == "kill":
        process.kill()
        process.wait(20.0)
    else:
        process.send_signal(signal.SIGINT)
        assert process.wait(60.0) == 0
    _, again = start("--resume")
    with pytest.raises(AirshedError, match="no session"):
        airshed.connect(again.url, ended.session)
    with reached(again.url, less.session) as branch:
        assert (branch.state.step, branch.state.parent, branch.state.case) == (5, "main", "tracer-rotation")
        assert np.array_equal(branch["TRACER"].values, stored)
        assert [each.command["kind"] for each in branch.log()][-2:] == ["set", "snapshot"]
        branch.step(2)
        with airshed.Simulation("tracer-rotation") as expected:
            for _ in range(3):
                expected.step()
            data = expected.case.to_dict()
            data["emissions"]["point"][0]["rate"] = "0.5 mol/s"
            with expected.branch(case=type(expected.case).from_dict(data, expected.case.base)) as changed:
                for _ in range(4):
                    changed.step()
                assert np.array_equal(branch["TRACER"].values, changed["TRACER"].values.astype(np.float32))
        assert branch.replay().equal
        with branch.branch() as other:
            assert other.session not in (less.session, "main")
    assert again.state.step == 5


def test_an_idle_session_ends_with_its_state_on_disk_and_is_resumed(tmp_path: Path) -> None:
    case = load_case(Path("tracer-rotation"))
    with serving(case, Limits(idle=0.5), folder=tmp_path / "live") as server:
        server.engine.sessions["main"].used += 1000.0
        with airshed.connect(server.url) as main, main.branch() as branch:
            branch.step(3)
            stored, name = branch["TRACER"].values, branch.session
        server.engine.sessions["main"].used += 1000.0
        until = time.monotonic() + 30.0
        while name in server.engine.sessions and time.monotonic() < until:
            server.engine.info("main").result(10.0)
        assert list(server.engine.sessions) == ["main"]
    with serving(case, folder=tmp_path / "live", resume=True) as server, reached(server.url, name) as branch:
        assert branch.state.step == 3
        assert np.array_equal(branch["TRACER"].values, stored)


def test_a_case_is_opened_while_others_step_and_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready, prepare = threading.Event(), Host.prepare
    with serving(load_case(Path("tracer-rotation"))) as server, airshed.connect(server.url) as main:

        def held(host: Host, order: object) -> object:
            assert ready.wait(60.0)
            return prepare(host, order)

        monkeypatch.setattr(Host, "prepare", held)
        opening = server.engine.open(load_case(Path("tracer-rotation")))
        assert main.step(3).step == 3
        assert np.isfinite(main["TRACER"].values).all()
        assert not opening.done()
        ready.set()
        assert opening.result(60.0).step == 0


def test_a_client_that_disconnects_during_its_command_affects_no_other() -> None:
    with serving(load_case(Path("tracer-rotation"), ['time.step="10 s"'])) as server:
        for _ in range(3):
            with connect(f"ws://127.0.0.1:{server.port}/api/live", max_size=None) as socket:
                socket.send(json.dumps({"token": server.token, "client": "gone"}))
                socket.recv(timeout=10)
                socket.send(json.dumps({"command": {"kind": "step", "steps": 20}, "id": 1}))
                socket.send(json.dumps({"command": {"kind": "replay"}, "id": 2}))
                time.sleep(0.05)
                socket.socket.close()
        server.engine.sessions["main"].lease.holder = None
        with airshed.connect(server.url) as remote:
            until = time.monotonic() + 60.0
            while remote.state.status == "running" and time.monotonic() < until:
                time.sleep(0.05)
            assert remote.step(1).step >= 21


def test_a_client_with_too_many_requests_does_not_delay_another() -> None:
    limits = Limits(requests=5.0, burst=20.0)
    with (
        serving(load_case(Path("tracer-rotation")), limits) as server,
        airshed.connect(server.url) as greedy,
        airshed.connect(server.url) as other,
    ):
        with pytest.raises(ServerError, match="send fewer") as refused:
            deque((greedy.state for _ in range(100)), maxlen=0)
        assert refused.value.status == 429
        assert other.state.step == 0


def test_a_server_stays_while_any_session_is_of_use(tmp_path: Path) -> None:
    with serving(load_case(Path("tracer-rotation")), Limits(idle=0.5), folder=tmp_path / "live") as server:
        server.engine.sessions["main"].used += 1000.0
        with airshed.connect(server.url) as main:
            branch = main.branch()
        server.engine.sessions[branch.session].used += 1000.0
        server.engine.sessions["main"].used -= 2000.0
        for _ in range(3):
            server.engine.info("main").result(10.0)
        with branch:
            assert branch.step(1).step == 1
        server.engine.sessions[branch.session].used -= 2000.0
        until = time.monotonic() + 30.0
        while (tmp_path / "live" / "main").exists() and time.monotonic() < until:
            with suppress(AirshedError):
                server.engine.info("main").result(10.0)
                continue
            break
        with pytest.raises(AirshedError, match="the server is shutting down"):
            server.engine.info("main").result(10.0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the server ends with the error
def test_a_state_of_an_earlier_time_that_cannot_be_stored_removes_no_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, folder = load_case(Path("tracer-rotation")), tmp_path / "live"
    with serving(case, folder=folder) as server, airshed.connect(server.url) as main:
        main.step(3)
        main.snapshot()
        main.restart()

        def full(*state: object) -> None:
            raise OutputError("the disk is full")

        monkeypatch.setattr(GatheredStates, "hand_over", full)
        with pytest.raises(ServerError, match="the disk is full"):
            main.snapshot()
    monkeypatch.undo()
    with serving(case, folder=folder, resume=True) as server, airshed.connect(server.url) as main:
        assert main.state.step == 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the last state is not stored
def test_a_full_disk_does_not_end_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*state: object) -> None:
        raise OutputError("the disk is full")

    monkeypatch.setattr(engine, "_SAVE", -1.0)  # store the state after each step
    monkeypatch.setattr(GatheredStates, "hand_over", full)
    with serving(load_case(Path("tracer-rotation")), folder=tmp_path) as server, airshed.connect(server.url) as main:
        messages: list[str] = []
        server.engine.on_event = lambda event: messages.append(event.problem.message) if event.problem else None
        assert main.run(until="1 h").status == "paused"
        assert main.state.error is None
        assert np.isfinite(main["TRACER"].values).all()
    assert set(messages) == {"session main was not stored: the disk is full"}


def test_the_newest_state_is_the_one_of_an_earlier_time(tmp_path: Path) -> None:
    case, folder = load_case(Path("tracer-rotation")), tmp_path / "live"
    with serving(case, folder=folder) as server, airshed.connect(server.url) as main:
        main.step(5)
        main.snapshot()
        main.restart()
        main.step(2)
        main.snapshot()
        expected = main["TRACER"].values
    for step in (2, 4):
        with serving(case, folder=folder, resume=True) as server, airshed.connect(server.url) as main:
            assert main.state.step == step
            assert step > 2 or np.array_equal(main["TRACER"].values, expected)
            main.step(2)


def test_a_branch_that_cannot_be_stored_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object, **named: object) -> None:
        raise OutputError("the disk is full")

    with serving(load_case(Path("tracer-rotation")), folder=tmp_path) as server, airshed.connect(server.url) as main:
        with monkeypatch.context() as patch:
            patch.setattr(GatheredStates, "hand_over", full)
            with pytest.raises(ServerError, match="the disk is full"):
                main.branch()
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith("b")] == []
        with main.branch() as branch:
            assert branch.step(1).step == 1


def test_the_state_of_a_session_that_has_stopped_is_stored_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: an unchanged state is not stored again."""
    monkeypatch.setattr(engine, "_SAVE", 0.2)
    monkeypatch.setattr(engine, "_IDLE_CHECK", 0.05)
    stored: list[int] = []
    with serving(load_case(Path("tracer-rotation"), []), folder=tmp_path) as server:
        monkeypatch.setattr(HostedSession, "save", lambda self, *, wait=False: stored.append(self.step))
        with airshed.connect(server.url) as client:
            client.step(3)
            for _ in range(100):
                if 3 in stored:
                    break
                time.sleep(0.05)
            time.sleep(0.6)
            assert stored.count(3) == 1
            client.step(1)
            time.sleep(0.6)
            assert stored.count(4) == 1
