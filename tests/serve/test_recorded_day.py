"""Recorded days: the recording of a case, its striking hour, and the main session that is set up on request."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.case.case import RunCase
from airshed.parallel.communicator import SingleRank
from airshed.runtime.registry import load_case
from airshed.serve.client import ServerError
from airshed.serve.http.server import Server
from airshed.serve.protocol import messages
from airshed.serve.records.recorded_day import FIELDS, recorded_session, rounded
from airshed.serve.records.striking import striking_time

SETTINGS = {"time": {"length": "20 min"}, "output": [{"every": "10 min"}]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a user with a finished run of rotating tracers in runs/tracer-rotation."""
    folder = tmp_path_factory.mktemp("home")
    with airshed.Simulation(_case(), output=folder / "runs" / "tracer-rotation") as simulation:
        simulation.run()
    return folder


@pytest.fixture
def case(home: Path, monkeypatch: pytest.MonkeyPatch) -> RunCase:
    """The case of that run, with the folder as the working directory."""
    monkeypatch.chdir(home)
    return _case()


def _case(**changes: object) -> RunCase:
    return airshed.Case.load("tracer-rotation", **{**SETTINGS, **changes})  # type: ignore[arg-type]


def test_shipped_cases_have_a_recorded_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a finished run in the folder `runs` would come first
    for name in ("west-europe", "west-europe-winter"):
        session = recorded_session(load_case(name))
        assert session is not None
        assert session.recorded is not None
        assert list(session.recorded.names) == list(FIELDS)
        assert len(session.recorded.moments) == 25
        assert session.state.recorded
        assert session.finished is not None
        assert session.finished.info.capabilities == ["setup"]
        assert session.finished.info.air == "air_density"


def test_other_settings_have_no_recorded_day() -> None:
    assert recorded_session(load_case("west-europe", ["emissions.scale.NOx=0.5"])) is None
    assert recorded_session(load_case("west-europe", ["run.threads=1"])) is not None  # settings of the machine


def test_a_run_of_the_user_comes_first(case: RunCase) -> None:
    session = recorded_session(case)
    assert session is not None
    assert [each.seconds for each in session.recorded.moments] == [0.0, 600.0, 1200.0]
    assert recorded_session(_case(time={"length": "10 min"})) is None
    (Path("runs") / "tracer-rotation" / "output.nc").rename("hidden.nc")  # a damaged run
    try:
        assert recorded_session(case) is None
    finally:
        Path("hidden.nc").rename(Path("runs") / "tracer-rotation" / "output.nc")


def test_the_main_session_is_set_up_on_request(case: RunCase) -> None:
    server, events = Server(SingleRank()), list[messages.Event]()
    send = server.engine.on_event
    server.engine.on_event = lambda event: (events.append(event), send(event))[1]
    recorded = recorded_session(case)
    assert recorded is not None
    server.engine.show(recorded)
    server.engine.offer(case)
    thread = threading.Thread(target=server.run)
    with server.listening():
        thread.start()
        with airshed.connect(server.url, "recorded") as client:
            assert [each["session"] for each in json.loads(_sessions(client))] == ["recorded"]
            with pytest.raises(ServerError, match="send commands to the session main"):
                client.step(1)
            with pytest.raises(ServerError, match="no session 'other'"):
                airshed.connect(server.url, "other", wait=0.0)
            assert not server.engine.openings
            assert list(server.engine.sessions) == ["recorded"]  # none of these has set up the model
            found = json.loads(client._ask("POST", "/setup"))
            assert (found["session"], found["recorded"], found["status"]) == ("main", False, "paused")
        with airshed.connect(server.url) as main:
            assert main.step(1).step == 1
            with pytest.raises(ServerError, match="no model that can be set up"):
                main._ask("POST", "/setup")
        server.stop()
    thread.join(30.0)
    stages = [each.stage for each in events if each.event == "opening"]
    assert stages[0] == "preparing"
    assert "reading the weather" in stages
    assert stages[-1] == ""


def test_a_program_sets_up_the_main_session_by_connecting(case: RunCase) -> None:
    server = Server(SingleRank())
    recorded = recorded_session(case)
    assert recorded is not None
    server.engine.show(recorded)
    server.engine.offer(case)
    thread = threading.Thread(target=server.run)
    with server.listening():
        thread.start()
        with airshed.connect(server.url) as main:
            assert main.step(1).step == 1
        server.stop()
    thread.join(30.0)


def test_the_striking_hour_has_the_greatest_contrast_in_daylight(home: Path) -> None:
    session = recorded_session(load_case("west-europe"))
    assert session is not None
    assert session.recorded is not None
    found = striking_time(session.recorded, session.shape, "O3")
    with xr.open_dataset(load_case("west-europe").base / "recorded.nc") as day:
        low, high = np.percentile(day["O3"].isel(level=0).values.reshape(25, -1), [5.0, 95.0], axis=1)
    contrast = high - low
    assert found == 3600.0 * (9 + np.argmax(contrast[9:18]))
    assert found != 3600.0 * np.argmax(contrast)  # a rule without daylight gives another hour
    assert striking_time(session.recorded, session.shape, "ABSENT") is None


def test_rounded_values_are_close_and_few() -> None:
    values = np.float32([1.0, np.pi, -2.123e-9, 0.0, np.nan])
    found = rounded(values)
    there = np.isfinite(values)
    assert np.allclose(found[there], values[there], rtol=2.0**-8, atol=0.0)
    assert np.isnan(found[-1])
    assert not np.any(found[there].view(np.uint32) & 0xFFFF)
    assert np.any(values[1:2].view(np.uint32) & 0xFFFF)


def _sessions(client: airshed.serve.client.Remote) -> bytes:
    client._connection.request("GET", "/api/sessions", headers=client._headers)
    return client._connection.getresponse().read()
