"""A run on ranks has the bits of a run on one: state, budgets, summary, output, restarts, for any decomposition."""

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
    command = [MPIEXEC, "-n", "6", sys.executable, "-m", "mpi4py", PROGRAM, CASES, tmp_path_factory.mktemp("runs")]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return json.loads(answer.stdout)


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_any_number_of_ranks_and_threads_gives_the_same_bits(printed, integrator):
    runs = {name: answer for name, answer in printed.items() if name.startswith(integrator)}
    assert len(runs) == {"imex": 8, "strang": 7}[integrator]
    alone = runs[f"{integrator} 1 auto 1"]
    assert {name: answer for name, answer in runs.items() if answer != alone} == {}


def test_what_is_compared_can_differ(printed):
    """Negative control: another integrator gives another run."""
    one, other = printed["imex 1 auto 1"], printed["strang 1 auto 1"]
    assert all(one[key] != other[key] for key in one)
