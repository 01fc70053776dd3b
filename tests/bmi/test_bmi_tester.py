"""The BMI tester of CSDMS finds no error in components."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import MODELS

pytestmark = pytest.mark.skipif(importlib.util.find_spec("bmi_tester") is None, reason="bmi-tester is not installed")

POINTS = "-k not(test_get_grid_type) and not(test_grid_x) and not(test_grid_y)"
"""The tester lacks the grid type "points" of the standard, and its coordinates."""


def run_tester(component: str, file: Path, options: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bmi_tester", component, "--root-dir", file.parent, "--config-file", file]
    path = os.pathsep.join([str(MODELS), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": f"-p no:cacheprovider '{options}'"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("component", "model", "options"),
    [
        ("airshed.bmi:Air", "air", ""),
        ("components:Lorenz", "lorenz", ""),
        ("components:Bucket", "bucket", ""),
        ("components:Row", "row", POINTS),
        ("airshed.bmi:Pasture", "pasture", POINTS),
    ],
)
def test_it_finds_nothing_wrong(case: Callable[[str], Path], component: str, model: str, options: str) -> None:
    answer = run_tester(component, case(model), options)
    assert answer.returncode == 0, answer.stdout
    assert "All tests passed" in answer.stderr
    assert answer.stdout.count(" passed") == 4, "all its stages ran"


def test_it_finds_an_error(case: Callable[[str], Path]) -> None:
    answer = run_tester("components:Wrong", case("bucket"))
    assert "test_get_grid_shape" in answer.stdout
    assert "There were errors" in answer.stderr
