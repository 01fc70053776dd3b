"""Fields of a model are copied before they change, by the writer thread or else by the model's thread."""

import threading
import time

import numpy as np
import pytest

from airshed.core.errors import DataError
from airshed.io.background import BackgroundWriter, Copy, PendingCopies
from airshed.io.results import open_run

RECORDS = 12


class Slow:
    """View with slow copies, level by level, so that a simultaneous change is visible."""

    def __init__(self, field, pause=2e-3):
        self.field, self.pause, self.shape = field, pause, field.shape

    def copy_to(self, target, levels):
        for number, level in enumerate(self.field[levels]):
            target[number] = level
            time.sleep(self.pause)


def run_levels(run, *, ensures=True, lasting=1):
    """Write two alternating time levels, each as early as possible; return the content of the records."""
    newest, other = (np.zeros((3, 4, 2)) for _ in range(2))
    pending = []
    with run.folder:
        for step in range(RECORDS):
            newest[...] = step
            copy = run.writer.write(3600.0 * step, {"O3": Slow(newest)}, lasting=True)
            pending.append((step + lasting, copy))
            while ensures and pending and pending[0][0] <= step:
                run.writer.ensure(pending.pop(0)[1])
            newest, other = other, newest
        run.writer.finish()
        run.folder.finish()
    with open_run(run.path) as result:
        return result["O3"].values


def expected():
    return np.broadcast_to(np.arange(RECORDS, dtype=np.float32)[:, None, None, None], (RECORDS, 3, 4, 2))


@pytest.mark.parametrize("strategy", ["gather:async", "gather:sync", "files:async"])
def test_no_record_is_torn_by_a_model_that_goes_on_as_soon_as_it_may(tmp_path, start_run, strategy):
    found = run_levels(start_run(tmp_path / "run", fields=["O3"], strategy=strategy))
    assert np.array_equal(found, expected())


@pytest.mark.parametrize("wrong", [{"ensures": False}, {"lasting": 2}])
def test_a_model_that_does_not_wait_or_waits_a_step_too_late_tears_records(tmp_path, start_run, wrong):
    """Negative control of the test above."""
    assert not np.array_equal(run_levels(start_run(tmp_path / "run", fields=["O3"]), **wrong), expected())


def test_the_computation_makes_the_copy_where_the_thread_has_not_come_to_it(tmp_path, start_run):
    run, gate, field = start_run(tmp_path / "run", fields=["O3"]), threading.Event(), np.ones((3, 4, 2))
    with run.folder:
        run.folder.submit(gate.wait, 0, asynchronous=True)
        copy = run.writer.write(0.0, {"O3": field}, lasting=True)
        before = run.folder.writer.traffic
        run.writer.ensure(copy)
        after = run.folder.writer.traffic
        assert 0.0 < after.waited - before.waited == pytest.approx(after.written - before.written)
        field[...] = 7.0
        gate.set()
        run.writer.finish()
        run.folder.finish()
    with open_run(tmp_path / "run") as result:
        assert np.all(result["O3"] == 1.0)


def test_a_copy_is_made_once_and_forgets_its_original():
    made, threads = [], []
    copy = Copy(lambda: (time.sleep(0.01), made.append(1)))
    threads = [threading.Thread(target=copy.ensure) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert not copy.ensure()
    assert copy._make is None


def test_steps_are_free_until_what_is_lent_first_must_be_copied():
    pending, made = PendingCopies(), []
    assert pending.steps_free(0, 8) == 8
    for until in (3, 3, 5):
        pending.add(until, lambda until=until: made.append(until))
    assert [pending.steps_free(steps, 8) for steps in (0, 1, 2)] == [3, 2, 1]
    assert pending.steps_free(0, 2) == 2
    pending.release(2)
    assert made == []
    pending.release(3)
    assert made == [3, 3]
    assert pending.steps_free(3, 8) == 2
    pending.release(5)
    assert pending.steps_free(5, 8) == 8


def test_waiting_for_a_copy_that_another_makes_is_no_writing():
    writer, begun = BackgroundWriter(), threading.Event()
    copy = Copy(lambda: (begun.set(), time.sleep(0.01)))
    other = threading.Thread(target=copy.ensure)
    other.start()
    begun.wait()
    writer.ensure(copy)
    other.join()
    writer.close()
    assert writer.traffic.waited > 0.0 == writer.traffic.written


def test_what_goes_wrong_with_a_copy_reaches_the_run(tmp_path, start_run):
    class Broken(Slow):
        def copy_to(self, target, levels):
            raise DataError("the view is broken")

    run = start_run(tmp_path / "run", fields=["O3"])
    with run.folder:
        copy = run.writer.write(0.0, {"O3": Broken(np.ones((3, 4, 2)))}, lasting=True)
        for call in (run.folder.wait, lambda: run.writer.ensure(copy), run.writer.finish):
            with pytest.raises(DataError, match="the view is broken"):
                call()


def test_a_view_of_another_shape_is_refused_at_once(tmp_path, start_run):
    run = start_run(tmp_path / "run", fields=["O3"])
    with run.folder, pytest.raises(DataError, match="O3 must have the shape"):
        run.writer.write(0.0, {"O3": Slow(np.ones((3, 4, 1)))}, lasting=True)


def test_a_record_is_copied_in_the_form_in_which_the_file_has_it(tmp_path, start_run, values):
    """The writer thread needs no second pass."""
    run = start_run(tmp_path / "run")
    with run.folder:
        record = run.writer._new()
        content = run.writer._store._content(5.0, record)
        assert np.shares_memory(content, record["O3"])
        assert record["O3"].dtype == np.dtype(">f4")
        assert content[:8].view(">f8")[0] == 5.0
