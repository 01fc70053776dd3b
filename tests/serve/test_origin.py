"""Sources of a concentration of a session: contributions against branches, progress, cancelling, refusals."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.inverse.small import RECEPTOR, small
from tests.serve.conftest import serving

import airshed
from airshed.core.errors import CaseError
from airshed.serve.client import Remote, ServerError
from airshed.serve.http.server import Server
from airshed.serve.origin import jobs as jobs_module
from airshed.serve.origin.jobs import OriginJobs
from airshed.serve.origin.settings import case_at, effective
from airshed.serve.origin.worker import REQUEST
from airshed.serve.protocol.origin import OriginRequest, OriginState
from airshed.serve.protocol.types import LogEntry

pytestmark = pytest.mark.standard

PLACE = (RECEPTOR["lon"], RECEPTOR["lat"])
HOUR = 3600.0
TOLERANCE = 0.05
"""Relative deviation of the effect of 20 % less from the linear prediction."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(small(tmp_path_factory.mktemp("case"))) as found:
        yield found


@pytest.fixture
def remote(server: Server) -> Iterator[Remote]:
    with airshed.connect(server.url) as client:
        client.restart()
        yield client
        client._ask("DELETE", "/origin")
        client._ask("DELETE", "/control")


def state(remote: Remote, query: str = "") -> OriginState:
    return OriginState.model_validate_json(remote._ask("GET", f"/origin{query}"))


def value(remote: Remote) -> float:
    return float(remote["O3"].sel(lon=PLACE[0], lat=PLACE[1], level=0.0, method="nearest"))


def entry(number: int, step: int, **command: Any) -> LogEntry:
    return LogEntry(number=number, step=step, seconds=60.0 * step, author="x", command=command)


def test_a_branch_with_less_emission_confirms_the_contribution_of_its_source(remote: Remote) -> None:
    remote.run()
    reports: list[tuple[str, float]] = []
    found = remote.origin("O3", PLACE, at="1 h", progress=lambda part, done: reports.append((part, done)))
    rows = found.table
    of_points = rows[(rows.kind == "emission") & (rows.source == "point sources")].set_index("pollutant").value
    with remote.branch("start", {"emissions.point.0.rate": "1.6 mol/s"}) as branch:
        branch.run()
        effect = value(branch) - value(remote)
        branch.end()
    assert reports
    assert effect == pytest.approx(-0.2 * of_points["NO"], rel=TOLERANCE)
    assert effect != pytest.approx(0.2 * of_points["NO"], rel=TOLERANCE)
    assert effect != pytest.approx(-0.2 * of_points["VOC"], rel=TOLERANCE)


def test_the_value_is_that_of_the_session_and_sums_agree(remote: Remote) -> None:
    remote.run()
    found = remote.origin("O3", PLACE, at="1 h")
    result = state(remote).result
    assert result is not None
    assert result.recorded == pytest.approx(found.value, rel=1e-6)
    assert value(remote) == pytest.approx(found.value, rel=1e-6)
    emitted = found.table[found.table.kind == "emission"].value.sum()
    assert float(found.maps.contribution.sum()) == pytest.approx(emitted, rel=1e-4)
    assert float(found.maps.hour_contribution.sum()) == pytest.approx(emitted, rel=1e-4)
    entering = found.table[found.table.kind != "deposition"].value.sum()
    assert entering == pytest.approx(found.explained, rel=1e-4)
    assert {"west", "east", "south", "north"} >= set(found.table[found.table.kind == "side"].source) != set()
    assert result.hours[-1].hours == pytest.approx(1.0)


def test_a_second_request_for_the_same_sources_takes_the_stored_result(remote: Remote) -> None:
    remote.origin("O3", PLACE, at="1 h")
    begun = time.monotonic()
    remote.origin("O3", PLACE, at="1 h")
    assert time.monotonic() - begun < 1.0
    remote.set({"emissions.point.0.rate": "1 mol/s"})  # other settings have another result
    body = OriginRequest(species="O3", place=PLACE, at=HOUR).model_dump_json()
    started = OriginState.model_validate_json(remote._ask("POST", "/origin", body))
    assert started.status == "running"
    remote._ask("DELETE", "/origin")
    assert _ended(remote).status == "cancelled"


def _ended(remote: Remote) -> OriginState:
    for _ in range(600):
        found = state(remote)
        if found.status != "running":
            return found
        time.sleep(0.05)
    raise AssertionError("the computation does not end")


def test_one_computation_at_a_time(remote: Remote) -> None:
    body = OriginRequest(species="O3", place=PLACE, at=1800.0).model_dump_json()
    remote._ask("POST", "/origin", body)
    with pytest.raises(ServerError, match="already; wait, or cancel"):
        remote._ask("POST", "/origin", OriginRequest(species="NO", place=PLACE, at=1800.0).model_dump_json())
    remote._ask("DELETE", "/origin")
    _ended(remote)


def test_a_state_has_the_expected_time_or_the_reason_against(remote: Remote) -> None:
    found = state(remote, f"?at={HOUR}")
    assert (found.status, found.refusal) == ("none", "")
    assert (found.expected or 0.0) > 0.0
    assert "within the run" in state(remote, "?at=1e6").refusal


@pytest.mark.parametrize(
    ("species", "place", "match"),
    [
        ("O3", (60.0, 50.0), "not within the case"),
        ("XY", PLACE, "choose a species"),
        ("O3", "Nowhere", "not a country"),
    ],
)
def test_a_wrong_request_is_refused(remote: Remote, species: str, place: Any, match: str) -> None:
    with pytest.raises(ServerError, match=match):
        remote.origin(species, place, at="1 h")


