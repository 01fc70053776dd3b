"""`airshed assimilate` on two ranks gives the bits of one rank, for controls of cells, domain and initial state."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from tests.laws.cases import small_case
from tests.started import python

from .air_cases import CONTROLS

pytestmark = pytest.mark.skipif(
    not Path(sys.executable).with_name("mpiexec").exists(), reason="mpiexec of the wheel mpich is not installed"
)

GRID = {"area": {"lon": [-2, 14], "lat": [44, 50]}, "spacing": "1 deg", "layers": ["50 m", "200 m", "600 m"]}
SECTION: dict[str, Any] = {
    "scheme": "4dvar", "iterations": 3, "probes": 1,
    "observations": {"stations": ["seen.csv"], "species": ["NO2"]},
    "twin": {"stations": 12, "noise": 0.03, "seed": 4}, "control": CONTROLS,
}  # fmt: skip


def airshed(*arguments: object) -> str:
    command = [python(), "-m", "airshed", "assimilate", "--allow-code", *map(str, arguments)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a twin experiment with its assimilation on one rank."""
    folder = tmp_path_factory.mktemp("twin")
    (folder / "seen.csv").touch()
    chimney = {"species": "NO", "lon": 3.2, "lat": 46.4, "height": "120 m", "rate": "200 mol/s"}
    sections = {"grid": GRID, "time": {"step": "10 min"}, "emissions": {"point": [chimney]}}
    given = small_case(folder, assimilation=SECTION, **sections)
    (folder / "case.toml").write_text(given.to_toml(), encoding="utf-8")
    airshed(folder, "--make-twin")
    airshed(folder, "--output", folder / "alone", "--threads", 1)
    return folder


@pytest.mark.thorough
def test_the_observations_of_a_twin_are_those_of_one_rank(folder: Path) -> None:
    alone = (folder / "seen.csv").read_bytes()
    airshed(folder, "--make-twin", "-n", 2, "--threads", 1)
    assert (folder / "seen.csv").read_bytes() == alone


@pytest.mark.parametrize("tiles", ["[2, 1]", pytest.param("[1, 2]", marks=pytest.mark.thorough)])
def test_the_analysis_is_that_of_one_rank(folder: Path, tiles: str) -> None:
    output = folder / f"together {tiles}"
    told = airshed(folder, "--output", output, "-n", 2, "--threads", 1, "--set", f"parallel.tiles={tiles}")
    assert told.count("iteration            J") == 1
    with xr.open_dataset(folder / "alone" / "analysis.nc") as one, xr.open_dataset(output / "analysis.nc") as other:
        assert float(one["cost"][-1]) < 0.75 * float(one["cost"][0])
        assert one.identical(other.assign_attrs(one.attrs))
    assert {path.name for path in output.iterdir()} == {path.name for path in (folder / "alone").iterdir()}
    again = airshed(folder, "--output", output, "--resume", "--threads", 1)
    assert "going on from" in again
