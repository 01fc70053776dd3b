"""Processes of users, of docs/how-to/adding-a-process.md and of the package have the same bits on all ranks."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.models.air.processes.together import together, write_files
from tests.started import python

from airshed.case.toml import write_toml

MPIEXEC = Path(sys.executable).with_name("mpiexec")
PROGRAM = Path(__file__).with_name("on_ranks.py")

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.compiles,
    pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed"),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the digests that the program prints, by integrator and number of ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    write_files(folder)
    rain = {"precipitation": "1 mm/h", "eastward": "8 m/s", "northward": "-3 m/s", "diffusivity": "10 m2/s"}
    whole = together(
        folder, grid={"spacing": "0.25 deg"}, time={"length": "20 min"}, meteorology=rain,
        horizontal_diffusion={"diffusivity": "smagorinsky"},
        emissions={"point": [{"species": "RN", "lon": -28.0, "lat": 41.0, "rate": "1 mol/s"}]},
    )  # fmt: skip
    (folder / "case.toml").write_text(write_toml(whole.to_dict()), encoding="utf-8")
    command = [MPIEXEC, "-n", "3", python(), "-m", "mpi4py", PROGRAM, folder]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert answer.returncode == 0, answer.stderr[-4000:]
    printed: dict[str, Any] = json.loads(answer.stdout)
    return printed


@pytest.mark.parametrize("way", ["imex", "strang", "strang transport"])
def test_ranks_and_groups_of_them_have_the_bits_of_one(found: dict[str, Any], way: str) -> None:
    runs = {name: answer for name, answer in found.items() if name.startswith(f"{way}:")}
    assert len(runs) == 3
    alone = runs[f"{way}: 1 "]
    assert {name: answer for name, answer in runs.items() if answer != alone} == {}


def test_ranks_that_set_different_values_are_refused(found: dict[str, Any]) -> None:
    assert found["differently"].startswith("ranks set sea_surface_strength to different values")


def test_ways_differ(found: dict[str, Any]) -> None:
    """The negative control."""
    assert len({found[f"{way}: 1 "]["state"] for way in ("imex", "strang", "strang transport")}) == 3
