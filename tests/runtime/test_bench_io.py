"""The experiment with output: every kind of run is measured, and a slow disk is hidden behind the computation."""

import pytest

from airshed.core.errors import CaseError
from airshed.runtime import bench_io
from airshed.runtime.bench_io.report import hidden


def spent(*seconds):
    return [bench_io.Spent(each, 0.0) for each in seconds]


def measured(sync, behind):
    runs = {"compute alone": spent(4.0), "with input": spent(4.5), "files:sync": spent(sync), "files:async": behind}
    return bench_io.Measured(bench_io.Experiment(), 2, runs)


@pytest.mark.parametrize(
    ("sync", "behind", "share"),
    [(6.5, 5.0, 100.0), (6.5, 5.75, 50.0), (6.5, 6.5, 0.0), (12.5, 9.5, 100.0), (12.5, 11.0, 50.0)],
)
def test_what_could_be_hidden_is_the_smaller_of_compute_and_writing(sync, behind, share):
    """In three of four steps: the first compute and the last writing have nothing beside them."""
    assert hidden(measured(sync, spent(behind)), "files:async") == pytest.approx(share)
    assert hidden(measured(sync, spent(behind)), "files:sync") is None


def test_the_table_subtracts_computing_alone():
    table = bench_io.report(measured(6.5, spent(5.0, 7.0))).tables[0]
    row = dict(zip(table.columns, table.rows[-1], strict=True))
    assert (row["I/O min [s]"], row["I/O avg [s]"], row["I/O max [s]"]) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("text", ["", "64", "64x64", "0x4x4", "axbxc", "4x4x4x4"])
def test_a_grid_that_is_none_is_refused(text):
    with pytest.raises(CaseError, match="is no grid"):
        bench_io.grid_of(text)


def test_all_kinds_of_runs_are_measured():
    asked = bench_io.Experiment(("files",), (16, 8, 2), steps=2, compute=0.0, repeats=2)
    found = bench_io.run(asked, ranks=2)
    assert list(found.runs) == ["compute alone", "with input", "files:sync", "files:async"]
    assert all(len(runs) == 2 for runs in found.runs.values())
    assert asked.bytes == 66 * 16 * 8 * 2 * 4


def test_a_strategy_that_is_none_is_named():
    with pytest.raises(CaseError, match=r"strategy 'fils' cannot be measured: take one of gather"):
        bench_io.run(bench_io.Experiment(("fils",)))
