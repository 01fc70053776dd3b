"""A row of cells that ranks divide, without neighbours: any strategy, any number of ranks, restarts between them."""

import signal
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import airshed

STRATEGIES = ("gather", "files", "mpiio", "zarr")


def result(folder: Path, name: str = "output") -> xr.Dataset:
    with airshed.open_run(folder, name) as found:
        return found.load()


@pytest.mark.thorough
def test_two_ranks_write_what_one_does_by_any_strategy(run, undisturbed, tmp_path: Path) -> None:
    one = result(undisturbed("row.toml"))
    assert one["depth"].dims == ("time", "pond")
    assert one["water"].dims == ("time", "layer", "pond")
    assert one["lon"].dims == ("pond",)
    assert (one.sizes["time"], one.sizes["pond"], one.sizes["layer"]) == (7, 7, 2)
    assert len(np.unique(one["depth"])) > 4 * 7  # it is chaotic; from a symmetric start some ponds are alike
    np.testing.assert_array_equal(one["layer_bnds"], [[0.0, 1.0], [1.0, 2.0]])
    outputs = ", ".join(f'{{name="{each}", every="10 min", strategy="{each}"}}' for each in STRATEGIES)
    done = run("run", "row.toml", "-n", "2", "--set", f"output=[{outputs}]", "--output", "two")
    assert done.returncode == 0, done.stderr
    found = sorted(path.name for path in (tmp_path / "two").glob("*.*") if path.stem in STRATEGIES)
    assert found == ["files.files", "gather.nc", "mpiio.nc", "zarr.zarr"]
    assert [name for name in STRATEGIES if not result(tmp_path / "two", name).equals(one)] == []
    assert run("merge", "two").returncode == 0
    assert [name for name in STRATEGIES if not (tmp_path / "two" / f"{name}.nc").exists()] == []
    assert [name for name in STRATEGIES if not result(tmp_path / "two", name).equals(one)] == []


@pytest.mark.parametrize(
    "strategy", [each if each == "files" else pytest.param(each, marks=pytest.mark.thorough) for each in STRATEGIES]
)
def test_a_killed_run_goes_on_with_other_ranks(run, undisturbed, tmp_path: Path, strategy: str) -> None:
    options = ("--strategy", strategy, "--set", f"restart.strategy={strategy}", "--output", "two")
    files = 3 if strategy == "gather" else 9  # which take their names until the run is killed, amid its restarts
    killed = run("run", "row.toml", *options, die=f"after two/restart {files}")
    assert killed.returncode == -signal.SIGKILL
    again = run("run", "row.toml", "-n", "2", "--resume", *options)
    assert again.returncode == 0, again.stderr
    assert "resumed at" in again.stderr
    assert result(tmp_path / "two").equals(result(undisturbed("row.toml")))


def test_what_cannot_be_is_told_in_a_line(run) -> None:
    for arguments, message in (
        (("run", "row.toml", "-n", "2", "--set", "ponds=1"), "2 ranks cannot share 1 cell along pond; use at most 1"),
    ):
        refused = run(*arguments, "--output", "a")
        assert refused.returncode == 2
        assert message in refused.stderr
        assert refused.stderr.count("\n") == 1
    assert run("show", "row.toml").returncode == 0
