"""`airshed assimilate` in a twin experiment of few columns: results, files, Ctrl-C and --resume."""

import re
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner, Result

from airshed.cli.program import app
from airshed.core.errors import OutputError
from airshed.inverse.function.repeated import RepeatedRun
from airshed.io.results import open_run
from airshed.runtime.registry import load_case
from airshed.runtime.simulation import Simulation
from airshed.serve.records.analysis import analysis_of, analysis_sessions

from .air_cases import case

SECTION: dict[str, Any] = {
    "scheme": "4dvar", "iterations": 6, "probes": 1,
    "observations": {"stations": ["seen.csv"], "withheld": ["kept.csv"], "species": ["NO2"]},
    "twin": {"stations": 12, "withheld": 4, "noise": 0.03, "seed": 4},
    "control": [
        {"name": "area", "species": ["NO"], "resolution": "domain", "parts_of_day": 2},
        {"name": "start", "target": "initial", "species": ["O3"], "resolution": "domain", "sigma": 0.2},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("twin")
    (folder / "case.toml").write_text(case(folder, assimilation=SECTION).to_toml(), encoding="utf-8")
    made = airshed(folder, "--make-twin")
    assert made.exit_code == 0, made.output
    assert (folder / "seen.csv").read_text().count("\n") == 1 + 12 * 2
    assert (folder / "kept.csv").read_text().count("\n") == 1 + 4 * 2
    return folder


@pytest.fixture(scope="module")
def done(twin: Path) -> Path:
    result = airshed(twin, "--output", twin / "done")
    assert result.exit_code == 0, result.output
    assert "iteration            J    J background" in result.output
    return twin / "done"


def airshed(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["assimilate", *map(str, arguments), "--allow-code"])


def test_it_recovers_the_factors_of_the_twin_experiment_and_writes_them(done: Path) -> None:
    with xr.open_dataset(done / "analysis.nc") as found:
        truth, after = found["area_truth"].to_numpy(), found["area_posterior"].to_numpy()
        before = found["area_prior"].to_numpy()
        noon = 0  # The run is from 10:20 to 12:20, most of it in the first part of the day.
        assert abs(np.log(after[noon] / truth[noon])) < 0.2 * abs(np.log(before[noon] / truth[noon]))
        assert found["cost"][-1] < 0.1 * found["cost"][0]
        assert found["withheld_departure_after"].std() < 0.5 * found["withheld_departure_before"].std()
        assert found["area_spread"][noon] < 0.5 * found["area_sigma"][noon]
    assert {path.name for path in done.iterdir()} == {
        "analysis.nc", "report.txt", "state.npz", "case.toml", "inputs.json", "cost.png", "control-area.png",
        "control-start.png",
    }  # fmt: skip
    assert "reduction of the cost of observations [%]" in (done / "report.txt").read_text()


def test_after_ctrl_c_it_resumes_with_the_same_bits(twin: Path, done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, whole = [0], RepeatedRun.forward

    def forward(self: Any, *given: Any) -> Any:
        runs[0] += 1
        if runs[0] == 4:
            signal.raise_signal(signal.SIGINT)
        return whole(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(RepeatedRun, "forward", forward)
        stopped = airshed(twin, "--output", twin / "resumed")
    assert stopped.exit_code == 130
    assert re.search("stopped after iteration [12];", stopped.output)
    assert {path.name for path in (twin / "resumed").iterdir()} == {"state.npz", "case.toml", "inputs.json"}
    resumed = airshed(twin, "--output", twin / "resumed", "--resume", "--quiet")
    assert resumed.exit_code == 0, resumed.output
    with xr.open_dataset(done / "analysis.nc") as one, xr.open_dataset(twin / "resumed" / "analysis.nc") as other:
        assert one.identical(other)


def test_invalid_input_gives_a_message_of_one_line(twin: Path, done: Path) -> None:
    for arguments, message in (
        ((twin, "--output", done, "--resume", "--set", "chemistry.sweeps=4"), "holds the assimilation of another case"),
        ((twin, "--set", 'assimilation.scheme="none"'), "this case has no assimilation"),
        ((twin, "--make-twin", "--set", "assimilation.twin.stations=0"), "this case is not a twin experiment"),
        ((twin, "--set", 'assimilation.observations.stations=["none.csv"]'), "there is no such file"),
        (("tracer-rotation",), "this case has no assimilation"),
    ):
        refused = airshed(*arguments)
        assert (refused.exit_code, refused.output.count("\n")) == (2, 1), refused.output
        assert message in refused.output


def test_other_observations_are_refused(twin: Path, done: Path, tmp_path: Path) -> None:
    shutil.copytree(twin, tmp_path / "case", ignore=shutil.ignore_patterns("resumed", done.name))
    shutil.copytree(done, tmp_path / "run")
    seen = tmp_path / "case" / "seen.csv"
    seen.write_text(f"{seen.read_text()}\n")
    refused = airshed(tmp_path / "case", "--output", tmp_path / "run", "--resume")
    assert refused.exit_code == 2
    assert "seen.csv has changed" in refused.output


def test_more_iterations_may_follow(twin: Path, done: Path) -> None:
    more = airshed(twin, "--output", done, "--resume", "--set", "assimilation.iterations=7", "--set",
                   "assimilation.probes=0")  # fmt: skip
    assert more.exit_code == 0, more.output


def test_runs_before_and_after_are_ordinary_runs_with_the_departures_of_the_analysis(twin: Path, done: Path) -> None:
    shutil.copytree(done, twin / "runs")
    result = airshed(twin, "--output", twin / "runs", "--resume", "--runs")
    assert result.exit_code == 0, result.output
    before, after = (open_run(twin / "runs" / name) for name in ("before", "after"))
    with xr.open_dataset(done / "analysis.nc") as analysis, Simulation(load_case(twin), allow_code=True) as plain:
        factor = float(analysis["start_posterior"].squeeze())
        ratio = (after["O3"] / before["O3"]).isel(time=0)
        assert ratio.values == pytest.approx(factor, rel=1e-5)
        plain.run()
        assert before["O3"].isel(time=-1).values == pytest.approx(plain["O3"].values, rel=1e-6)
    sessions = analysis_sessions(twin / "runs")
    assert [(each.name, each.state.scenario) for each in sessions] == [
        ("before", "Before assimilation"), ("after", "After assimilation")
    ]  # fmt: skip
    found = analysis_of(sessions[1])
    assert found is not None
    assert found.cost[-1].cost < 0.1 * found.cost[0].cost
    assert {each.name: each.kind for each in found.controls} == {"area": "domain", "start": "domain"}
    used = [each for each in found.stations if not each.withheld]
    assert sum(each.observations for each in used) == 12 * 2
    assert sum(each.after for each in used) < 0.5 * sum(each.before for each in used)
    with pytest.raises(OutputError, match="--resume --runs"):
        analysis_sessions(done)
    assert not np.allclose(before["NO"].isel(time=-1), after["NO"].isel(time=-1), rtol=1e-3, atol=0.0)
