"""Several ranks make the same calls, and each has the whole array of every variable."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.started import python

from .conftest import MODELS
from .on_ranks import steps

MPIEXEC, PROGRAM = Path(sys.executable).with_name("mpiexec"), Path(__file__).with_name("on_ranks.py")

pytestmark = pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")


def on_two(file: Path) -> Any:
    command = [MPIEXEC, "-n", "2", python(), "-m", "mpi4py", PROGRAM, file]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(MODELS), os.environ.get("PYTHONPATH", "")])}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_two_ranks_have_the_bits_of_one_and_set_alike(case: Callable[[str], Path]) -> None:
    file = case("bucket")
    one, two = steps(str(file)), on_two(file)
    assert two["each"] == [one, one]
    assert one["pointer"] == one["water"]
    assert len(set(one["water"])) == 7, "cells differ"
    assert two["message"].startswith("ranks set rain to different values")
