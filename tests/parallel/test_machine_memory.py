"""Memory of a machine: arrays never lie upon each other, others see them, and only memory that is the team's."""

import ctypes
import gc
import json
import mmap
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.bench.counting import array_bytes
from airshed.kernels.layout import Layout
from airshed.kernels.step_arguments import address
from airshed.parallel import machine_memory
from airshed.parallel.machine_memory import HEAD, MachineMemory, Stretch

MPIEXEC = Path(sys.executable).with_name("mpiexec")
PROGRAM = Path(__file__).with_name("machine_memory_program.py")
LENGTH = 2 * mmap.PAGESIZE

nameless = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no memory without a name")


class OneRank:
    """As much of a communicator as the memory asks for."""

    def Get_rank(self):  # noqa: N802
        return 0

    def allgather(self, value):
        return [value]


def inside(memory, array):
    first, size = memory.reach
    return first <= address(array) <= address(array) + array.nbytes <= first + size


SHAPES = st.lists(st.integers(0, 9), max_size=3).map(tuple)
ASKED = st.tuples(SHAPES, st.sampled_from([np.float64, np.float32, np.uint8]), st.booleans())


@settings(deadline=None)
@given(st.lists(st.one_of(ASKED, st.integers(0, 20)), max_size=60), st.integers(0, 8))
def test_arrays_are_aligned_and_never_lie_upon_each_other(actions, pages):
    """An array is asked for, or the one of a number goes; each holds a number of its own to the end."""
    memory = MachineMemory(OneRank(), HEAD + pages * mmap.PAGESIZE)
    alive, private = {}, False
    for number, action in enumerate(actions):
        if isinstance(action, int):
            alive.pop(action, None)
            continue
        shape, dtype, zeros = action
        array = memory.zeros(shape, dtype) if zeros else memory.empty(shape, dtype)
        assert (array.shape, array.dtype) == (shape, dtype)
        assert address(array) % 64 == 0 or not array.size
        assert not zeros or not array.any()
        private |= not inside(memory, array)
        array[...] = number
        alive[number] = array
    assert memory.whole is not private
    for number, array in alive.items():
        assert (array == number).all()
    spans = sorted((address(each), address(each) + each.nbytes) for each in alive.values() if each.nbytes)
    assert all(before <= after for (_, before), (after, _) in pairwise(spans))
    assert not any((ctypes.c_char * HEAD).from_address(memory.begin(0)).raw)


def test_a_room_is_used_again_by_what_has_its_size():
    memory = MachineMemory(OneRank(), HEAD + mmap.PAGESIZE)
    array = memory.empty((32, 4), np.float64)
    array[...] = 7.0
    at, view = address(array), array[3:, 1]
    del array
    assert address(memory.empty((128,), np.float64)) != at  # a view is still there
    assert view[0] == 7.0
    del view
    again = memory.zeros((256,), np.float32)
    assert address(again) == at
    assert not again.any()
    assert memory.whole


