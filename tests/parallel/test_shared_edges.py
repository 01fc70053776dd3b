"""Edges in shared memory: right values whoever is late, and only memory that is the neighbour's."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from airshed.parallel import shared_edges
from airshed.parallel.shared_edges import Whereabouts

MPIEXEC = Path(sys.executable).with_name("mpiexec")
SOAK = Path(__file__).with_name("edges_soak.py")
SIZE = 4096

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no memory without a name")


def wrong_values(*turns):
    command = [MPIEXEC, "-n", "4", sys.executable, "-m", "mpi4py", SOAK, *map(str, turns)]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return int(answer.stdout)


@pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")
def test_every_exchange_brings_its_own_values_though_ranks_are_late():
    assert wrong_values() == 0


@pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")
def test_room_for_one_exchange_would_be_too_little():
    """The negative control."""
    assert wrong_values(1) > 0


@pytest.fixture
def shown():
    memory, file = shared_edges._new_memory(SIZE)
    here = Whereabouts(shared_edges._machine(), os.getpid(), file, b"t" * shared_edges._TOKEN_BYTES)
    shared_edges._sign(memory, here)
    yield here
    os.close(file)


def test_memory_of_this_machine_is_opened(shown):
    assert shared_edges._opened(shown, shown, SIZE) is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"machine": ("another",)}, {"token": b"u" * shared_edges._TOKEN_BYTES}, {"file": 99_999},
        {"process": 2**22 + 1},
    ],
)  # fmt: skip
def test_what_is_not_the_neighbours_is_left_alone(shown, wrong):
    assert shared_edges._opened(shown, replace(shown, **wrong), SIZE) is None


def test_memory_of_another_size_is_left_alone(shown):
    assert shared_edges._opened(shown, shown, 2 * SIZE) is None


def test_another_machine_is_not_even_looked_at(shown, monkeypatch):
    """There its numbers of processes and files would mean something else."""
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("opened"))
    assert shared_edges._opened(shown, replace(shown, machine=("another",)), SIZE) is None
