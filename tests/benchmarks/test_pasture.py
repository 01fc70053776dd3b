"""The pasture benchmark: its worker measures a real run, and the figures of its report are checked by hand."""

from pathlib import Path

import pytest
from benchmarks.pasture import CENTURY, worker
from benchmarks.pasture.report import report

from airshed.parallel.communicator import SingleRank

QUEENSLAND = {"year": [0.5, 0.75, 9.0], "compute": [0.25, 0.125, 0.5], "written": [3.0], "cells": 1000, "stored": 2e6}
AUSTRALIA = {
    "cells": 2000, "blocks": [[3.0, 0], [2.0, 64], [0.5, 64], [1.5, 36]], "parts": {"weather": 1.0, "cells": 3.0},
    "memory": 1.5, "sane": True,
}  # fmt: skip


def test_figures_are_medians_and_a_century_is_extrapolated_from_later_batches() -> None:
    found = report(QUEENSLAND, AUSTRALIA, 10.0)
    assert found.facts["queensland_year_s"] == 0.75
    assert found.facts["queensland_compute_s"] == 0.25
    assert found.facts["queensland_written_s"] == 3.0
    assert found.facts["australia_century_s"] == 3.0 + 2.0 + 0.02 * (CENTURY - 64)
    assert found.facts["australia_memory_gb"] == 1.5
    assert found.facts["australia_share_waiting_for_weather"] == 0.25
    assert found.facts["australia_days_run"] == 164
    assert "extrapolated from 164 days" in found.tables[0].note
    cells, year, *_ = found.tables[0].rows
    assert cells[2] == pytest.approx(1.46), "365 000 cell-days in a quarter of a second"
    assert year[4] == pytest.approx(365e3 * (8.0 + 40.0 / 7.0 + 72.0) / 0.75 / 1e9)


def test_a_whole_century_is_no_extrapolation() -> None:
    whole = {**AUSTRALIA, "blocks": [[3.0, 0], [2.0, 64], [500.0, CENTURY - 64]]}
    found = report(QUEENSLAND, whole, 10.0)
    assert found.facts["australia_century_s"] == 505.0
    assert found.tables[0].note == "medians of whole runs"


def test_a_coarse_australia_runs_through_all_its_days() -> None:
    found = worker.australia({"days": 150, "spacing": 2.0}, SingleRank())
    assert found["blocks"][0][1] == 0
    assert sum(days for _, days in found["blocks"]) == 150
    assert found["sane"]
    assert 100 < found["cells"] < 300
    assert found["memory"] > 0.05


@pytest.mark.thorough
def test_queensland_is_run_with_and_without_files(tmp_path: Path) -> None:
    found = worker.queensland({"rounds": 1, "folder": str(tmp_path)}, SingleRank())
    assert found["cells"] == 15219
    assert 0.0 < found["compute"][0] < found["year"][0]
    with_files = tmp_path / "0"
    assert any(with_files.glob("*.nc")), sorted(each.name for each in with_files.iterdir())