def test_what_comes_anew_each_hour_needs_no_more_room():
    memory = MachineMemory(OneRank(), HEAD + 3 * mmap.PAGESIZE)
    forcing = memory.zeros((mmap.PAGESIZE // 8,), np.float64)
    for _ in range(20):
        forcing = memory.zeros((mmap.PAGESIZE // 8,), np.float64)
        assert inside(memory, forcing)
    assert memory.whole


def test_what_finds_no_room_lies_elsewhere():
    memory = MachineMemory(OneRank(), HEAD + mmap.PAGESIZE)
    small = memory.zeros((8,), np.float64)
    large = memory.zeros((mmap.PAGESIZE // 8,), np.float64)
    assert (inside(memory, small), inside(memory, large), memory.whole) == (True, False, False)
    assert not large.any()
    assert address(large) % 64 == 0


@nameless
def test_pages_that_nobody_uses_are_not_there():
    mapping, here = machine_memory._made(1 << 34)
    array = Stretch(mapping, HEAD, 1 << 34).zeros((1 << 30,), np.float64)
    array[1 << 20] = 1.0
    there = 512 * os.fstat(here.file).st_blocks
    os.close(here.file)
    assert 0 < there < 1 << 24


def test_many_threads_may_ask():
    memory = MachineMemory(OneRank(), HEAD + (1 << 20))

    def work(number):
        wrong = 0
        for _ in range(300):
            array = memory.zeros((100,), np.int64)
            wrong += bool(array.any())
            array[...] = number
            wrong += bool((array != number).any())
        return wrong

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(work, range(1, 9))) == 0
    assert memory.whole


def test_arrays_count_by_their_own_size():
    layout = Layout(3, 10, 4, np.float64, MachineMemory(OneRank(), 1 << 20))
    field = layout.pack(np.ones((2, 3, 10)))
    assert array_bytes([field, field[1:]]) == field.nbytes
    assert inside(layout.memory, field)


def test_arrays_outlive_the_memory():
    memory = MachineMemory(OneRank(), 1 << 20)
    array = memory.zeros((1000,), np.float64)
    memory.close()
    gc.collect()
    array[...] = 3.0
    assert array.sum() == 3000.0
    assert not inside(memory, memory.zeros((10,), np.float64))
    assert not memory.whole


def test_one_rank_shares_with_nobody(monkeypatch):
    monkeypatch.setattr(os, "memfd_create", lambda *_: pytest.fail("made"), raising=False)
    memory = MachineMemory(OneRank(), 1)
    assert (memory.team, memory.shift(0), memory.begin(0), memory.size) == ((0,), 0, memory.reach[0], HEAD)


@pytest.fixture(scope="module")
def seen():
    command = [MPIEXEC, "-n", "3", sys.executable, "-m", "mpi4py", PROGRAM]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return json.loads(answer.stdout)


@nameless
@pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")
class TestThreeRanks:
    def test_all_read_and_write_all_arrays(self, seen):
        size = -(-(HEAD + 40_002) // mmap.PAGESIZE) * mmap.PAGESIZE
        assert seen["changed_by_all"] == [[[0, 1, 2], size, True, [True] * 3, True]] * 3

    def test_heads_are_zero_and_seen_by_all(self, seen):
        assert seen["heads"] == [[True, [[1, 2, 3, 0]] * 3]] * 3

    def test_arrays_outlive_it(self, seen):
        assert seen["alive_when_all_is_closed"] == [True] * 3

    @pytest.mark.parametrize("name", ["one_cannot_open", "first_cannot_make"])
    def test_nobody_shares_where_one_cannot(self, seen, name):
        assert seen[name] == [[[rank], True, True, True] for rank in range(3)]

    def test_machines_are_told_apart(self, seen):
        assert [team for team, *_ in seen["two_machines"]] == [[0, 2], [1], [0, 2]]

    def test_nothing_is_left(self, seen):
        assert seen["files_left_open"] == [0] * 3
        assert seen["named"] == [[]] * 3


@pytest.fixture
def made():
    mapping, here = machine_memory._made(LENGTH)
    mapping[10] = 42
    yield here
    os.close(here.file)


@nameless
def test_memory_of_the_team_is_opened(made):
    mapping = machine_memory._opened(made, LENGTH)
    assert mapping[10] == 42
    assert len(mapping) == LENGTH


@nameless
@pytest.mark.parametrize("wrong", [{"token": b"u" * 16}, {"file": 99_999}, {"process": 2**22 + 1}])
def test_other_memory_is_left_alone(made, wrong, monkeypatch):
    monkeypatch.setattr(mmap, "mmap", lambda *_: pytest.fail("mapped"))
    assert machine_memory._opened(replace(made, **wrong), LENGTH) is None


@nameless
def test_memory_of_another_size_is_left_alone(made):
    assert machine_memory._opened(made, 2 * LENGTH) is None


def test_nothing_is_made_where_the_system_has_no_such_memory(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert machine_memory._made(LENGTH) is None
