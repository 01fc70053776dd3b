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

pytestmark = pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    command = [MPIEXEC, "-n", "6", sys.executable, "-m", "mpi4py", PROGRAM, CASES, tmp_path_factory.mktemp("runs")]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return json.loads(answer.stdout)


@pytest.fixture(scope="module")
def answers(printed):
    return printed["answers"]


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_any_number_of_ranks_and_threads_gives_the_same_bits(answers, integrator):
    runs = {name: answer for name, answer in answers.items() if name.startswith(integrator)}
    assert len(runs) == {"imex": 8, "strang": 7}[integrator]
    alone = runs[f"{integrator} 1 auto 1 auto"]
    assert {name: answer for name, answer in runs.items() if answer != alone} == {}


def test_what_is_compared_can_differ(answers):
    """The negative control: another integrator is another run."""
    one, other = answers["imex 1 auto 1 auto"], answers["strang 1 auto 1 auto"]
    assert all(one[key] != other[key] for key in one)


def test_halos_went_all_ways(printed):
    """The first rank looked into the memory of all its neighbours, of those on its own machine, or of none."""
    of_size = {(size, shared) for size, shared, *_ in printed["shared"]}
    assert {(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 2), (6, 1), (6, 2)} <= of_size


def test_steps_could_be_computed_by_whom_the_rank_shares_memory_with(printed):
    """All that they read and write lies there."""
    assert {opened for _, shared, opened, _ in printed["shared"] if shared} == {True}
    assert {opened for _, shared, opened, _ in printed["shared"] if not shared} == {False}


def test_sums_were_found_both_ways(printed):
    """On boards where all ranks are on one machine, by messages where they are on two, or are to send messages."""
    ways = {(size, shared > 0, boards) for size, shared, _, boards in printed["shared"]}
    assert ways == {(1, False, False)} | {(size, way, way) for size in (2, 3, 4) for way in (False, True)} | {
        (6, True, False), (6, True, True)
    }  # fmt: skip
