"""Memory that ranks of one machine share: who finds it, and who leaves it alone."""

import json
import mmap
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.started import python

from airshed.parallel.same_machine.memory import made_memory, opened_memory

MPIEXEC = Path(sys.executable).with_name("mpiexec")
PROGRAM = Path(__file__).with_name("shared_memory_program.py")
LENGTH = 10_000

nameless = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no memory without a name")


@pytest.fixture(scope="module")
def seen():
    command = [MPIEXEC, "-n", "3", python(), "-m", "mpi4py", PROGRAM]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return json.loads(answer.stdout)


@nameless
@pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")
class TestThreeRanks:
    def test_all_see_what_each_has_written(self, seen):
        assert seen["all"] == [[[0, 1, 2], [10, 11, 12]]] * 3

    @pytest.mark.parametrize("name", ["one cannot open it", "it cannot be made"])
    def test_nobody_shares_where_one_cannot(self, seen, name):
        assert seen[name] == [[[], []]] * 3

    def test_machines_are_told_apart(self, seen):
        assert seen["two machines"] == [[[0, 2], [10, 12]], [[], []], [[0, 2], [10, 12]]]

    def test_no_file_is_left_open(self, seen):
        assert seen["left open"] == [0] * 3


@pytest.fixture
def made():
    mapping, here = made_memory(LENGTH)
    mapping[10] = 42
    yield here
    os.close(here.file)


@nameless
def test_memory_of_the_team_is_opened(made):
    mapping = opened_memory(made, LENGTH)
    assert mapping[10] == 42
    assert len(mapping) == LENGTH


@nameless
@pytest.mark.parametrize("wrong", [{"token": b"u" * 16}, {"file": 99_999}, {"process": 2**22 + 1}])
def test_other_memory_is_left_alone(made, wrong, monkeypatch):
    monkeypatch.setattr(mmap, "mmap", lambda *_: pytest.fail("mapped"))
    assert opened_memory(replace(made, **wrong), LENGTH) is None


@nameless
def test_memory_of_another_size_is_left_alone(made):
    assert opened_memory(made, 2 * LENGTH) is None


def test_nothing_is_made_where_the_system_has_no_such_memory(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert made_memory(LENGTH) is None
