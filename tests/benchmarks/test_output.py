"""The cost of output is measured by pairs of whole runs, also where runs differ by more than the cost."""

import numpy as np
import pytest
from benchmarks.output import Spent

import airshed
from airshed.core.errors import CaseError
from benchmarks import output as bench_output

CASE = airshed.Case.load("tracer-rotation")


def pair(run, added):
    return Spent(run, run - 1.0, 2.0 * run, 0.0), Spent(run + added, run + added - 0.8, 2.0 * run + 0.1, 0.02)


def rows(pairs):
    table = bench_output.report(CASE, 8.0, pairs).tables[0]
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


def test_the_median_difference_has_an_interval():
    found = rows([pair(3.0, added) for added in (0.0, 0.05, 0.1, 0.1, 0.1, 0.1, 0.2, 0.9)])
    wall = found["wall time"]
    assert (wall["without [s]"], wall["added [s]"]) == pytest.approx((3.0, 0.1))
    assert (wall["added [%]"], wall["at least [%]"], wall["at most [%]"]) == pytest.approx((10 / 3, 0.0, 30.0))
    assert found["wall time after the first step"]["added [s]"] == pytest.approx(0.3)
    assert found["processor time"]["added [%]"] == pytest.approx(100 * 0.1 / 6.0)
    assert found["by the clock inside"]["added [s]"] == pytest.approx(0.02)


@pytest.mark.parametrize("cost", [0.0, 0.12])
def test_a_cost_is_found_in_runs_that_differ_by_more(cost):
    """The control is output without cost."""
    random = np.random.default_rng(2)
    pairs = [pair(speed, cost + random.normal(0.0, 0.05)) for speed in random.uniform(3.0, 4.5, 16)]
    wall = rows(pairs)["wall time"]
    assert wall["at least [s]"] <= cost <= wall["at most [s]"]
    assert (wall["at least [s]"] > 0.0) == (cost > 0.0)


def test_too_few_pairs_have_no_interval():
    table = bench_output.report(CASE, 8.0, [pair(3.0, 0.1)] * 5).tables[0]
    assert [row[3] for row in table.rows] == [None] * 4
    assert "With 5 pairs there is no interval; it needs 6 at least" in table.note


def test_runs_are_made_in_turn_and_leave_nothing(tmp_path):
    messages = []
    report = bench_output.run("tracer-rotation", 0.5, 1, tmp_path, messages.append)
    assert messages == ["a pair that is not counted", "pair 1 of 1"]
    assert report.facts["outputs"] == "output: all fields every 1 h"
    inside = report.tables[0].rows[-1]
    assert inside[2] > 0.0
    assert not list(tmp_path.iterdir())


def test_a_case_without_output_is_refused(tmp_path):
    text = (CASE.base / "case.toml").read_text(encoding="utf-8")
    (tmp_path / "case.toml").write_text("output = []\n" + text[: text.index("[[output]]")], encoding="utf-8")
    with pytest.raises(CaseError, match=r"has no \[\[output\]\]"):
        bench_output.run(tmp_path, 0.5, 1)
