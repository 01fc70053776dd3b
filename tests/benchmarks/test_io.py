"""The output benchmark: all kinds of runs are measured, and the hidden share of writing is reported."""

import json
import time
from itertools import product
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.io import experiment
from benchmarks.io.load import Load
from benchmarks.io.picture import save_strategies

from airshed.core.errors import CaseError
from airshed.io.output import OutputWriter
from airshed.io.results import open_run
from airshed.parallel.communicator import SingleRank
from benchmarks import io as bench_io

STEPS = 4


def sync(compute, write):
    """Return a run that computes, and waits for each record."""
    return bench_io.RunTimes([compute] * STEPS, [write] * STEPS)


def behind(compute, write, *, hands_over=0.0, slowed=0.0):
    """Return a run with a perfect writer: writing that does not overlap with computing is waited for at the end."""
    end = ready = 0.0
    for step in range(STEPS):
        end += compute + (slowed if step else 0.0) + hands_over
        ready = max(end, ready) + write
    computed = [compute] + [compute + slowed] * (STEPS - 1)
    return bench_io.RunTimes(computed, [hands_over] * STEPS, ready - end)


def measured(synchronous, asynchronous, alone=4.0):
    runs = {
        "compute alone": [bench_io.RunTimes([alone / STEPS] * STEPS)] * len(synchronous),
        "with input": [bench_io.RunTimes([alone / STEPS] * STEPS)] * len(synchronous),
        "files:sync": synchronous,
        "files:async": asynchronous,
    }
    return bench_io.OutputMeasurements(bench_io.Experiment(("files",), steps=STEPS, repeats=len(synchronous)), 2, runs)


def found(synchronous, asynchronous):
    return bench_io.overlap(measured([synchronous], [asynchronous]), "files")


@pytest.mark.parametrize(("compute", "write"), [(1.0, 0.4), (1.0, 1.0), (0.5, 1.5)])
def test_a_writer_without_slowing_hides_the_greatest_possible_share(compute, write):
    """This holds in three of four steps: the first computation and the last writing overlap with nothing."""
    share = found(sync(compute, write), behind(compute, write))
    assert share.hidden.median == pytest.approx(1.0)
    assert share.possible == pytest.approx((STEPS - 1) * min(compute, write))


@pytest.mark.parametrize(
    ("asynchronous", "hidden", "unwaited"),
    [
        (sync(1.0, 0.4), 0.0, 0.0),  # it waits for all of the writing
        (behind(1.0, 0.4, hands_over=0.1), 2 / 3, 2 / 3),
        (behind(1.0, 0.4, slowed=0.1), 0.75, 1.0),
        (behind(1.0, 0.4, slowed=0.4), 0.0, 1.0),  # writing slows the computation by its own time
        (behind(1.0, 0.4, hands_over=0.4, slowed=0.4), -4 / 3, -1 / 3),
    ],
)
def test_waiting_and_slowing_are_not_hidden(asynchronous, hidden, unwaited):
    share = found(sync(1.0, 0.4), asynchronous)
    assert (share.hidden.median, share.unwaited.median) == pytest.approx((hidden, unwaited))


def test_the_share_is_the_gain_of_the_run():
    one, other = sync(1.0, 0.4), behind(1.0, 0.4, hands_over=0.05, slowed=0.03)
    share = found(one, other)
    assert share.hidden.median == pytest.approx((one.steps - other.steps) / share.possible)


def test_one_disturbed_step_and_one_disturbed_pair_do_not_count():
    quiet, disturbed = behind(1.0, 0.4), behind(1.0, 0.4)
    disturbed = bench_io.RunTimes([1.0, 6.0, 1.0, 1.0], disturbed.waited, disturbed.drained)
    ruined = bench_io.RunTimes([9.0] * STEPS, [3.0] * STEPS)
    pairs = [quiet, disturbed, quiet, quiet, ruined, quiet, quiet, quiet, quiet, quiet]
    share = bench_io.overlap(measured([sync(1.0, 0.4)] * len(pairs), pairs), "files")
    assert share.hidden.median == pytest.approx(1.0)
    assert share.hidden.low == pytest.approx(1.0)


