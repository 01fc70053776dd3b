"""`airshed verify`: every check passes, and the report states it."""

import json

import pytest

from airshed.verify import checks
from airshed.verify.figure import Figure, observed_order

from .small import SMALL

HOLDS, MISSES = Figure("test", "holds", 0.5, 1.0), Figure("test", "misses", 2.0, 1.0)


@pytest.mark.thorough
@pytest.mark.parametrize("name", checks.checks())
def test_every_figure_keeps_its_threshold_and_has_a_reference(name):
    figures = checks.checks()[name]()
    assert not [figure for figure in figures if not figure.ok]
    assert not [figure for figure in figures if not figure.reference]


@pytest.mark.compiles
@pytest.mark.parametrize("name", SMALL)
def test_figures_of_small_size_keep_their_thresholds(name):
    assert not [figure for figure in SMALL[name]() if not figure.ok]


def test_a_figure_compares_with_its_limit_in_the_right_direction():
    assert HOLDS.ok
    assert not MISSES.ok
    assert Figure("test", "order", 2.0, 1.9, at_least=True).ok
    assert not Figure("test", "order", 1.8, 1.9, at_least=True).ok


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("at_least", [True, False])
def test_non_finite_figures_fail(value, at_least):
    assert not Figure("test", "figure", value, 1.0, at_least).ok


def test_the_order_of_an_error_is_its_power():
    assert observed_order(8.0 * 0.3, 0.3) == pytest.approx(3.0)


def test_the_report_lists_failures_first():
    report = checks.report([HOLDS, MISSES])
    assert not report.ok
    assert [row[1] for row in report.tables[0].rows] == ["misses", "holds"]
    assert "1 of 2" in str(report.facts["verdict"])
    assert checks.report([HOLDS]).ok


def test_the_report_is_json_with_numbers():
    (table,) = json.loads(json.dumps(checks.report([MISSES]).to_dict()))["tables"]
    assert table["rows"] == [
        {"test": "test", "figure": "misses", "value": 2.0, "threshold": "<= 1", "reference": "", "holds": False}
    ]


def test_a_run_reports_progress_and_collects_all_figures(monkeypatch):
    stand_ins = {"one": lambda: [HOLDS], "two": lambda: [HOLDS, MISSES]}
    monkeypatch.setattr(checks, "checks", lambda *, full: stand_ins)
    told = []
    report = checks.run(progress=told.append)
    assert told == ["one", "two"]
    assert len(report.tables[0].rows) == 3
    assert not report.ok
