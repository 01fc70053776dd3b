"""A run killed at any moment leaves no incomplete result, and has the same bits when resumed."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from airshed.core.atomic import is_part
from airshed.core.errors import OutputError
from airshed.io.results import open_run
from airshed.io.strategies.store import SHARED_FILE

SCRIPT = Path(__file__).with_name("killed_run.py")
TIMES = 25
COMPRESSIONS = ("none", "zlib")


def command(folder, *options):
    return [sys.executable, str(SCRIPT), str(folder), *options]


def run(folder, *options):
    return subprocess.run(command(folder, *options), capture_output=True, text=True, timeout=60)


def run_to_the_end(folder, *options):
    done = run(folder, *options)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return, by compression, the bytes of the uninterrupted run's result, and the number of its sync calls."""
    found = {}
    for compression in COMPRESSIONS:
        folder = tmp_path_factory.mktemp("undisturbed") / "run"
        calls = run_to_the_end(folder, "--compression", compression)
        found[compression] = (folder / "output.nc").read_bytes(), calls
    return found


def assert_nothing_looks_whole_that_is_not(folder, expected):
    """Assert that a result exists only if complete; other netCDF names are temporary, or of records so far."""
    for path in folder.rglob("*.nc*"):
        if path.name == SHARED_FILE and path.stat().st_size:
            with netCDF4.Dataset(path) as records:
                assert np.array_equal(records["time"][:], 3600.0 * np.arange(len(records["time"])))
                assert np.all(records["O3"][:] > 0.0)
        else:
            assert is_part(path) or path.read_bytes() == expected
    if (folder / "output.nc").exists():
        with open_run(folder) as result:
            assert result.sizes["time"] == TIMES
    else:
        with pytest.raises(OutputError, match=r"unfinished|no run"):
            open_run(folder)


def points(count, calls, seed):
    """Return calls to die before (positive) or after (negative), among them the last ones, where the result appears."""
    rng = random.Random(seed)
    return [rng.choice([-1, 1]) * rng.randrange(1, calls + 1) for _ in range(count)] + [calls - 4, 4 - calls]


@pytest.mark.parametrize(
    "compression",
    [each if each == "none" else pytest.param(each, marks=pytest.mark.thorough) for each in COMPRESSIONS],
)
def test_killed_at_chosen_calls_again_and_again(tmp_path, undisturbed, compression):
    expected, calls = undisturbed[compression]
    folder = tmp_path / "run"
    for number in points(3, calls, seed=31):
        killed = run(folder, "--resume", "--die-at", str(number), "--compression", compression)
        assert killed.returncode in (-signal.SIGKILL, 0)
        assert_nothing_looks_whole_that_is_not(folder, expected)
        if (folder / "output.nc").exists():
            folder = folder.with_name(f"{folder.name}-again")
    run_to_the_end(folder, "--resume", "--compression", compression)
    assert (folder / "output.nc").read_bytes() == expected


@pytest.mark.thorough
def test_killed_at_random_times(tmp_path, undisturbed):
    expected, _ = undisturbed["none"]
    rng = random.Random(8)
    folder = tmp_path / "run"
    for _ in range(3):
        with subprocess.Popen(command(folder, "--resume", "--pause", "0.01"), stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"started\n"
            time.sleep(rng.uniform(0.0, 0.3))
            process.kill()
        assert_nothing_looks_whole_that_is_not(folder, expected)
        assert not (folder / "output.nc").exists()
    run_to_the_end(folder, "--resume")
    assert (folder / "output.nc").read_bytes() == expected


def test_a_resumed_run_that_lost_its_state_is_found(tmp_path, undisturbed):
    expected, calls = undisturbed["none"]
    run(tmp_path / "run", "--die-at", str(calls // 2))
    run_to_the_end(tmp_path / "run", "--resume", "--forget")
    assert (tmp_path / "run" / "output.nc").read_bytes() != expected