@pytest.mark.parametrize("share", [0.0, 0.8])
def test_the_share_is_found_for_runs_that_vary_by_more_than_the_writing_time(share):
    """The control is a writer that hides nothing: it slows the computation by the time of writing."""
    random = np.random.default_rng(5)
    ones, others = [], []
    for speed in random.uniform(1.0, 1.5, 24):
        noise = random.normal(0.0, 0.02, (2, STEPS))
        slowed = np.where(np.arange(STEPS) > 0, (1.0 - share) * 0.1, 0.0)
        ones.append(bench_io.RunTimes(speed + noise[0], [0.1] * STEPS))
        others.append(bench_io.RunTimes(speed + noise[1] + slowed, [0.0] * STEPS, 0.1))
    hidden = bench_io.overlap(measured(ones, others), "files").hidden
    assert hidden.low <= share <= hidden.high
    assert hidden.median == pytest.approx(share, abs=0.1)
    assert hidden.high - hidden.low < 0.4


def test_nothing_is_reported_without_possible_overlap():
    assert bench_io.overlap(measured([sync(0.0, 0.4)], [behind(0.0, 0.4)]), "files") is None


def test_the_interval_of_the_median_has_its_coverage():
    assert bench_io.median_of([1.0, 2.0, 3.0, 4.0, 5.0]) == bench_io.Median(3.0, None, None)
    assert bench_io.median_of([6.0, 1.0, 5.0, 2.0, 4.0, 3.0]) == bench_io.Median(3.5, 1.0, 6.0)
    for count in range(6, 14):
        found = bench_io.median_of(list(map(float, range(count))))
        cut = int(found.low)
        outside = 2 * sum(comb(count, below) for below in range(cut + 1)) / 2**count
        assert outside <= 0.05 < outside + 2 * comb(count, cut + 1) / 2**count
        assert found.high == count - 1 - cut
    sides = list(product((-1.0, 1.0), repeat=8))  # all samples, by their side of the median
    held = sum(bench_io.median_of(each).low < 0.0 < bench_io.median_of(each).high for each in sides)
    assert 0.95 <= held / len(sides) < 1.0


def test_the_tables_have_the_wall_times_and_the_shares():
    slow = behind(1.0, 0.4, hands_over=0.1, slowed=0.1)
    runs = measured([sync(1.0, 0.5)] * 6, [behind(1.0, 0.5)] * 5 + [slow])
    walls, shares = bench_io.report(runs).tables
    row = dict(zip(walls.columns, walls.rows[-2], strict=True))
    assert (row["strategy"], row["I/O min [s]"], row["I/O max [s]"]) == ("files:sync", 2.0, 2.0)
    (row,) = (dict(zip(shares.columns, each, strict=True)) for each in shares.rows)
    assert (row["strategy"], row["writing [s]"], row["could be hidden [s]"]) == ("files", 2.0, 1.5)
    assert row["hidden [%]"] == row["at most [%]"] == pytest.approx(100.0)
    assert row["at least [%]"] == pytest.approx(100.0 * (2.0 - 0.8 - 0.3) / 1.5)


def test_the_report_is_json():
    document = json.loads(json.dumps(bench_io.report(measured([sync(1.0, 0.5)] * 2, [behind(1.0, 0.5)] * 2)).to_dict()))
    (row,) = document["tables"][1]["rows"]
    assert (row["strategy"], row["could be hidden [s]"]) == ("files", pytest.approx(1.5))


