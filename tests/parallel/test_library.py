"""Simulations on ranks without the program `airshed`: an error of one rank, caught or not, leaves no rank waiting."""

import subprocess
import sys
from pathlib import Path

import pytest

from .library import EXPLODING

MPIEXEC = Path(sys.executable).with_name("mpiexec")
SCRIPT = Path(__file__).with_name("library.py")

pytestmark = pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")


def run(folder: Path, *names: str) -> tuple[int, str, str]:
    """Return the exit code of a script on two ranks, its output, and its errors; a hang fails the test."""
    (folder / "exploding.eqn").write_text(EXPLODING)
    command = [str(MPIEXEC), "-n", "2", sys.executable, str(SCRIPT), str(folder), *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.compiles
@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        pytest.param("caught", 2, "failed-cell.toml (rank 1 of 2)\n", marks=pytest.mark.thorough),
        pytest.param(
            "by_steps", 2, "airshed: error: the chemistry of the cell at lon 3.5, lat 3.5", marks=pytest.mark.thorough
        ),
        pytest.param(
            "at_the_start",
            2,
            "nosuch.toml'; shipped cases: ",
            marks=pytest.mark.thorough,
        ),
        ("observer", 1, "ZeroDivisionError: nought (rank 0 of 2)\n"),
    ],
)
def test_an_error_of_one_rank_ends_all_with_its_message_also_where_it_is_caught(
    tmp_path: Path, name: str, code: int, told: str
) -> None:
    returned, output, errors = run(tmp_path, name)
    assert (returned, "caught" in output) == (code, False), errors
    assert errors.count(told) == 1


@pytest.mark.thorough
def test_scripts_go_on_after_an_error_of_all_ranks_and_after_sums_that_nobody_asks_for_any_more(tmp_path: Path) -> None:
    code, output, errors = run(tmp_path, "everywhere", "forgotten")
    told = "chemistry.mechanism: there is no mechanism 'nosuch', but 2022-01-01T01:00:00.000\n0\n"
    assert (code, output) == (0, told), errors