def test_a_change_in_mid_run_is_refused_from_then_on(remote: Remote) -> None:
    remote.step(3)
    remote.set({"emissions.point.0.rate": "1 mol/s"})
    remote.run()
    assert "in mid-run" in state(remote, f"?at={HOUR}").refusal
    assert state(remote, "?at=60").refusal == ""
    remote.restart()
    assert state(remote, f"?at={HOUR}").refusal == ""


def test_changes_before_a_restart_or_after_a_restored_snapshot_do_not_count() -> None:
    log = [
        entry(0, 0, kind="set", changes={"a": 1}), entry(1, 2, kind="snapshot", text=""),
        entry(2, 3, kind="paint", variable="O3"), entry(3, 4, kind="restore", snapshot="s1"),
    ]  # fmt: skip
    assert [each.number for each in effective(log)] == [0]
    assert [each.number for each in effective(log[:3])] == [0, 2]
    assert effective([*log, entry(4, 5, kind="restart")]) == []
    assert [each.number for each in effective([*log, entry(4, 5, kind="restore", snapshot="before-2")])] == [0]
    assert effective([*log, entry(4, 5, kind="restore", snapshot="before-0")]) == []


def test_a_case_has_the_changes_of_the_start(tmp_path: Path) -> None:
    case = small(tmp_path)
    log = [entry(0, 0, kind="set", changes={"emissions.point.0.rate": "1 mol/s"})]
    assert case_at(case, log, HOUR, str).emissions.point[0].rate.text == "1 mol/s"
    with pytest.raises(CaseError, match=r"O3 was changed in mid-run, at 120\.0"):
        case_at(case, [*log, entry(1, 2, kind="paint", variable="O3")], HOUR, str)
    assert case_at(case, [*log, entry(1, 2, kind="paint", variable="O3")], 100.0, str) is not None


def test_a_computation_ends_with_the_server_and_a_failed_one_reports_its_error(tmp_path: Path) -> None:
    case, jobs = small(tmp_path), OriginJobs()
    request = OriginRequest(species="O3", place=PLACE, at=HOUR)
    jobs.start("main", case, request.model_copy(update={"species": "XY"}))
    while jobs.state("main").status == "running":
        time.sleep(0.05)
    assert jobs.state("main").status == "failed"
    assert "XY" in jobs.state("main").message
    jobs.start("main", case, request)
    job = jobs._job
    assert job is not None
    folder = job.folder.parent
    jobs.close()
    assert job.process.poll() is not None
    assert not folder.exists()


def test_the_computation_of_an_ended_session_ends(server: Server, remote: Remote) -> None:
    with remote.branch("start") as branch:
        branch._ask("POST", "/origin", OriginRequest(species="O3", place=PLACE, at=1500.0).model_dump_json())
        job = server._requests.origins._job
        branch.end()
    assert job is not None
    assert job.is_cancelled
    for _ in range(200):
        with suppress(ServerError):  # until the process has ended
            remote._ask("POST", "/origin", OriginRequest(species="O3", place=PLACE, at=1400.0).model_dump_json())
            break
        time.sleep(0.05)
    assert state(remote).status == "running"  # negative control: that of another session goes on
    remote._ask("DELETE", "/origin")
    assert _ended(remote).status == "cancelled"
    with pytest.raises(ServerError, match="no sources are computed"):
        remote._ask("GET", "/origin/map")


def test_results_in_view_are_not_discarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a result that no session shows is discarded."""
    monkeypatch.setattr(jobs_module, "_RESULTS", 1)
    jobs, request = OriginJobs(), OriginRequest(species="O3", place=PLACE, at=HOUR)
    monkeypatch.setattr(OriginJobs, "_show", lambda self, session, of, folder: self._shown.update({session: folder}))
    for number, session in enumerate(("a", "b", "b", "b")):
        folder = tmp_path / str(number)
        folder.mkdir()
        jobs._store(jobs_module._Job(session, request, str(number), folder, None, None))  # type: ignore[arg-type]
    assert [(tmp_path / each).is_dir() for each in "0123"] == [True, False, True, True]


def test_a_worker_without_a_server_ends(tmp_path: Path) -> None:
    case, jobs = small(tmp_path), OriginJobs()
    jobs.start("main", case, OriginRequest(species="O3", place=PLACE, at=HOUR))
    job = jobs._job
    assert job is not None
    assert job.process.stdin is not None
    job.process.stdin.close()  # as when the server is killed
    assert job.process.wait(20.0) != 0
    jobs.close()


def test_a_worker_without_a_server_leaves_no_files(tmp_path: Path) -> None:
    folder = tmp_path / "origin" / "1"
    folder.mkdir(parents=True)
    os.mkfifo(folder / REQUEST)  # the worker waits for its request, which does not come
    program = [sys.executable, "-m", "airshed.serve.origin.worker", str(folder)]
    assert subprocess.run(program, stdin=subprocess.DEVNULL, check=False, timeout=60.0).returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_documents_are_part_of_the_protocol(server: Server) -> None:
    from airshed.serve.protocol.schema import schemas

    assert {"Origin", "OriginState", "OriginRequest", "OriginRow", "OriginHour"} <= set(schemas())
    assert json.dumps(schemas())
