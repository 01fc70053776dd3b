"""The measurement of the CUDA backend through the shim: its parts, its time limits, and detected differences."""

import json
import sys
from pathlib import Path

import pytest
from validation.cuda import chemistry, measure, parts

from airshed.kernels.backends.cuda.device import Shim
from airshed.kernels.step.trial import compiled_step, difference, random_trial, reference_step

SLEEPS = sys.executable, "-c", "import time; print('{\"begun\": 1}', flush=True); time.sleep(60)"


def results(folder: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads((folder / "measure.json").read_text())["parts"]
    return found


@pytest.mark.standard
def test_parts_run_through_the_shim(tmp_path: Path) -> None:
    chosen = [part for part in measure.PARTS if part.name in ("facts", "step", "memcheck")]
    assert measure.measure(tmp_path, chosen, shim=True)
    found = results(tmp_path)
    assert "shim" in found["facts"]["results"][0]["card"]  # type: ignore[index]
    assert [row.get("place") for row in found["step"]["results"]] == ["device", "core", None]  # type: ignore[attr-defined]
    assert "not installed" in str(found["memcheck"].get("skipped", "not installed"))


def test_a_part_over_its_limit_ends_and_the_others_go_on(tmp_path: Path) -> None:
    slow, next_one = measure.Part("slow", 1.0, "facts", SLEEPS), measure.Part("facts", 60.0, "facts")
    assert not measure.measure(tmp_path, [slow, next_one], shim=True)
    found = results(tmp_path)
    assert found["slow"]["error"] == "stopped after 1 s"
    assert found["slow"]["results"] == [{"begun": 1}]
    assert "error" not in found["facts"]


def test_a_part_that_fails_reports_its_message(tmp_path: Path) -> None:
    part = measure.Part("wrong", 60.0, "facts", (sys.executable, "-c", "raise SystemExit('results differ by 1')"))
    assert not measure.measure(tmp_path, [part], shim=True)
    assert results(tmp_path)["wrong"]["error"] == "results differ by 1"


@pytest.mark.parametrize("found", [1e-3, float("nan")])
def test_results_that_differ_end_a_part(found: float) -> None:
    with pytest.raises(SystemExit, match="results differ by"):
        parts.assert_small(found, 1e-4)
    parts.assert_small(1e-5, 1e-4)


def test_copies_of_an_area_are_a_valid_trial() -> None:
    kernel = parts.kernel_of("core", parts.TOY, 7, "double")
    trial = parts.tiled(random_trial(kernel, (3, 5), parts.WEIGHTS), 3)
    assert trial.fields.q.shape == (5, 7, 9, 15)
    assert difference(compiled_step(kernel, trial), reference_step(trial), parts.WEIGHTS.g) < 1e-13


@pytest.mark.thorough
def test_cells_are_compared_with_the_cpu() -> None:
    found = chemistry.compare("emep", 40, 2, "double", device=Shim())
    assert 0.0 < found["difference"] < 1e-9
    assert found["accepted steps"]["device"] == found["accepted steps"]["core"] > 1.0
    assert min(found["device [s]"], found["core [s]"], found["first interval [s]"]) > 0.0
