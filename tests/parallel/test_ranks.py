"""A run on ranks has the bits of a run on one: state, budgets, summary, output, restarts, whatever the cut."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MPIEXEC = Path(sys.executable).with_name("mpiexec")
PROGRAM = Path(__file__).with_name("same_bits.py")
CASES = Path(__file__).parents[2] / "cases"

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.compiles,
    pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed"),
]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What the program printed, with the package by which ranks share memory and without it."""
    command = [MPIEXEC, "-n", "6", sys.executable, "-m", "mpi4py", PROGRAM, CASES, tmp_path_factory.mktemp("runs")]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return json.loads(answer.stdout)


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_any_number_of_ranks_and_threads_gives_the_same_bits(printed, integrator):
    """Also where the package by which ranks of one machine share memory is not there."""
    runs = {
        f"{name} {way}": answer
        for way, told in printed.items()
        for name, answer in told["answers"].items()
        if name.startswith(integrator)
    }
    assert len(runs) == 2 * {"imex": 8, "strang": 7}[integrator]
    alone = runs[f"{integrator} 1 auto 1 auto with"]
    assert {name: answer for name, answer in runs.items() if answer != alone} == {}


def test_what_is_compared_can_differ(printed):
    """The negative control: another integrator is another run."""
    answers = printed["with"]["answers"]
    one, other = answers["imex 1 auto 1 auto"], answers["strang 1 auto 1 auto"]
    assert all(one[key] != other[key] for key in one)


def test_edges_went_all_ways(printed):
    """The first rank shared memory with all its neighbours, with those on its own machine, or with none."""
    of_size = {tuple(each) for each in printed["with"]["shared"]}
    assert {(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 2), (6, 1), (6, 2)} <= of_size
    assert {shared for _, shared in printed["without"]["shared"]} == {0}
