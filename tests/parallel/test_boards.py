"""Sums on boards: any number of ranks that begin in the same order and ask in any, each at its own pace."""

import mmap
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.parallel.boards import BOARD, PLACES, Boards, make_boards
from airshed.parallel.communicator import MpiRanks

from .test_communicator import Handle

APART = BOARD + 4096
PATIENCE = 60.0  # s, far more than anything here takes


class Memory:
    """Memory that threads of one process share, as ranks of a machine share theirs."""

    size = APART

    def __init__(self, ranks: int) -> None:
        self.team = tuple(range(ranks))
        self._all = np.zeros((ranks, APART), np.uint8)

    def heads(self) -> np.ndarray:
        return self._all[:, :BOARD]

    def begin(self, rank: int) -> int:
        return self._all.ctypes.data + rank * APART


def until(arrived) -> None:
    end = time.monotonic() + PATIENCE
    while not arrived():
        assert time.monotonic() < end, "waited for what does not come"
        time.sleep(0)


def together(ranks: int, program) -> list:
    """What a program (boards, rank) gives on each rank."""
    memory = Memory(ranks)
    with ThreadPoolExecutor(ranks) as pool:
        return list(pool.map(lambda rank: program(Boards(memory, rank, until), rank), range(ranks)))


@st.composite
def schedules(draw):
    """Notices: their size, whether the greatest is sought, and which of those begun is asked for then, if any."""
    count = draw(st.integers(1, 5 * PLACES))
    kinds = draw(st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=count, max_size=count))
    return [(*kind, draw(st.sampled_from([None, 0, 0, -1]))) for kind in kinds]


def values(number: int, rank: int, size: int, greatest: bool) -> np.ndarray:
    drawn = np.random.default_rng([number, rank]).integers(-(2**40), 2**40, (2, size))
    return drawn.astype(np.float64) if greatest else drawn


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 4), schedules(), st.integers(0, 99))
def test_all_ranks_get_what_all_have_written(ranks, schedule, seed):
    def program(boards, rank):
        random, pending, found = Random(seed + rank), [], {}
        for number, (size, greatest, asked) in enumerate(schedule):
            given_ = values(number, rank, size, greatest)
            notice = boards.begin(given_, np.maximum if greatest else np.add)
            given_[...] = 0  # what was written is the rank's own again
            pending.append((number, notice))
            if random.random() < 0.3:
                time.sleep(0.002)  # late by turns
            if asked is not None:
                which, notice = pending.pop(asked)
                until(notice.arrived)
                found[which] = notice.result()
        for which, notice in pending:
            until(notice.arrived)
            found[which] = notice.result()
        return found

    told = together(ranks, program)
    for number, (size, greatest, _) in enumerate(schedule):
        combine = np.maximum if greatest else np.add
        expected = combine.reduce([values(number, rank, size, greatest) for rank in range(ranks)])
        assert all(found[number].dtype == expected.dtype for found in told)
        assert all(np.array_equal(found[number], expected) for found in told)


def test_a_slow_reader_finds_what_was_written_though_places_are_written_anew():
    """Its control, a rank that does not wait for readers, is in test_boards_interleaved."""

    def program(boards, rank):
        results = []
        for number in range(3 * PLACES):
            notice = boards.begin(np.array([number]), np.add)
            until(notice.arrived)
            if rank:
                time.sleep(0.002)
            results.append(int(notice.result()[0]))
        return results

    expected = [2 * number for number in range(3 * PLACES)]
    assert together(2, program) == [expected, expected]


def test_what_a_rank_has_not_written_has_not_arrived():
    memory = Memory(2)
    first, second = (Boards(memory, rank, until) for rank in range(2))
    notice = first.begin(np.ones(3), np.add)
    assert not notice.arrived()
    other = second.begin(np.ones(3), np.add)
    assert notice.arrived()
    assert other.arrived()
    assert notice.result().tolist() == [2.0] * 3
    assert notice.arrived()  # also once it was read
    assert notice.result() is notice.result()


def test_numbers_too_many_for_a_board_go_by_messages(monkeypatch: pytest.MonkeyPatch):
    ranks, begun = MpiRanks(Handle()), []  # type: ignore[arg-type]
    boards = Boards(Memory(1), 0, ranks.until)
    monkeypatch.setattr(Boards, "most", 64)
    monkeypatch.setattr(boards, "begin", lambda *given_: begun.append(given_) or Boards.begin(boards, *given_))
    for boards_of, size, on_boards in ((None, 8, 0), (boards, 8, 1), (boards, 9, 0)):
        ranks.boards = boards_of
        begun.clear()
        ranks.total(np.ones(size, np.int64))
        assert len(begun) == on_boards


class OneRank:
    """The communicator of a rank that has no other."""

    def Get_rank(self):  # noqa: N802 - as MPI has it
        return 0

    def Get_size(self):  # noqa: N802
        return 1

    def allgather(self, value):
        return [value]

    def allreduce(self, value):
        return value


def test_there_are_no_boards_where_the_system_has_no_memory_for_them(monkeypatch: pytest.MonkeyPatch):
    ranks = MpiRanks(OneRank())  # type: ignore[arg-type]
    ranks.boards = make_boards(ranks.handle, ranks.until)
    assert ranks.total(np.arange(3)).tolist() == [0, 1, 2]
    given_ = mmap.mmap

    def at_most_a_page(file, length, **others):
        if length > mmap.PAGESIZE:
            raise OSError("no memory")
        return given_(file, length, **others)

    monkeypatch.setattr(mmap, "mmap", at_most_a_page)
    assert make_boards(ranks.handle, ranks.until) is None
