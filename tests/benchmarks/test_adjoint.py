"""Ratios of gradients are medians of rounds, and the report has the names that programs read."""

import json

from benchmarks.adjoint import Ratios, Whole
from benchmarks.random_air import random_air
from tests.kernels.conftest import TOY, toy_of_all_kinds
from tests.laws.cases import small_case

import airshed
from airshed.inverse.verify.recording import random_cost, record_case
from airshed.inverse.verify.replay import Replay
from benchmarks import adjoint as bench_adjoint

CASE = airshed.Case.load("tracer-rotation", ['grid.spacing="2 deg"', 'time.length="1 h"'])


def test_the_report_has_the_names_that_programs_read():
    report = bench_adjoint.report(
        Whole([2.0, 4.0, 1.0], [8.0, 12.0, 9.0], 1.5), {"emep": Ratios(2.5, 3.0), "ts1": None}, {}, 1.7, 24
    )
    found = json.loads(json.dumps(report.to_dict()))
    assert found["reverse_over_forward"] == {"emep": 2.5, "ts1": None}
    assert found["reverse_of_all_over_forward"] == {"emep": 3.0, "ts1": None}
    assert found["gradient_over_run"] == 4.0
    assert found["gradient_memory_gb"] == 1.5
    assert found["reverse_two_threads_over_one"] == 1.7
    assert "not measured" in found["facts"]["ts1"]


def test_steps_alternate_and_the_first_round_is_not_counted(monkeypatch):
    times = iter([1.0, 100.0, 100.0, 2.0, 6.0, 8.0, 1.0, 2.0, 3.0, 1.0, 4.0, 5.0])
    monkeypatch.setattr(bench_adjoint, "_timed", lambda work: next(times))
    assert bench_adjoint.reverse_over_forward(record_case(CASE, steps=1)[0], 3) == Ratios(3.0, 4.0)


def test_the_measurement_is_of_a_run_and_its_gradient(tmp_path):
    found = bench_adjoint.measure_whole(small_case(tmp_path, time={"length": "30 min"}), rounds=2)
    assert len(found.runs) == len(found.gradients) == 2
    assert min(*found.runs, *found.gradients, found.memory) > 0.0


def test_steps_in_air_at_random_can_be_reversed(monkeypatch):
    monkeypatch.setattr("benchmarks.random_air.compile_mechanism", lambda *given: toy_of_all_kinds())
    run = random_air(str(TOY), 2, (7, 4, 8))
    replay = Replay(run, random_cost(run, 0))
    adjoint = replay.backward()
    assert adjoint.initial is not None
    assert abs(adjoint.initial).max() > 0.0
    replay.repeat()
    replay.close()
