"""Random runs on ranks have the bits of the same run on one: grids, tiles, threads, files, restarts on other ranks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.started import python

MPIEXEC = Path(sys.executable).with_name("mpiexec")
SOAK = Path(__file__).with_name("soak.py")
SEED, COUNT = 16, 4

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.compiles,
    pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed"),
]


def test_random_runs_have_the_same_bits(tmp_path: Path) -> None:
    """Run more of them by: mpiexec -n 6 python -m mpi4py tests/parallel/soak.py FOLDER SEED COUNT."""
    command = [MPIEXEC, "-n", "6", python(), "-m", "mpi4py", SOAK, tmp_path, str(SEED), str(COUNT)]
    environment = {**os.environ, "PYTHONWARNINGS": "default", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-4000:]
    trials = json.loads(answer.stdout)
    assert len(trials) == COUNT
    assert [told for told, wrong in trials if wrong] == []
    assert {word for told, _ in trials for word in ("imex", "strang") if word in told} == {"imex", "strang"}
