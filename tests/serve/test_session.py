"""A session through the client: steps, data, commands, snapshots, branches, replays."""

import time
import urllib.error
import urllib.request

import numpy as np
import pytest

import airshed
from airshed.core.errors import CaseError
from airshed.serve.client import Remote, ServerError
from airshed.serve.http.server import Server


def test_info_says_what_there_is(remote: Remote) -> None:
    info = remote.info()
    tracer = next(each for each in info.variables if each.name == "TRACER")
    assert (tracer.unit, tracer.dims, tracer.shape) == ("mol mol-1", ["level", "lat", "lon"], [4, 40, 40])
    assert (info.grid.kind, info.grid.rows, info.grid.columns, len(info.grid.levels)) == ("lonlat", 40, 40, 4)
    assert info.state.model == "air"


def test_a_summary_has_the_budgets_of_the_run(remote: Remote) -> None:
    remote.step(3)
    summary = remote.summary()
    assert summary.state.step == 3
    budget = next(each for each in summary.tables if "species" in each.columns)
    assert "TRACER" in {row[0] for row in budget.rows}


def test_data_are_those_of_a_simulation(remote: Remote) -> None:
    remote.step(5)
    with airshed.Simulation("tracer-rotation") as simulation:
        for _ in range(5):
            simulation.step()
        expected = simulation["TRACER"]
    found = remote["TRACER"]
    assert np.array_equal(found.values, expected.values.astype(np.float32))
    assert found.dims == expected.dims
    assert np.array_equal(found.lat, expected.lat)
    assert found.time == expected.time
    part = remote.values("TRACER", level=0, window=(3, 9, 5, 30), stride=2)
    assert np.array_equal(part, found.values[0, 3:9:2, 5:30:2])


def test_several_variables_come_in_one_answer(remote: Remote) -> None:
    from airshed.serve.protocol.frames import frames

    found = list(frames(remote._ask("GET", "/data?variables=TRACER,TRACER2&level=0&compress=true")))
    assert [each.header.variable for each in found] == ["TRACER", "TRACER2"]
    assert found[1].header.version == found[0].header.version
    assert np.allclose(found[1].values, 1e-8)


def test_a_run_goes_until_a_time_and_can_be_paused(remote: Remote) -> None:
    state = remote.run(until="1 h")
    assert (state.status, state.seconds >= 3600.0) == ("paused", True)
    remote.start(steps_per_second=20.0)
    assert remote.state.status == "running"
    paused = remote.pause()
    assert paused.status == "paused"
    time.sleep(0.2)
    assert remote.state.step == paused.step


def test_a_snapshot_is_restored_with_the_same_bits(remote: Remote) -> None:
    remote.step(3)
    name = remote.snapshot("here")
    remote.step(4)
    later = remote["TRACER"].values
    assert remote.restore(name).step == 3
    remote.step(4)
    assert np.array_equal(remote["TRACER"].values, later)
    assert [each.text for each in remote.snapshots() if each.snapshot == name] == ["here"]


def test_a_branch_continues_from_a_snapshot_and_a_replay_gives_the_same_bits(remote: Remote) -> None:
    remote.step(2)
    name = remote.snapshot()
    remote.step(3)
    with remote.branch(name) as branch:
        assert branch.state.step == 2
        branch.step(3)
        assert np.array_equal(branch["TRACER"].values, remote["TRACER"].values)
        assert branch.replay().equal
        assert branch.state.parent == "main"
        branch.end()
    assert remote.replay().equal


def test_a_branch_and_its_replay_can_restore_the_snapshot_of_its_start(remote: Remote) -> None:
    remote.step(2)
    earlier = remote.snapshot()
    remote.step(1)
    name = remote.snapshot()
    with remote.branch(name) as branch:
        for each in (name, earlier):
            branch.step(2)
            branch.restore(each)
            branch.step(1)
            replayed = branch.replay()
            assert (replayed.equal, replayed.differs) == (True, [])
        assert branch.snapshot() not in (name, earlier)
        branch.end()


@pytest.mark.parametrize("speed", [1e-12, 5e-324])
def test_a_run_as_slow_as_can_be_leaves_the_server_to_others(remote: Remote, speed: float) -> None:
    remote.start(steps_per_second=speed)
    time.sleep(0.3)
    assert remote.values("TRACER").size
    assert remote.pause().step == 1
    assert remote.step(1).step == 2


def test_texts_of_all_scripts_arrive(remote: Remote) -> None:
    remote.snapshot("für später 東京 😀")
    assert remote.log()[-1].command["text"] == remote.snapshots()[-1].text == "für später 東京 😀"
    remote._ask("DELETE", "/control")
    with airshed.connect(remote.url, author="Jörg") as other:
        other.snapshot()
        assert other.log()[-1].author == "Jörg"
        other._ask("DELETE", "/control")
    for author in ("東京", "a\nb"):
        with pytest.raises(airshed.core.errors.CaseError, match="Latin-1"):
            airshed.connect(remote.url, author=author)


def test_impossible_requests_are_refused(remote: Remote) -> None:
    with pytest.raises(ServerError, match=r"no variable 'TRACR'; did you mean TRACER"):
        remote.values("TRACR")
    with pytest.raises(ServerError, match="no level 7"):
        remote.values("TRACER", level=7)
    with pytest.raises(ServerError, match="is not within"):
        remote.values("TRACER", window=(0, 90, 0, 4))
    with pytest.raises(ServerError, match="cannot be set"):
        remote.set({"air_temperature": 1.0})
    with pytest.raises(ServerError, match="no snapshot 'x'"):
        remote.restore("x")
    with pytest.raises(ServerError, match=r"after the end of the case, 1 d$"):
        remote.run(until="3 day")
    with pytest.raises(CaseError, match="steps = -1: Input should be greater than or equal to 1"):
        remote.step(-1)
    with pytest.raises(ServerError, match=r"emissions\.scale\.NOx must be a number"):
        remote.set({"emissions.scale.NOx": [1]})
    with pytest.raises(CaseError, match="inf}: a value is a number, a text of 200 letters, true or false"):
        remote.set({"emissions.scale.NOx": float("inf")})
    with pytest.raises(ServerError, match="no session 'other'"):
        airshed.connect(remote.url, "other")


def test_without_the_token_nothing_is_readable(rotation: Server) -> None:
    where = f"http://127.0.0.1:{rotation.port}"
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        request = urllib.request.Request(f"{where}/api/info", headers=headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=10)
        assert refused.value.code == 401
        refused.value.close()
    with urllib.request.urlopen(where, timeout=10) as page:
        assert b"Airshed" in page.read()


def test_the_client_reports_a_missing_address_or_server() -> None:
    with pytest.raises(airshed.core.errors.CaseError, match="the address that airshed serve printed"):
        airshed.connect("http://127.0.0.1:1/")
    with pytest.raises(ServerError, match="is airshed serve running"):
        airshed.connect("http://127.0.0.1:1/#token=x")
