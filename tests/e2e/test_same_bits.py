"""Equal bits for any number of threads, and for runs that were killed, stopped, damaged and resumed."""

import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from .conftest import CUT, airshed_here, budgets, command, contents, difference, environment, run, run_here


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    line = command("run", "west-europe", "--verbose", "--output", folder, *arguments, overrides=CUT)
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())


def wait_until_it_computes(process: "subprocess.Popen[str]") -> str:
    """Return the first line of progress."""
    assert process.stderr is not None
    for line in process.stderr:
        if "step" in line:
            return line
    raise AssertionError(f"ended with {process.wait()} before its first step")


def newest_restart(folder: Path) -> Path:
    return max((folder / "restart").glob("[!.]*.npz"), key=lambda path: float(path.stem))


def test_the_comparison_sees_a_single_bit(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(undisturbed, folder)
    assert difference(folder, undisturbed) == ""
    with netCDF4.Dataset(folder / "output.nc", "a") as file:
        value = file["O3"][3, 2, 1, 1]
        file["O3"][3, 2, 1, 1] = np.nextafter(np.float32(value), np.float32(1.0))
    assert difference(folder, undisturbed) == "O3"


def kill(folder: Path, moment: str, threads: int) -> None:
    """Resume a run until it is killed at a moment; no file then has the name of a result."""
    killed = run(folder, "--resume", "--threads", str(threads), die=moment)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (folder / "output.nc").exists()
    assert not (folder / "summary.json").exists()


@pytest.mark.thorough
def test_killed_at_chosen_moments_damaged_and_resumed(tmp_path: Path, undisturbed: Path) -> None:
    """Kill in the spin-up, at a record, inside a restart, and at the output file; then damage the newest restart."""
    folder, copy = tmp_path / "run", tmp_path / "copy"
    kill(folder, "inside restart/.-1800 5", threads=1)
    kill(folder, "unsynced records/output/records.nc 5", threads=2)
    kill(folder, "inside restart/.5400 3", threads=1)
    shutil.copytree(folder, copy)
    kill(folder, "before run/output.nc 1", threads=2)

    damaged = newest_restart(folder)
    damaged.write_bytes(damaged.read_bytes()[:-100])
    resumed = run_here(folder, "--resume", "--threads", "1")
    assert resumed.returncode == 0, resumed.stderr
    assert f"{damaged} is damaged" in resumed.stderr
    assert "the restart at 1.5 h is used, and later steps are repeated" in resumed.stderr
    assert difference(folder, undisturbed) == ""

    falsify(newest_restart(copy))
    assert run_here(copy, "--resume", "-q").returncode == 0
    assert "O3" in difference(copy, undisturbed)


def falsify(restart: Path) -> None:
    """Negative control: change one species, O3, in one column of an otherwise correct restart."""
    from airshed.io.archive import load_arrays, save_arrays

    arrays, metadata = load_arrays(restart)
    arrays["state.q"][0, 0, 13, :, 0] *= 1.0 + 1e-5
    save_arrays(restart, arrays, metadata)


@pytest.mark.thorough
def test_killed_at_random_moments(tmp_path: Path, undisturbed: Path) -> None:
    folder, rng, kills = tmp_path / "run", random.Random(20220831), 0
    for attempt in range(2):
        process = start(folder, "--resume", "--threads", str(1 + attempt % 2))
        wait_until_it_computes(process)
        time.sleep(rng.uniform(0.0, 0.4))
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        if (folder / "output.nc").exists():
            break
    assert kills > 0
    assert run_here(folder, "--resume", "-q").returncode == 0
    assert difference(folder, undisturbed) == ""


def stop(folder: Path, number: signal.Signals, past: str) -> str:
    """Resume a run, send it a signal after a line of progress that contains `past`, and return its messages."""
    process = start(folder, "--resume")
    assert process.stderr is not None
    next(line for line in process.stderr if "step" in line and past in line)
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors + output
    return errors


def test_a_stopped_run_is_shorter_valid_and_resumes(tmp_path: Path, undisturbed: Path) -> None:
    """SIGTERM comes in the spin-up, which has no output, then Ctrl-C after it."""
    folder, whole = tmp_path / "run", contents(undisturbed / "output.nc")
    for number, past, records in ((signal.SIGTERM, "spin-up", range(1)), (signal.SIGINT, " 00:", range(1, 7))):
        assert "airshed: stopped at 2022-08-3" in stop(folder, number, past)
        with netCDF4.Dataset(folder / "output.nc") as file:
            assert file.airshed_run == "interrupted"
            assert len(file["time"]) in records
        for name, values in contents(folder / "output.nc").items():
            assert whole[name].startswith(values)
        assert "simulated" in (folder / "summary.txt").read_text()

    resumed = run_here(folder, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert difference(folder, undisturbed) == ""
    with netCDF4.Dataset(folder / "output.nc") as file:
        assert file.airshed_run == "complete"


def test_nothing_to_resume_is_no_error_and_changes_nothing(undisturbed: Path) -> None:
    before = (undisturbed / "output.nc").read_bytes()
    again = run_here(undisturbed, "--resume", "--threads", "2")
    assert (again.returncode, again.stdout) == (0, "")
    assert again.stderr == f"airshed: the run in {undisturbed} is finished; there is nothing to resume\n"
    assert (undisturbed / "output.nc").read_bytes() == before


def test_another_case_is_not_resumed(undisturbed: Path) -> None:
    overrides = [*CUT, "chemistry.sweeps=3"]
    refused = airshed_here("run", "west-europe", "--resume", "--output", undisturbed, overrides=overrides)
    assert refused.returncode == 2
    assert "chemistry.sweeps was 2, now is 3" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert budgets(undisturbed)
