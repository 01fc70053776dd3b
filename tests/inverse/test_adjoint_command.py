"""`airshed adjoint` from end to end, on a case of a few columns."""

import csv
import os
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

from airshed.case.toml import write_toml
from airshed.cli.program import app

from .small import measured, small

DYING = Path(__file__).parents[1] / "e2e" / "dying"
MPIEXEC = Path(sys.executable).with_name("mpiexec")
ASKED = ("--species", "O3", "--receptor", "lon=7.45", "--receptor", "lat=50.45", "--allow-code")


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("case")
    (folder / "case.toml").write_text(write_toml(small(folder).to_dict()), encoding="utf-8")
    return folder


def adjoint(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["adjoint", *map(str, arguments)])


def test_it_leaves_a_dataset_a_table_a_summary_and_pictures(case: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = adjoint(case, *ASKED, "--time", "1 h", "--fields", "NO2,O3", "--every", "30 min", "--output", out)
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("Checkpoints: online: ")
    assert {path.name for path in out.iterdir()} == {"sensitivity.nc", "contributions.csv", "summary.txt", "maps"}
    assert {"overview.png", "NO.png", "NO2.png"} <= {path.name for path in (out / "maps").iterdir()}
    assert (out / "maps" / "overview.png").read_bytes().startswith(b"\x89PNG")
    for part in ("O3 in 50.45 N, 7.45 E", "point sources", f"Results: {out}"):
        assert part in result.stdout
    for part in ("F_", "e-11", "e-10"):
        assert part not in result.stdout
    with xr.open_dataset(out / "sensitivity.nc") as found:
        assert float(found.value) == measured(small(case))
        assert found.adjoint_NO2.dims == ("time", "level", "lat", "lon")
        assert str(found.hour.values[0]) == "2022-06-01T10:00:00.000000000"
        assert found.attrs["Conventions"] == "CF-1.11"
        ranked = found.contribution.values
        assert (np.diff(np.abs(ranked)) <= 0.0).all()
    with (out / "contributions.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["change by a 10 % cut [ppb]"]) == pytest.approx(-1e8 * ranked[0], rel=1e-5)


def test_a_case_by_strang_splitting(case: Path, tmp_path: Path) -> None:
    found = {}
    for integrator in ("imex", "strang"):
        out = tmp_path / integrator
        result = adjoint(case, *ASKED, "--set", f"chemistry.integrator={integrator}", "--no-maps", "--output", out)
        assert result.exit_code == 0, result.output
        with xr.open_dataset(out / "sensitivity.nc") as each:
            found[integrator] = each.load()
    one, other = found["imex"], found["strang"]
    assert float(other.value) == pytest.approx(float(one.value), rel=0.01)
    np.testing.assert_allclose(other.rate, one.rate, rtol=0.3)  # next to a chimney, in steps of 150 s
    assert (one.rate.values != other.rate.values).any()


def test_a_case_may_hold_the_receptor(case: Path, tmp_path: Path) -> None:
    settings = ["receptor.species=O3", "receptor.lon=[7, 7.4]", "receptor.lat=[50, 50.4]", "receptor.level=1"]
    result = adjoint(
        case, "--allow-code", *(f"--set={each}" for each in settings), "--no-maps", "--output", tmp_path / "out"
    )
    assert result.exit_code == 0, result.output
    assert "O3 in 50 to 50.4 N, 7 to 7.4 E" in result.stdout
    assert not (tmp_path / "out" / "maps").exists()
    result = adjoint(
        case, "--allow-code", *(f"--set={each}" for each in settings), "--place", "Bonn", "--output", tmp_path / "out"
    )
    assert "O3 in Bonn" in result.stdout  # a place on the command line replaces that of the case


@pytest.mark.thorough
@pytest.mark.compiles
def test_frozen_limiters_change_the_sensitivity_to_a_plume_but_not_the_run(case: Path, tmp_path: Path) -> None:
    found = []
    for frozen in ((), ("--frozen",)):
        out = tmp_path / f"out{len(frozen)}"
        result = adjoint(case, *ASKED, *frozen, "--no-maps", "--output", out)
        assert result.exit_code == 0, result.output
        with xr.open_dataset(out / "sensitivity.nc") as each:
            found.append((float(each.value), each.initial.values))
    (value, exact), (same, frozen_ones) = found
    assert value == same
    assert (exact != frozen_ones).any()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--allow-code",), "the receptor has no species"),
        (("--species", "O4", "--place", "Bonn", "--allow-code"), "'O4' is not a species"),
        (("--species", "O3", "--place", "Bon", "--allow-code"), "did you mean Bonn?"),
        ((*ASKED, "--place", "Bonn"), "give one of them"),
        ((*ASKED, "--measure", "max"), "receptor.measure"),
        ((*ASKED, "--time", "3 h"), "is not within the case"),
        ((*ASKED, "--fields", "SO2"), "'SO2' is not a species"),
        ((*ASKED, "--set", "chemistry.integrator=strang", "--set", "adjoint.rounding=float"), "adjoint.rounding"),
    ],
)  # fmt: skip
def test_invalid_input_gives_a_message_and_no_folder(
    case: Path, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = adjoint(case, *arguments, "--output", tmp_path / "out")
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_left_alone(case: Path, tmp_path: Path) -> None:
    (tmp_path / "summary.txt").write_text("of a run", encoding="utf-8")
    result = adjoint(case, *ASKED, "--output", tmp_path)
    assert (result.exit_code, "holds summary.txt" in result.stderr) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["summary.txt"]


@pytest.mark.thorough
def test_ctrl_c_leaves_nothing(case: Path, tmp_path: Path) -> None:
    out, command = tmp_path / "out", [python(), "-m", "airshed", "adjoint", str(case), *ASKED, "--output"]
    longer = ["--set", "time.step=1 s", "--set", "time.length=24 h"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([*command, str(out), *longer], stderr=subprocess.PIPE, text=True, env=environment) as process:
        until = time.monotonic() + 60.0
        while not out.exists() and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told.endswith("airshed: stopped\n")
    assert not out.exists()


@pytest.mark.thorough
def test_killed_and_resumed_it_leaves_the_same_files(case: Path, tmp_path: Path) -> None:
    """Kill it in the backward pass, and again while results are written; no field is lost or duplicated."""
    asked = (*ASKED, "--fields", "NO2,O3", "--every", "10 min", "--set", 'adjoint.commit="0 s"')
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert adjoint(case, *asked, "--output", whole).exit_code == 0
    command = [python(), "-m", "airshed", "adjoint", case, *asked, "--output", out, "--resume"]
    for moment in ("after manifest 20", "before contributions.csv 1"):
        path = os.pathsep.join([str(DYING), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "AIRSHED_DIE": moment, "PYTHONPATH": path}
        killed = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert (out / "commits").is_dir()
    assert "nothing to resume" not in killed.stderr
    result = adjoint(case, *asked, "--output", out, "--resume")
    assert result.exit_code == 0, result.output
    assert "airshed: resuming from a commit in the backward pass, with 1 steps left" in result.stderr
    for name in ("sensitivity.nc", "contributions.csv", "summary.txt"):
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name
    assert not (out / "commits").exists()


def test_after_failed_writing_it_resumes_with_the_same_files(case: Path, tmp_path: Path) -> None:
    asked = (*ASKED, "--fields", "NO2", "--every", "30 min", "--no-maps", "--set", 'adjoint.commit="0 s"')
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert adjoint(case, *asked, "--output", whole).exit_code == 0
    (out / "commits").mkdir(parents=True)
    (out / "summary.txt").mkdir()  # is in the way
    failed = adjoint(case, *asked, "--output", out)
    assert failed.exit_code == 2, failed.output
    assert failed.stderr.count("summary.txt") == 1
    (out / "summary.txt").rmdir()
    done = adjoint(case, *asked, "--output", out, "--resume")
    assert done.exit_code == 0, done.output
    assert "resuming from a commit in the backward pass, with 1 steps left" in done.stderr
    for path in whole.iterdir():
        assert (out / path.name).read_bytes() == path.read_bytes(), path.name
    assert not (out / "commits").exists()


@pytest.mark.thorough
@pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")
def test_of_two_ranks_the_first_writes_plots_and_reports_and_a_failure_can_resume(case: Path, tmp_path: Path) -> None:
    asked = (*ASKED, "--fields", "NO2", "--every", "30 min", "--set", 'adjoint.commit="0 s"')
    alone, out = tmp_path / "alone", tmp_path / "out"
    assert adjoint(case, *asked, "--output", alone).exit_code == 0

    def on_ranks(*more: str) -> subprocess.CompletedProcess[str]:
        command = [MPIEXEC, "-n", "2", python(), "-m", "airshed", "adjoint", case, *asked, *more]
        return subprocess.run([*command, "--output", out], capture_output=True, text=True, check=False, timeout=300)

    (out / "commits").mkdir(parents=True)
    (out / "summary.txt").mkdir()  # is in the way
    failed = on_ranks()
    assert failed.returncode == 2, failed.stderr
    assert failed.stderr.count("summary.txt") == 1
    assert "Results" not in failed.stdout
    assert len(list((out / "commits").iterdir())) == 2
    (out / "summary.txt").rmdir()
    done = on_ranks("--resume")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("resuming from a commit in the backward pass") == 1
    assert done.stdout.count(f"Results: {out}") == 1
    assert {path.name for path in out.iterdir()} == {path.name for path in alone.iterdir()}
    for path in (each for each in alone.rglob("*") if each.is_file()):
        assert (out / path.relative_to(alone)).read_bytes() == path.read_bytes(), path.name
