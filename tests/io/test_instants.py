"""Input read ahead: the instants that are held, the time and rank of reading, and the lock around the library."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import DataError
from airshed.io.hdf5 import hdf5
from airshed.io.timeline import Fields, Instants, together
from airshed.parallel.communicator import SingleRank


class Reader:
    """Reader of instants that records its requests; one instant cannot be read."""

    def __init__(self, bad: int | None = None) -> None:
        self.asked: list[tuple[int, bool]] = []
        self._bad, self._main = bad, threading.get_ident()

    def __call__(self, index: int) -> Fields:
        self.asked.append((index, threading.get_ident() == self._main))
        if index == self._bad:
            raise DataError(f"hour {index} is cut; copy it again")
        return {"u": np.full(3, float(index))}


class Second(SingleRank):
    """Second of two ranks, with prescribed messages of the first."""

    rank, size = 1, 2

    def __init__(self, sent: list[Any], told: list[Any]) -> None:
        self._sent, self._told = sent, told

    def largest(self, values: Any) -> Any:
        return np.maximum(values, float(any(self._told)))

    def gather_all(self, value: Any) -> list[Any]:
        return [*self._told, value]

    def scatter(self, values: Any) -> Any:
        assert values is None
        return self._sent.pop(0)


def test_the_thread_reads_one_instant_ahead_and_few_are_held() -> None:
    reader = Reader()
    instants = Instants(100, reader, SingleRank())
    for first in range(98):
        instants.take([first, first + 1, first + 2])
        assert [float(instants(index)["u"][0]) for index in range(first, first + 3)] == [first, first + 1, first + 2]
        assert len(instants._held) == 3
    instants.close()
    assert [index for index, _ in reader.asked] == list(range(100))  # each once
    assert [index for index, here in reader.asked if here] == [0, 1, 2]  # not predictable


def test_backwards_the_thread_reads_the_instant_before() -> None:
    reader = Reader()
    instants = Instants(100, reader, SingleRank())
    for first in reversed(range(98)):
        instants.take([first, first + 1, first + 2])
        assert [float(instants(index)["u"][0]) for index in range(first, first + 3)] == [first, first + 1, first + 2]
        assert len(instants._held) == 3
    instants.close()
    assert [index for index, _ in reader.asked] == [97, 98, 99, *reversed(range(97))]  # each once
    assert [index for index, here in reader.asked if here] == [97, 98, 99, 96]  # before the direction is known


def test_what_is_not_held_is_read_at_once_and_once() -> None:
    reader = Reader()
    instants = Instants(5, reader, SingleRank())
    assert instants(4)["u"][0] == instants(4)["u"][1] == 4.0
    assert reader.asked == [(4, True)]


def test_what_goes_wrong_on_the_thread_is_raised_where_the_instant_is_taken() -> None:
    instants = Instants(9, Reader(bad=3), SingleRank())
    instants.take([0, 1, 2])
    with pytest.raises(DataError, match="hour 3 is cut"):
        instants.take([1, 2, 3])
    instants.close()


def test_a_rank_that_others_read_for_has_what_was_sent_and_no_more() -> None:
    instants = Instants(9, None, Second([{"u": np.zeros(1)}, {"u": np.ones(1)}], [None]), sends=True)
    instants.take([0, 1])
    assert instants(1)["u"][0] == 1.0
    with pytest.raises(DataError, match=r'instant 2 of the weather is not available.*parallel\.input = "parallel"'):
        instants(2)


def test_the_error_of_another_rank_is_raised_here() -> None:
    instants = Instants(9, None, Second([], [DataError("hour 1 is cut")]), sends=True)
    with pytest.raises(DataError, match="hour 1 is cut"):
        instants.take([1])
    with together(Second([], [None])):
        pass
    with pytest.raises(ValueError, match="strange"), together(Second([], [None])):
        raise ValueError("strange")


def most_at_once(library: Callable[[], AbstractContextManager[None]]) -> int:
    """Return how many of several threads are in the library at the same time."""
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with library(), library():
                inside += 1
                most = max(most, inside)
                time.sleep(1e-4)  # lets another thread run
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return most


def test_one_thread_is_in_the_library_and_may_come_again() -> None:
    assert most_at_once(hdf5) == 1
    assert most_at_once(nullcontext) > 1  # the negative control


@pytest.mark.filterwarnings("ignore:.*fork")  # of Python, and of JAX if another test has imported it
def test_no_child_is_born_while_another_thread_is_in_the_library() -> None:
    entered, leave = threading.Event(), threading.Event()

    def read() -> None:
        with hdf5():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=read)
    thread.start()
    entered.wait()
    threading.Timer(0.05, leave.set).start()
    child = os.fork()
    if child == 0:
        with hdf5():  # would wait forever for the missing thread
            os._exit(0 if leave.is_set() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
