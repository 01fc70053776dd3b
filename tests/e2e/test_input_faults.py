"""Weather files that fail in the middle of a run: one clear error, and after their repair the bits of a sound run."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.started import python

from airshed import Simulation
from airshed.core.errors import CaseError, DataError
from airshed.parallel.communicator import SingleRank

from .conftest import PROGRAM, airshed_here, contents
from .failing_input import CASES, CUT, FAULTS, bad_file, case, change, split, trial, two_at_once

SAYS = {
    "vanish": "u_04.nc cannot be read any more (No such file or directory), and variable u at 2022-08-31T04:00 is "
    "needed; put it back; then resume the run",
    "cut": "and variable u at 2022-08-31T04:00 is needed; copy or download it again; then resume the run",
    "damage": "u_04.nc: variable u is missing (NaN) at time 2022-08-31T04:00, level ",
}


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return split(tmp_path_factory.mktemp("input") / "weather")


@pytest.fixture(scope="module")
def sound(weather: Path) -> dict[str, bytes]:
    """Return the results of an undisturbed run, on one rank."""
    folder = weather.parent / "sound"
    Simulation(case(weather, "parallel"), output=folder, ranks=SingleRank()).run()
    return contents(folder / "output.nc")


@pytest.mark.parametrize(
    "fault", [pytest.param(each, marks=pytest.mark.thorough) if each == "cut" else each for each in FAULTS]
)
def test_a_failing_file_is_reported_and_the_run_resumes_after_its_repair(
    fault: str, weather: Path, sound: dict[str, bytes], tmp_path: Path
) -> None:
    [message] = trial(SingleRank(), weather, tmp_path / "run", fault, "parallel")
    assert SAYS[fault] in message
    assert message.startswith("7200 s: ")  # the hour before does not need the file
    assert contents(tmp_path / "run" / "output.nc") == sound


@pytest.mark.thorough
@pytest.mark.skipif(not PROGRAM.with_name("mpiexec").exists(), reason="mpiexec of the wheel mpich is not installed")
def test_all_ranks_stop_together_and_resume(weather: Path, sound: dict[str, bytes]) -> None:
    folder, program = weather.parent, Path(__file__).with_name("failing_input.py")
    line = [str(PROGRAM.with_name("mpiexec")), "-n", "2", python(), str(program), str(folder)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False, env=dict(os.environ))
    assert done.returncode == 0, done.stderr[-4000:]
    answers = json.loads(done.stdout)
    for name, (first, second) in answers.items():
        assert SAYS[name.split("-")[1]] in first, name
        assert first == second
        assert contents(folder / name / "output.nc") == sound, name
    assert contents(folder / "root" / "output.nc") == sound


def test_the_comparison_can_fail(weather: Path, sound: dict[str, bytes], tmp_path: Path) -> None:
    """Negative control: a file that is restored with other values."""
    path = bad_file(weather)
    before = path.read_bytes()
    try:
        with two_at_once():
            simulation = Simulation(case(weather, "parallel"), output=tmp_path / "run", ranks=SingleRank())
            simulation.run("40 min")
            path.unlink()
            with pytest.raises(DataError):
                simulation.run()
        path.write_bytes(before)
        change(path)
        with pytest.raises(CaseError, match=f"{path.name} has changed"):
            Simulation(case(weather, "parallel"), output=tmp_path / "run", resume=True, ranks=SingleRank())
        going_on = {"resume": True, "accept_changed_inputs": True}
        Simulation(case(weather, "parallel"), output=tmp_path / "run", ranks=SingleRank(), **going_on).run()
    finally:
        path.write_bytes(before)
    found = contents(tmp_path / "run" / "output.nc")
    assert [name for name in ("O3", "air_pressure") if found[name] != sound[name]]


def test_the_command_ends_with_the_code_of_wrong_data(weather: Path, tmp_path: Path) -> None:
    path = bad_file(weather)
    before = path.read_bytes()
    FAULTS["damage"](path)
    overrides = (*CUT, f'meteorology.files=["{weather}/*.nc"]')
    try:
        failed = airshed_here(
            "run", str(CASES / "west-europe"), "-q", "--output", tmp_path / "run", overrides=overrides
        )
    finally:
        path.write_bytes(before)
    assert failed.returncode == 2
    assert len(failed.stderr.splitlines()) == 1
    assert SAYS["damage"] in failed.stderr
    assert failed.stderr.rstrip().endswith("then resume the run")
