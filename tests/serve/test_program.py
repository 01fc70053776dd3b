"""The program itself: its first line, Ctrl-C, kill -9, and several ranks. Each process is ended by its id."""

import signal
from pathlib import Path

import numpy as np
import pytest
from tests.serve.conftest import Start, refused

import airshed
from airshed.core.errors import AirshedError


def alone(steps: int) -> np.ndarray:
    with airshed.Simulation("tracer-rotation") as simulation:
        for _ in range(steps):
            simulation.step()
        return np.asarray(simulation["TRACER"].values, np.float32)


def test_a_server_ended_by_ctrl_c_resumes(start: Start) -> None:
    process, remote = start()
    remote.step(5)
    remote.set({"emissions.point.0.rate": "2 mol/s"})
    remote.step(3)
    before, state = remote["TRACER"].values, remote.state
    process.send_signal(signal.SIGINT)
    assert process.wait(60.0) == 0
    _, again = start("--resume")
    assert (again.state.step, again.state.time) == (state.step, state.time)
    assert np.array_equal(again["TRACER"].values, before)
    assert [list(each.command["changes"]) for each in again.log()] == [["emissions.point.0.rate"]]
    again.step(2)
    assert again.replay().equal


def test_it_resumes_from_the_last_snapshot_after_kill_9(start: Start) -> None:
    process, remote = start()
    remote.step(6)
    remote.snapshot()
    stored = remote["TRACER"].values
    remote.step(1)
    process.kill()
    process.wait(20.0)
    _, again = start("--resume")
    assert again.state.step == 6
    assert np.array_equal(again["TRACER"].values, stored)
    assert again.replay().equal


@pytest.mark.thorough
def test_two_ranks_give_the_bits_of_one(start: Start) -> None:
    process, remote = start("-n", "2", "--threads", "1")
    remote.step(4)
    assert np.array_equal(remote["TRACER"].values, alone(4))
    assert remote.summary().tables
    name = remote.snapshot()
    remote.set({"emissions.point.0.rate": "2 mol/s"})
    remote.step(3)
    changed = remote["TRACER"].values
    with remote.branch(name, {"emissions.point.0.rate": "2 mol/s"}) as branch:
        branch.step(3)
        assert np.array_equal(branch["TRACER"].values, changed)
        assert branch.replay().equal
    assert remote.replay().equal
    with pytest.raises(AirshedError, match="cannot be set"):
        remote.set({"cloud_cover": 1.0})
    process.send_signal(signal.SIGINT)
    assert process.wait(20.0) == 0
    _, again = start("--resume")  # on one rank
    assert np.array_equal(again["TRACER"].values, changed)


def test_a_token_of_a_file_stays(start: Start, tmp_path: Path) -> None:
    _, one = start("--token-file", "token")
    assert (tmp_path / "token").stat().st_mode & 0o077 == 0
    assert one.url.endswith((tmp_path / "token").read_text().strip())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["no-such-case"], "there is no case 'no-such-case'"),
        (["tracer-rotation", "--host", "192.0.2.1", "--insecure"], "cannot listen on 192.0.2.1"),
        (["tracer-rotation", "--set", 'chemistry.mechanism="nothing"'], "nothing"),
    ],
)
def test_invalid_command_lines_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(*options).stderr


def test_a_folder_of_a_run_takes_no_sessions(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("{}")
    for options in ([], ["--resume"], ["--force"]):
        message = refused("tracer-rotation", "--output", str(tmp_path / "out"), *options).stderr
        assert "contains the results of a run; choose another --output" in message
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["run.json"]
