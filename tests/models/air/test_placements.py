"""Predicted times of placements from trial steps, and the choice of the faster device."""

from pathlib import Path

import pytest
from tests.laws.cases import small_case

import airshed
from airshed.core.errors import CaseError, KernelError
from airshed.models.air import placements
from airshed.models.air.placements import device_trials, fastest, on_both, on_device, placement_report
from airshed.models.air.programs.step_times import StepTimes, device_table
from airshed.parallel.communicator import SingleRank
from airshed.program.integrators import strang
from airshed.runtime.registry import placement_report as report_of_any_model

SLOW = StepTimes({"transport+column": 3.0, "cells": 2.0}, 5.5, 300.0)
FAST = StepTimes({"transport+column": 0.5, "cells": 4.0}, 5.0, 300.0)


def without_gpu() -> str:
    raise KernelError("there is no NVIDIA driver")


def test_times_of_stages_are_split_into_transport_and_others() -> None:
    assert SLOW.split(strang()) == (3.0, 2.0)
    assert FAST.split(strang()) == (0.5, 4.0)
    assert SLOW.predicted == 5.0
    apart = StepTimes({"transport": 1.0, "column": 2.0, "cells": 4.0, "redistribute": 8.0}, 16.0, 300.0)
    assert apart.split(strang(split_columns=True)) == (1.0, 14.0)


def test_the_device_with_the_shorter_predicted_step_is_chosen() -> None:
    assert fastest({"cpu": SLOW, "cuda": FAST}) == "cuda"
    assert fastest({"cpu": FAST, "cuda": SLOW}) == "cpu"
    assert fastest({}) == "cpu"
    table = device_table({"cpu": SLOW, "cuda": FAST}, "cuda", 4.7)
    assert [list(row) for row in table.rows] == [["cpu", 5.0, None], ["cuda", 4.5, 4.7]]


def test_without_a_gpu_there_are_no_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: object) -> airshed.Case:
        raise AssertionError("built")

    monkeypatch.setattr(placements, "gpus", without_gpu)
    assert device_trials(small_case(tmp_path, run={"device": "auto"}), never, SingleRank()) == ({}, [])
    monkeypatch.setattr(placements, "gpus", lambda: "a card")
    with pytest.raises(AssertionError, match="built"):
        device_trials(small_case(tmp_path, run={"device": "auto"}), never, SingleRank())


def test_a_gpu_that_cannot_run_the_case_is_not_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(case: airshed.Case) -> str:
        if case.run.device == "cuda":
            raise KernelError("the case needs more than 90 GB")
        return case.run.device

    monkeypatch.setattr(placements, "_TRIALS", {})
    monkeypatch.setattr(placements, "gpus", lambda: ["a card"])
    monkeypatch.setattr(placements, "time_steps", lambda model: SLOW)
    case = small_case(tmp_path, run={"device": "auto"})
    for _ in range(2):  # the second time without further trials
        trials, (notice,) = device_trials(case, make, SingleRank())
        assert fastest(trials) == "cpu"
        assert "has chosen cpu, as a trial failed: the case needs more than 90 GB" in notice
        make = pytest.fail  # type: ignore[assignment]


def test_a_case_is_placed_on_a_device_or_on_both(tmp_path: Path) -> None:
    case = small_case(tmp_path, chemistry={"integrator": "strang"}, run={"device": "auto", "threads": 3})
    both = on_both(case)
    assert (both.device_of("transport"), both.device_of("chemistry")) == ("cpu", "cuda")
    assert both.has_groups
    alone = on_device(both, "cuda")
    assert (alone.run.device, alone.run.threads, alone.has_groups) == ("cuda", 3, False)
    assert alone.device_of("transport") == alone.device_of("chemistry") == "cuda"


def test_placements_without_a_gpu_are_those_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placements, "gpus", without_gpu)
    (table,) = placement_report(airshed.load_case("tracer-rotation")).tables
    ((placement, transport, others, moves, predicted, measured),) = table.rows
    assert (placement, moves) == ("all on cpu", None)
    assert 0.0 < transport + others == predicted <= measured
    assert "predicted to be fastest: all on cpu" in table.note
    assert table.note.endswith("not on both: there is no GPU")


def test_a_model_without_devices_has_no_placements() -> None:
    with pytest.raises(CaseError, match="pasture runs on the CPU only"):
        report_of_any_model(airshed.load_case("queensland"))
