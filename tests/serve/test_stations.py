"""Stations of a live session and of a finished run: the same pairs and scores as `airshed evaluate`."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.evaluate.synthetic import AIR, OZONE, hourly, write_observations, write_run
from tests.serve.conftest import serving

import airshed
from airshed.core.errors import DataError
from airshed.evaluate.observation_files import ObservationFiles
from airshed.parallel.communicator import SingleRank
from airshed.runtime.registry import load_case
from airshed.serve.client import ServerError
from airshed.serve.http.server import Server
from airshed.serve.protocol.errors import NotThereError
from airshed.serve.records.finished import finished_session
from airshed.serve.records.site import write_site
from airshed.serve.stations.comparison import StationComparison, case_observations

STATISTICS = {"hours": "N", "bias": "MB", "r": "R", "rmse": "RMSE", "observed": "MO", "modelled": "MP"}


def files_of(path: Path) -> ObservationFiles:
    """Return a file of observations as `airshed evaluate` reads it."""
    return ObservationFiles.of([path], [], time=None, averaging=None, units=None)


def equal_scores(found: Any, evaluation: Any, species: str) -> None:
    """Check scores of a session against the statistics of an evaluation."""
    table = evaluation.statistics
    table = table[(table["species"] == species) & table["group"].isin(["pooled", "class", "station"])]
    assert len(found.scores) == len(table)
    for row, each in zip(table.to_dict("records"), found.scores, strict=True):
        assert (each.group, each.name) == (row["group"], row["name"])
        for ours, theirs in STATISTICS.items():
            expected = None if np.isnan(row[theirs]) else row[theirs]
            assert getattr(each, ours) == expected


@pytest.fixture
def finished(tmp_path: Path) -> tuple[Path, Path]:
    """A synthetic run of a day, and hourly observations of it at two stations."""
    rows = [*hourly("A", 7.0, 52.0, bias=2.0), *hourly("B", 8.2, 51.3)]
    return write_run(tmp_path / "run.nc"), write_observations(tmp_path / "measured.csv", rows)


def test_a_finished_run_has_the_scores_of_an_evaluation(finished: tuple[Path, Path]) -> None:
    run, measured = finished
    session, comparison = finished_session(run), StationComparison(files_of(measured))
    found = comparison.scores(session, "O3")
    equal_scores(found, airshed.evaluate(run, measured), "O3")
    assert found.until == 86400.0
    (pooled, *_) = found.scores
    assert pooled.bias == pytest.approx(1.0)
    assert pooled.hours == 48


def test_scores_until_an_hour_are_of_earlier_pairs(finished: tuple[Path, Path]) -> None:
    run, measured = finished
    session, comparison = finished_session(run), StationComparison(files_of(measured))
    (pooled, *_) = comparison.scores(session, "O3", 6 * 3600.0).scores
    assert pooled.hours == 12
    assert comparison.scores(session, "O3", 1800.0).scores == []


def test_stations_have_positions_and_the_conversion_of_the_networks(finished: tuple[Path, Path]) -> None:
    run, measured = finished
    session, comparison = finished_session(run), StationComparison(files_of(measured))
    found = comparison.stations(session)
    assert [(each.id, each.x, each.y, each.pollutants) for each in found.stations] == [
        ("A", 7.0, 52.0, ["O3"]), ("B", 8.2, 51.3, ["O3"])
    ]  # fmt: skip
    (ozone,) = found.pollutants
    assert (ozone.name, ozone.unit) == ("O3", "ug/m3")
    assert ozone.factor == pytest.approx(OZONE * AIR * 1e9)
    series = comparison.series(session, "A", "O3")
    assert np.subtract(series.modelled, series.observed) == pytest.approx(np.full(24, 2.0))
    assert (series.begin[0], series.end[0]) == (0.0, 3600.0)
    with pytest.raises(NotThereError, match="no station 'C'"):
        comparison.series(session, "C", "O3")
    with pytest.raises(NotThereError, match="observed are: O3"):
        comparison.pairs(session, "NO2")


def test_observations_of_another_period_are_a_problem_and_no_error(finished: tuple[Path, Path], tmp_path: Path) -> None:
    later = write_observations(tmp_path / "later.csv", [("A", 7.0, 52.0, "O3", 50.0, "ug/m3", 100.0)])
    found = StationComparison(files_of(later)).stations(finished_session(finished[0]))
    assert found.stations == [] or not found.stations
    assert "no observation lies within the period" in (found.problem or "")
    assert "--observations" in (StationComparison().stations(finished_session(finished[0])).problem or "")


def test_a_live_session_has_the_scores_of_its_finished_run(tmp_path: Path) -> None:
    case = load_case(Path("tracer-rotation"), ["time.length=1 h", "output.0.every=10 min", "output.0.levels=all"])
    lines = ["station,lon,lat,species,value,unit,time"]
    for name, lon, lat, least in (("A", 2.05, 0.07, 1.0), ("B", 1.9, 0.22, 0.5)):
        for time, more in (("00:20", 0.2), ("00:40", 0.4), ("01:00", 0.6)):
            lines.append(f"{name},{lon},{lat},TRACER,{least + more},ppb,2022-06-01T{time}:00Z")
    measured = tmp_path / "measured.csv"
    measured.write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = ObservationFiles.of(
        [measured], [], time={"zone": "UTC", "label": "end"}, averaging="20 min", units=None
    )  # fmt: skip
    with serving(case) as server, airshed.connect(server.url) as remote:
        comparison = StationComparison(files)
        session = server.engine.sessions["main"]
        assert [each.id for each in comparison.stations(session).stations] == ["A", "B"]
        assert set(comparison.series(session, "A", "TRACER").modelled) == {None}
        assert comparison.scores(session, "TRACER").scores == []
        remote.run(until="30 min")
        early = comparison.series(session, "A", "TRACER").modelled
        assert early[0] is not None
        assert early[1:] == [None, None]
        remote.set({"emissions.point.0.rate": "9 mol/s"})
        remote.run()
        changed = comparison.scores(session, "TRACER")
        remote.restart()
        remote.run()
        found = comparison.scores(session, "TRACER")  # at the same time and step
        assert changed.scores[0].modelled != found.scores[0].modelled
    folder = tmp_path / "run"
    with airshed.Simulation(case, output=folder) as simulation:
        simulation.run()
    evaluation = airshed.evaluate(folder, measured, time={"zone": "UTC", "label": "end"}, averaging="20 min")
    assert found.until == 3600.0
    assert found.scores[0].hours == 6
    equal_scores(found, evaluation, "TRACER")


def test_a_shipped_case_shows_the_observations_of_its_folder() -> None:
    found = case_observations(load_case(Path("west-europe")))
    assert found is not None
    assert {each.name for each in found.paths} == {"aurn_daily.csv", "uba_DENW095.csv", "uba_DENW260.csv"}
    assert [each.name for each in found.stations] == ["stations.csv"]
    assert case_observations(load_case(Path("tracer-rotation"))) is None


def test_a_site_has_the_stations_as_files(
    finished: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = tmp_path / "package" / "web"
    (pages / "assets").mkdir(parents=True)
    (pages / "index.html").write_text("<html><head></head></html>")
    monkeypatch.setattr("airshed.serve.records.site.files", lambda name: pages.parent)
    run, measured = finished
    write_site(run, tmp_path / "site", observations=files_of(measured))
    folder = tmp_path / "site" / "data" / "sessions" / "main"
    assert len(json.loads((folder / "stations.json").read_text())["stations"]) == 2
    pairs = json.loads((folder / "stations" / "pairs.O3.json").read_text())
    assert [len(each["observed"]) for each in pairs["series"]] == [24, 24]
    scores = json.loads((folder / "stations" / "scores.O3.json").read_text())
    assert scores["scores"][0]["hours"] == 48
    later = write_observations(tmp_path / "later.csv", [("A", 7.0, 52.0, "O3", 50.0, "ug/m3", 100.0)])
    with pytest.raises(DataError, match="no observation lies within the period"):
        write_site(run, tmp_path / "other", observations=files_of(later))


def test_stations_are_served_by_http(finished: tuple[Path, Path]) -> None:
    run, measured = finished
    server = Server(SingleRank(), observations=files_of(measured))
    server.engine.show(finished_session(run))
    thread = threading.Thread(target=server.run)
    with server.listening(), airshed.connect(server.url) as client:
        thread.start()
        assert [each["id"] for each in json.loads(client._ask("GET", "/stations"))["stations"]] == ["A", "B"]
        assert json.loads(client._ask("GET", "/stations/A?variable=O3"))["station"] == "A"
        assert json.loads(client._ask("GET", "/stations/scores?variable=O3&until=7200"))["scores"][0]["hours"] == 4
        with pytest.raises(ServerError, match="no station observes 'CO'"):
            client._ask("GET", "/stations/pairs?variable=CO")
        server.stop()
    thread.join(30.0)
