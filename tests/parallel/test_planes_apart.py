"""Ranks that move some species in some levels have the bits of one rank, also with more ranks than species."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.started import python

pytestmark = [pytest.mark.thorough, pytest.mark.compiles]

MPIEXEC = Path(sys.executable).with_name("mpiexec")
CASES = Path(__file__).parents[2] / "cases"
PROGRAM = Path(__file__).with_name("planes_apart.py")
KINDS = {"emep": 2, "concurrent": 1, "tracers": 2}


with_mpi = pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    command = [MPIEXEC, "-n", "6", python(), "-m", "mpi4py", PROGRAM, CASES, tmp_path_factory.mktemp("runs")]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return json.loads(answer.stdout)


def of_kind(answers, kind):
    return {name: each for name, each in answers.items() if name.startswith(kind)}


@with_mpi
@pytest.mark.parametrize("kind", KINDS)
def test_planes_on_ranks_have_the_bits_of_one_rank(answers, kind):
    found = of_kind(answers, kind)
    alone = found.pop(f"{kind}, alone")
    assert len(found) == KINDS[kind]
    assert {name: each for name, each in found.items() if each != alone} == {}


@with_mpi
def test_budgets_close(answers):
    assert max(each["residual"] for each in answers.values()) < 1e-13


@with_mpi
def test_concurrent_phases_give_other_results(answers):
    """Negative control."""
    one, other = answers["emep, alone"], answers["concurrent, alone"]
    assert one["state"] != other["state"]
    assert one["budget"] != other["budget"]
