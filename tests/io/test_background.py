"""Writer thread: in order, bounded, with its errors raised in the caller."""

import threading

import pytest

from airshed.core.errors import OutputError
from airshed.io.background import BackgroundWriter


def test_jobs_run_in_order():
    writer, done = BackgroundWriter(), []
    for number in range(50):
        writer.submit(lambda number=number: done.append(number))
    writer.wait()
    writer.close()
    assert done == list(range(50))


def test_a_full_queue_holds_the_caller_back():
    writer, gate, submitted = BackgroundWriter(capacity=2), threading.Event(), []

    def submit_all():
        for number in range(5):
            writer.submit(gate.wait)
            submitted.append(number)

    caller = threading.Thread(target=submit_all)
    caller.start()
    caller.join(0.2)
    assert caller.is_alive()
    assert len(submitted) <= 3  # one at work and two waiting
    gate.set()
    caller.join()
    writer.wait()
    writer.close()
    assert len(submitted) == 5


def test_the_first_error_stops_later_jobs_and_reaches_every_later_call():
    writer, done = BackgroundWriter(), []

    def fail():
        raise OutputError("the disk is full")

    writer.submit(fail)
    writer._jobs.append((lambda: done.append("after the error"), 0))
    for call in (writer.wait, lambda: writer.submit(done.clear), writer.wait):
        with pytest.raises(OutputError, match="the disk is full"):
            call()
    writer.close()
    assert done == []


def test_closing_finishes_what_waits():
    writer, done = BackgroundWriter(), []
    writer.submit(lambda: done.append(1))
    writer.close()
    writer.close()
    assert done == [1]
