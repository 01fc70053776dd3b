"""Ranks of one machine help each other, whoever is late, and have the bits of one rank."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MPIEXEC = Path(sys.executable).with_name("mpiexec")
SOAK = Path(__file__).with_name("crew_soak.py")

pytestmark = [
    pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed"),
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no memory without a name"),
]


@pytest.fixture(scope="module")
def runs():
    command = [MPIEXEC, "-n", "4", sys.executable, "-m", "mpi4py", SOAK]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return json.loads(answer.stdout)


@pytest.mark.parametrize("threads", [1, 2])
def test_ranks_that_are_late_by_turns_have_the_bits_of_one(runs, threads):
    result, helped, opened, elsewhere = runs[f"late, {threads}"]
    assert result == runs["all"][0]
    assert any(helped)
    assert opened == [400] * 4  # every array of a step was in memory that others see
    assert any(elsewhere)


def test_a_rank_that_is_late_is_helped(runs):
    result, helped, _, _ = runs["first by neighbours"]
    assert result == runs["few"][0]
    assert helped[0] > 0.0


def test_ranks_that_see_no_more_than_states_of_each_other_do_not_help(runs):
    result, helped, opened, _ = runs["room for states alone"]
    assert result == runs["few"][0]
    assert helped == [0.0] * 4
    assert opened == [0] * 4


def test_a_rank_that_does_not_wait_has_other_bits(runs):
    """The negative control."""
    assert runs["one does not wait"][0] != runs["few"][0]