@pytest.mark.parametrize(("pairs", "reported"), [(bench_io.FEWEST - 1, False), (bench_io.FEWEST, True)])
def test_a_share_is_reported_only_with_its_interval(pairs, reported):
    """Fewer runs are refused with a message: their result can be far outside 0 to 100 %."""
    table = bench_io.report(measured([sync(1.0, 0.5)] * pairs, [behind(1.0, 0.5)] * pairs)).tables[1]
    (row,) = table.rows
    assert [value is not None for value in row[-4:]] == [reported] * 4
    assert ("an interval needs 6 at least (--repeats 6)" in table.note) == (not reported)


def test_the_picture_is_a_png(tmp_path):
    found = measured([sync(1.0, 0.5)] * 2, [behind(1.0, 0.5)] * 2)
    assert save_strategies(found, tmp_path / "io.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["", "64", "64x64", "0x4x4", "axbxc", "4x4x4x4"])
def test_an_invalid_grid_is_refused(text):
    with pytest.raises(CaseError, match="is not a grid"):
        bench_io.grid_of(text)


def test_all_kinds_of_runs_are_measured():
    settings = bench_io.Experiment(("files",), (16, 8, 2), steps=2, compute=0.0, repeats=2)
    found = bench_io.run(settings, ranks=2)
    assert list(found.runs) == ["compute alone", "with input", "files:sync", "files:async"]
    assert all(len(runs) == 2 and len(run.computed) == 2 for runs in found.runs.values() for run in runs)
    assert [len(run.waited) for run in found.runs["files:async"]] == [2, 2]
    assert not any(run.waited or run.drained or run.final for run in found.runs["with input"])
    assert settings.bytes == 66 * 16 * 8 * 2 * 4


@pytest.fixture
def slow_copies(monkeypatch):
    fill = OutputWriter._fill

    def slow(writer, block, given):
        for each in given:
            time.sleep(3e-4)
            fill(writer, block, [each])

    monkeypatch.setattr(OutputWriter, "_fill", slow)


def records_of_a_run(folder, monkeypatch, strategy):
    monkeypatch.setattr(experiment, "shutil", SimpleNamespace(rmtree=lambda path: None))
    settings = bench_io.Experiment((strategy,), (16, 8, 2), steps=8, compute=0.0)
    experiment._Bench(settings, SingleRank(), folder).run(strategy, settings.steps)
    with open_run(folder / "run") as result:
        return np.stack([result[name].values for name in result.data_vars if name.startswith("S")])


@pytest.mark.parametrize("strategy", ["gather:async", "gather:sync"])
def test_each_record_is_the_state_of_its_step(tmp_path, monkeypatch, slow_copies, strategy):
    records = records_of_a_run(tmp_path, monkeypatch, strategy)
    assert records.shape == (66, 8, 2, 8, 16)
    assert np.all(np.diff(records, axis=1) == 1.0)


def test_computing_that_does_not_wait_for_copies_tears_records(tmp_path, monkeypatch, slow_copies):
    """Negative control of the test above: the state is overwritten like that of the model."""
    monkeypatch.setattr(experiment.PendingCopies, "release", lambda pending, steps: None)
    assert not np.all(np.diff(records_of_a_run(tmp_path, monkeypatch, "gather:async"), axis=1) == 1.0)


def test_the_load_computes_for_the_requested_time():
    load = Load(["A", "B", "C"], (2, 3, 4), 0.05, 0)
    assert load._calls == 3
    assert load._turns > 0
    before = {name: values.copy() for name, values in load.newest.items()}
    held = dict(load.newest)
    load.step()
    assert all(np.array_equal(load.newest[name], before[name] + 1.0) for name in before)
    assert all(np.array_equal(held[name], before[name]) for name in before)  # one step suffices
    load.step()
    assert not any(np.array_equal(held[name], before[name]) for name in before)


def test_an_unknown_strategy_is_named():
    with pytest.raises(CaseError, match=r"strategy 'fils' cannot be measured: choose from gather"):
        bench_io.run(bench_io.Experiment(("fils",)))
