"""The files in a run folder are those of docs/reference/output.md, for every strategy and any end of the run."""

import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from tests.models.air.test_strang import open_rates

import airshed
from airshed.core.errors import NumericalError

DOCS = (Path(__file__).parents[2] / "docs" / "reference" / "output.md").read_text(encoding="utf-8")
TABLE = DOCS[DOCS.index("| path |") : DOCS.index("\n\n", DOCS.index("| path |"))]
DOCUMENTED = [name for row in TABLE.splitlines()[2:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
CASE: dict[str, Any] = {
    "grid": {"area": {"lon": [0, 4], "lat": [0, 4]}, "spacing": "1 deg", "layers": ["500 m", "1000 m"]},
    "time": {"start": "2022-01-01T00:00:00Z", "length": "1 h", "step": "600 s"},
    "meteorology": {"kind": "uniform"},
    "chemistry": {"mechanism": "tracer"},
    "transport": {"diffusion": False},
    "deposition": {"scheme": "none"},
}


def simulation(folder: Path, strategy: str, **more: Any) -> airshed.Simulation:
    often = {"every": "10 min", "strategy": strategy}
    case = airshed.Case.from_dict({**CASE, "output": [often], "restart": often, **more}, base=folder.parent)
    return airshed.Simulation(case, output=folder)


def undocumented(folder: Path) -> list[str]:
    """Return the names in a run folder that the table does not have, and those in its folder of restarts."""
    inside = [name for name in re.findall(r"`([^`]+)`", TABLE) if "SECONDS" in name or name == "strategy"]
    patterns = [name.replace("SECONDS", "*").replace("NAME", "*").rstrip("/") for name in (*DOCUMENTED, *inside)]
    names = [path.name for path in (*folder.iterdir(), *(folder / "restart").glob("*"))]
    return [name for name in names if not any(fnmatch(name, pattern) for pattern in patterns)]


@pytest.mark.parametrize("strategy", ["gather", "files", "mpiio", "zarr", "auto"])
def test_what_a_run_leaves_is_documented(tmp_path: Path, strategy: str) -> None:
    folder = tmp_path / "run"
    for stop in (None, "30 min"):  # a whole run, and one in its place that is left
        with simulation(folder, strategy) as sim:
            sim.run(until=stop)
            (folder / ".output.nc.123.part").touch()
            assert undocumented(folder) == []
        assert undocumented(folder) == []
    assert {"records", "previous", ".lock"} <= {path.name for path in folder.iterdir()}
    (folder / "diary.txt").touch()
    assert undocumented(folder) == ["diary.txt"]


@pytest.mark.compiles
def test_a_cell_that_failed_is_documented_and_forgotten_by_the_next_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    exploding = open_rates(tmp_path, grow="1e3", initial={"values": {"A": "1 ppb"}}).allowing_code()
    with (
        pytest.raises(NumericalError, match=r"failed-cell\.toml"),
        airshed.Simulation(exploding, output=folder) as sim,
    ):
        sim.run()
    assert (folder / "failed-cell.toml").exists()
    assert undocumented(folder) == []
    with simulation(folder, "gather") as sim:
        sim.run()
    assert not (folder / "failed-cell.toml").exists()
