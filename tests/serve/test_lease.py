"""Control of a session: one client has it until it gives it up on request, or sends no commands for a while."""

import json

import pytest

import airshed
from airshed.core.errors import AirshedError
from airshed.serve.access.gate import Gate
from airshed.serve.access.lease import Client, Lease
from airshed.serve.access.limits import Bucket, Limits, RefusedError
from airshed.serve.access.tokens import Tokens
from airshed.serve.client import Remote, ServerError
from airshed.serve.http.server import Server
from airshed.serve.protocol.errors import ControlledError

ONE, TWO, THREE = (Client(name, name.title()) for name in ("one", "two", "three"))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lease(clock: Clock) -> Lease:
    return Lease(30.0, clock)


def test_the_first_to_command_has_control(lease: Lease) -> None:
    lease.command(ONE)
    lease.command(ONE)
    with pytest.raises(ControlledError, match="One has control of this session, for at most 30 s more"):
        lease.command(TWO)
    assert lease.state_for(TWO).controller == "One"
    assert not lease.state_for(TWO).yours


def test_a_silent_client_loses_control(lease: Lease, clock: Clock) -> None:
    lease.command(ONE)
    clock.now = 29.0
    lease.command(ONE)
    clock.now = 58.0
    with pytest.raises(ControlledError):
        lease.command(TWO)
    clock.now = 60.0
    lease.command(TWO)
    assert lease.state_for(TWO).yours


def test_control_passes_to_the_client_that_requested_it(lease: Lease) -> None:
    lease.command(ONE)
    assert lease.ask(TWO).asking is None
    assert lease.ask(TWO, ask=True).asking == "Two"
    lease.give_up(THREE)  # is not the holder
    assert lease.state_for(ONE).yours
    lease.give_up(ONE)
    assert lease.state_for(TWO).yours
    assert lease.state_for(TWO).asking is None


def test_control_goes_over_http(rotation: Server, remote: Remote) -> None:
    with airshed.connect(rotation.url, author="other") as other:
        with pytest.raises(ServerError, match="python has control of this session") as refused:
            other.step()
        assert refused.value.status == 409
        reply = json.loads(other._ask("POST", "/control", '{"ask": true}'))
        assert (reply["controller"], reply["yours"], reply["asking"]) == ("python", False, "other")
        assert remote.state.asking == "other"
        remote._ask("DELETE", "/control")
        assert other.state.controller == "other"
        other.step()
        other._ask("DELETE", "/control")


def test_a_client_with_too_many_requests_is_refused(clock: Clock) -> None:
    bucket = Bucket(2.0, 3.0, clock)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    clock.now = 1.0
    assert [bucket.take() for _ in range(3)] == [True, True, False]


def test_wrong_tokens_are_counted() -> None:
    gate = Gate.of(Tokens("right"), 1, Limits(wrong_tokens=3))
    for _ in range(3):
        with pytest.raises(RefusedError, match="missing or wrong"):
            gate.check_token("wrong")
    with pytest.raises(RefusedError, match="too many wrong tokens"):
        gate.check_token("wrong")
    gate.check_token("right")


def test_sessions_and_snapshots_are_limited(serve) -> None:
    server = serve("tracer-rotation", limits=Limits(sessions=2, snapshots=3))
    with airshed.connect(server.url) as remote:
        remote.snapshot()
        remote.snapshot()
        with pytest.raises(ServerError, match="3 snapshots are stored, which is the limit"):
            remote.snapshot()
        with remote.branch() as branch, pytest.raises(ServerError, match="2 sessions, which is the limit"):
            branch.branch()


def test_idle_sessions_end_and_with_the_first_one_the_server(serve) -> None:
    server = serve("tracer-rotation", limits=Limits(idle=0.3))
    server.engine.sessions["main"].used += 1000.0
    with airshed.connect(server.url) as remote:
        branch = remote.branch()
        branch.close()
        main = server.engine.sessions["main"]
        main.used += 1000.0
        for _ in range(200):
            if list(server.engine.sessions) == ["main"]:
                break
            server.engine.info("main").result(10.0)
        assert list(server.engine.sessions) == ["main"]
        main.used -= 2000.0
        for _ in range(200):
            if server.engine.info("main").exception(10.0) is not None:
                break
        with pytest.raises(AirshedError, match="the server is shutting down"):
            server.engine.info("main").result(10.0)
