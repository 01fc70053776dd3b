"""Finished runs without a model: `airshed view`, and `airshed export` as a static site."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import airshed
from airshed.cli.program import app
from airshed.core.errors import CaseError, OutputError
from airshed.parallel.communicator import SingleRank
from airshed.serve.client import ServerError
from airshed.serve.http.server import Server
from airshed.serve.protocol.frames import frames
from airshed.serve.records.finished import finished_session
from airshed.serve.records.site import write_site


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of rotating tracers with records at 0, 10 and 20 minutes."""
    folder = tmp_path_factory.mktemp("runs") / "rotation"
    case = airshed.Case.load("tracer-rotation", time={"length": "20 min"}, output=[{"every": "10 min"}])
    with airshed.Simulation(case, output=folder) as simulation:
        simulation.run()
        simulation.summary()
    return folder


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pages as after `make web`."""
    folder = tmp_path / "package" / "web"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<html><head></head></html>")
    (folder / "assets" / "index.js").write_text("// page")
    monkeypatch.setattr("airshed.serve.records.site.files", lambda name: folder.parent)
    return folder


def test_a_run_is_served_at_all_its_times(run: Path) -> None:
    session = finished_session(run)
    server = Server(SingleRank())
    server.engine.show(session)
    thread = threading.Thread(target=server.run)
    with server.listening(), airshed.connect(server.url) as client, airshed.open_run(run) as output:
        thread.start()
        assert (client.state.status, client.state.seconds) == ("ended", 1200.0)
        assert client.info().capabilities == []
        assert client.info().start == "2022-06-01T00:00:00.000Z"
        found = list(frames(client._ask("GET", "/recording/TRACER?level=2")))
        assert [each.header.seconds for each in found] == [0.0, 600.0, 1200.0]
        for index, each in enumerate(found):
            assert np.array_equal(each.values, output["TRACER"].isel(time=index, level=2).values)
        assert np.array_equal(client["TRACER"].values, output["TRACER"].isel(time=-1).values)
        assert json.loads(client._ask("GET", "/summary"))["tables"]
        for refused in (lambda: client.step(1), client.end):
            with pytest.raises(ServerError, match="is a finished run"):
                refused()
        server.stop()
    thread.join(30.0)


def test_a_site_has_the_answers_as_files(run: Path, pages: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    result = CliRunner().invoke(app, ["export", str(run), str(site), "--fields", "TRACER"])
    assert result.exit_code == 0, result.output
    assert 'meta name="airshed-site"' in (site / "index.html").read_text()
    folder = site / "data" / "sessions" / "main"
    info = json.loads((folder / "info.json").read_text())
    assert [each["name"] for each in info["variables"]] == ["TRACER"]
    assert sorted(each.name for each in (folder / "recording").iterdir()) == [f"TRACER.{n}.bin" for n in range(4)]
    found = list(frames((folder / "recording" / "TRACER.1.bin").read_bytes()))
    with airshed.open_run(run) as output:
        assert np.array_equal(found[1].values, output["TRACER"].isel(time=1, level=1).values)
    assert list(frames((folder / "geography" / "coast.bin").read_bytes()))


def test_a_site_of_the_ground_has_maps_alone(run: Path, pages: Path, tmp_path: Path) -> None:
    write_site(run, tmp_path / "site", ["TRACER"], ground_only=True)
    folder = tmp_path / "site" / "data" / "sessions" / "main"
    assert [each.name for each in (folder / "recording").iterdir()] == ["TRACER.bin"]
    shapes = [each["shape"] for each in json.loads((folder / "info.json").read_text())["variables"]]
    assert shapes == [[40, 40]]


def test_wrong_sites_are_refused_and_leave_nothing(run: Path, pages: Path, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="is not empty"):
        write_site(run, full)
    with pytest.raises(CaseError, match="no such field"):
        write_site(run, tmp_path / "site", ["TRACR"])
    with pytest.raises(OutputError, match="no run or file"):
        write_site(tmp_path / "nothing", tmp_path / "site")
    (pages / "index.html").unlink()
    with pytest.raises(OutputError, match="make web"):
        write_site(run, tmp_path / "site")
    assert not (tmp_path / "site").exists()
