"""`airshed sweep` of a plume of few cells: the dataset, failures, Ctrl-C, kills and resumed sweeps."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.started import python
from typer.testing import CliRunner, Result

from airshed.cli.program import app
from airshed.sweep.member import Task, run_member

pytestmark = pytest.mark.standard

PLUME = ["tracer-rotation", "--set", "grid.spacing=2 deg", "--set", "time.length=2 h"]
LONG = [*PLUME[:3], "--set", "time.length=40 day", "--set", "output.0.every=10 day", "--set", "restart.every=1 day"]
RATES = ["--vary", "emissions.point.0.rate=1 mol/s,2.5 mol/s"]
BACKGROUND = ["--vary", "boundary.values.TRACER2=10 ppb,20 ppb,40 ppb"]


@pytest.fixture(autouse=True)
def warm_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start members by the Python that has loaded Airshed."""
    monkeypatch.setattr(sys, "executable", python())


def airshed(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def sweep(folder: Path, *arguments: str) -> Result:
    return airshed("sweep", *PLUME, *arguments, "--output", folder)


def opened(folder: Path) -> xr.Dataset:
    return xr.open_zarr(folder / "sweep.zarr").load()


def states(folder: Path) -> list[tuple[str, str]]:
    with (folder / "members.csv").open() as file:
        return [(row["member"], row["state"]) for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def factorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two by three members."""
    folder = tmp_path_factory.mktemp("sweep") / "factorial"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", python())
        done = sweep(folder, *RATES, *BACKGROUND)
    assert done.exit_code == 0, done.output
    assert "6 of 6 members are finished" in done.stdout
    assert "airshed: 6 of 6 members done, 0 failed, 0 running" in done.stderr
    return folder


def test_settings_are_dimensions_with_their_values_and_units(factorial: Path) -> None:
    found = opened(factorial)
    rate, background = "emissions.point.0.rate", "boundary.values.TRACER2"
    assert found.TRACER.dims == (rate, background, "time", "level", "lat", "lon")
    assert dict(found.sizes) == {rate: 2, background: 3, "time": 3, "level": 4, "lat": 4, "lon": 4, "bnds": 2}
    assert found[rate].values.tolist() == [1.0, 2.5]
    assert found[background].values.tolist() == [10.0, 20.0, 40.0]
    assert (found[rate].attrs["units"], found[background].attrs["units"]) == ("mol/s", "ppb")
    assert found.member_number.values.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found.attrs["missing_members"] == []
    assert json.loads(found.attrs["airshed_sweep"])["case"] == "tracer-rotation"
    assert states(factorial) == [(f"{number:04d}", "finished") for number in range(6)]


def test_each_member_is_the_run_with_its_settings(factorial: Path, tmp_path: Path) -> None:
    settings = ["--set", "emissions.point.0.rate=2.5 mol/s", "--set", "boundary.values.TRACER2=20 ppb"]
    assert airshed("run", *PLUME, *settings, "-q", "--output", tmp_path / "run").exit_code == 0
    with xr.open_dataset(tmp_path / "run" / "output.nc") as run:
        found = opened(factorial).isel({"emissions.point.0.rate": 1, "boundary.values.TRACER2": 1})
        for name in run.data_vars:
            assert found[name].dims == run[name].dims
            np.testing.assert_array_equal(found[name], run[name])
            if "bnds" not in str(name):
                assert found[name].attrs == run[name].attrs
        for name in run.coords:
            xr.testing.assert_identical(found[name].drop_vars(set(found[name].coords) - {name}), run[name])
        other = opened(factorial).isel({"emissions.point.0.rate": 0, "boundary.values.TRACER2": 1})
        assert not np.array_equal(other.TRACER, run.TRACER), "another member has other values"


def test_a_finished_sweep_is_resumed_by_gathering_missing_results(factorial: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(factorial, folder)
    shutil.rmtree(folder / "sweep.zarr")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("run.json")}
    assert sweep(folder, *RATES, *BACKGROUND, "--resume", "-q").exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("run.json")} == before
    xr.testing.assert_identical(opened(folder), opened(factorial))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*RATES, *BACKGROUND], "continue it with --resume, or give --force"),
        ([*RATES, "--resume"], "holds a sweep with other dimensions"),
        ([*RATES, *BACKGROUND, "--set", "boundary.values.TRACER=1 ppb", "--resume"], "with other settings"),
    ],
)
def test_another_sweep_in_the_folder_is_not_lost(factorial: Path, arguments: list[str], message: str) -> None:
    done = sweep(factorial, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert states(factorial)[5] == ("0005", "finished")


@pytest.mark.parametrize(
    "setting",
    ["time.stp=60 s", "time.step=90 kg", "emissions.point.0.species=TRACE", "boundary.scale.O3=1", "run.threads=-1"],
)
def test_a_wrong_setting_is_refused_before_anything_runs_with_the_message_of_set(setting: str, tmp_path: Path) -> None:
    folder = tmp_path / "refused"
    key, _, value = setting.partition("=")
    refused = sweep(folder, *RATES, "--vary", f"{key}={value}")
    single = airshed("run", "tracer-rotation", "--set", setting, "--output", tmp_path / "run", "-q")
    assert refused.exit_code == single.exit_code == 2
    assert refused.stderr == single.stderr
    assert not folder.exists()


def test_missing_data_are_refused_before_anything_runs(tmp_path: Path) -> None:
    """A folder of emissions is read where the model is built."""
    done = sweep(tmp_path / "refused", "--vary", "emissions.inventory=nothere,neither")
    assert done.exit_code == 2
    assert done.stderr.startswith("airshed: error: emissions.inventory = 'nothere': there is no such folder")
    assert not (tmp_path / "refused").exists()


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of three members, of which the second one fails in its first step."""
    folder = tmp_path_factory.mktemp("sweep") / "failing"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", python())
        done = sweep(folder, "--vary", "time.step=auto,10 h,5 min", "-j", "2")
    assert done.exit_code == 1
    lines = [line for line in done.stderr.splitlines() if "member 0001 (time.step=10 h) failed" in line]
    assert [line.partition(": ")[2].partition(":")[0] for line in lines] == [
        "member 0001 (time.step=10 h) failed, and is retried", "member 0001 (time.step=10 h) failed",
    ]  # fmt: skip
    assert all("time.step = '10 h' is too long for the wind" in line for line in lines)
    assert "2 of 3 members are finished; the others are missing in" in done.stderr
    return folder


def test_a_member_that_fails_is_missing_and_the_others_are_there(failing: Path) -> None:
    found = opened(failing)
    assert found["time.step"].values.tolist() == ["auto", "10 h", "5 min"]
    missing = found.TRACER.isnull().all(["time", "level", "lat", "lon"])
    assert missing.values.tolist() == [False, True, False]
    assert not found.TRACER.isnull().isel({"time.step": [0, 2]}).any()
    [text] = found.attrs["missing_members"]
    assert text.startswith("member 0001 (time.step=10 h): time.step = '10 h' is too long for the wind")
    assert states(failing) == [("0000", "finished"), ("0001", "failed"), ("0002", "finished")]
    assert "is too long for the wind" in (failing / "members" / "0001.log").read_text()


def test_without_any_member_there_is_no_dataset(tmp_path: Path) -> None:
    done = sweep(tmp_path / "none", "--vary", "time.step=10 h,11 h", "--retries", "0", "-q")
    assert done.exit_code == 2
    assert "no member of the sweep" in done.stderr
    assert not (tmp_path / "none" / "sweep.zarr").exists()


def test_an_ensemble_has_its_draws_as_coordinates_of_members(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(
        "setting,distribution,mean,sd,low,high,unit\n"
        "emissions.point.0.rate,normal,2,0.5,1,3,mol/s\nboundary.values.TRACER2,uniform,,,10,20,ppb\n"
    )
    ensemble = ["--ensemble", "3", "--uncertainties", str(table), "--seed", "7"]
    assert sweep(tmp_path / "a", *ensemble, "-q").exit_code == 0
    found = opened(tmp_path / "a")
    assert found.TRACER.dims == ("member", "time", "level", "lat", "lon")
    assert found.member.values.tolist() == [0, 1, 2]
    background = found["boundary.values.TRACER2"]
    assert (background.dims, background.attrs["units"]) == (("member",), "ppb")
    assert sorted(np.floor((background.values - 10) / (10 / 3)).tolist()) == [0, 1, 2]
    mixed = found.TRACER2.isel(time=0).mean(["level", "lat", "lon"])
    np.testing.assert_allclose(mixed, background * 1e-9, rtol=1e-6)
    with (tmp_path / "a" / "members.csv").open() as file:
        drawn = [row["boundary.values.TRACER2"] for row in csv.DictReader(file)]
    assert [float(text.removesuffix(" ppb")) for text in drawn] == background.values.tolist()
    stored = json.loads((tmp_path / "a" / "sweep.json").read_text())
    assert (stored["seed"], stored["uncertainties"][1]["high"]) == (7, 20)
    other = sweep(tmp_path / "a", *ensemble[:-1], "8", "--resume")
    assert other.exit_code == 2
    assert "with other" in other.stderr


def test_further_outputs_are_groups(tmp_path: Path) -> None:
    ground = ["--set", 'output=[{name="output"}, {name="ground", levels="ground", fields=["TRACER"], every="30 min"}]']
    assert sweep(tmp_path / "a", *ground, *RATES, "-q").exit_code == 0
    found, ground_level = opened(tmp_path / "a"), xr.open_zarr(tmp_path / "a" / "sweep.zarr", group="ground")
    assert ground_level.TRACER.shape == (2, 5, 1, 4, 4)
    np.testing.assert_array_equal(ground_level.TRACER[:, ::2, 0], found.TRACER[:, :, 0])


def command(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start a sweep of long members, one at a time, in a process."""
    line = [sys.executable, "-P", "-m", "airshed", "sweep", *LONG, *RATES, "-j", "1"]
    return subprocess.Popen([*line, "--output", str(folder), *arguments], stderr=subprocess.PIPE, text=True)


def wait_until_it_runs(folder: Path, process: "subprocess.Popen[str]") -> None:
    """Wait for a restart of the first member."""
    while not list(folder.glob("members/0000/restart/[!.]*")) and process.poll() is None:
        time.sleep(0.01)


def resumed(folder: Path) -> Result:
    return airshed("sweep", *LONG, *RATES, "--resume", "-q", "--output", folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_sweep_that_was_ended_continues(number: int, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    process = command(folder)
    wait_until_it_runs(folder, process)
    process.send_signal(number)
    _, text = process.communicate()
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "airshed: stopped; 0 of 2 members are finished, and --resume continues" in text
        assert json.loads((folder / "members" / "0000" / "run.json").read_text())["state"] == "interrupted"
    assert not (folder / "sweep.zarr").exists()
    assert not (folder / "members" / "0001").exists()
    assert resumed(folder).exit_code == 0
    assert "resumed at" in (folder / "members" / "0000.log").read_text()
    assert states(folder) == [("0000", "finished"), ("0001", "finished")]
    assert not opened(folder).TRACER.isnull().any()


def test_two_sweeps_do_not_share_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    process = command(folder)
    wait_until_it_runs(folder, process)
    try:
        second = resumed(folder)
        assert second.exit_code == 2
        assert "is writing to" in second.stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def task(folder: Path) -> Task:
    overrides = tuple(text for text in PLUME if "=" in text)
    return Task(
        0, "tracer-rotation", overrides, str(folder), str(folder / "0000"), str(folder / "log"), str(folder / "stop")
    )


def test_a_member_that_is_killed_is_a_failure_that_names_the_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suicide = tmp_path / "python"
    suicide.write_text("#!/bin/sh\nkill -KILL $$\n")
    suicide.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(suicide))
    outcome = run_member(task(tmp_path))
    assert (outcome.state, outcome.message) == ("failed", "it was ended by SIGKILL; there may not be enough memory")


def test_a_member_without_a_message_refers_to_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\necho rubbish; echo why >&2; exit 3\n")
    silent.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(silent))
    outcome = run_member(task(tmp_path))
    assert outcome.message == f"it ended with exit code 3; see {tmp_path / 'log'}"
    assert (tmp_path / "log").read_text() == "why\n"


def test_a_member_does_not_begin_once_the_sweep_stops(tmp_path: Path) -> None:
    (tmp_path / "stop").touch()
    assert run_member(task(tmp_path)).state == "stopped"
    assert not (tmp_path / "0000").exists()


def test_other_files_are_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    done = sweep(tmp_path, *RATES, "--resume")
    assert done.exit_code == 2
    assert "holds other files and is no sweep" in done.stderr
    assert os.listdir(tmp_path) == ["mine.txt"]
