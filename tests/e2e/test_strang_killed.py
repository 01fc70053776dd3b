"""A killed run with Strang splitting resumes to the same bits, like one with IMEX."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from airshed.io.archive import load_arrays, save_arrays

from .conftest import CUT, airshed, airshed_here, difference
from .test_same_bits import newest_restart

pytestmark = [pytest.mark.thorough, pytest.mark.compiles]

STRANG = (
    *CUT, "chemistry.integrator=strang", "time.length=30 min", "time.spinup=10 min", "time.step=150 s",
    "restart.every=10 min", "output.0.every=10 min",
)  # fmt: skip


def strang(folder: Path, *arguments: str) -> None:
    done = airshed_here("run", "west-europe", "--output", folder, "-q", *arguments, overrides=STRANG)
    assert done.returncode == 0, done.stderr


def chemistry_of_cells(folder: Path) -> str:
    return str(json.loads((folder / "summary.json").read_text())["facts"]["chemistry of cells"])


def test_killed_and_resumed(tmp_path: Path) -> None:
    """It is killed while a restart is written: the restart before has the first steps of cells, and their counts."""
    expected, folder, copy = tmp_path / "expected", tmp_path / "run", tmp_path / "copy"
    strang(expected, "--threads", "1")
    killed = airshed(
        "run", "west-europe", "--output", folder, "--threads", "2", overrides=STRANG, die="inside restart/.1200 3"
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (folder / "output.nc").exists()
    shutil.copytree(folder, copy)
    strang(folder, "--resume", "--threads", "1")
    assert difference(folder, expected) == ""
    assert chemistry_of_cells(folder) == chemistry_of_cells(expected)

    remove_steps(newest_restart(copy))
    strang(copy, "--resume", "--threads", "1")
    assert "O3" in difference(copy, expected)


def remove_steps(restart: Path) -> None:
    """Negative control: remove the first steps of cells from a restart."""
    arrays, metadata = load_arrays(restart)
    arrays["chemistry.first"][...] = 0.0
    save_arrays(restart, arrays, metadata)
