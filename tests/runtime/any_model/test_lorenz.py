"""A model without space with the real program and simulation: output, restarts, and refused options."""

import signal
from pathlib import Path

import numpy as np
import pytest

import airshed
from airshed.core.errors import CaseError


def test_it_runs_by_the_command_line_and_is_chaotic(run, tmp_path: Path) -> None:
    done = run("run", "lorenz.toml", "--output", "a")
    assert (done.returncode, done.stderr) == (0, "")
    assert "steps      3640" in done.stdout
    with airshed.open_run(tmp_path / "a") as result:
        assert {name: result[name].dims for name in result.data_vars} == dict.fromkeys("xyz", ("time",))
        assert dict(result.sizes) == {"time": 41}
        assert set(np.sign(result["x"].values)) == {-1.0, 1.0}  # it flies around both wings
        assert 'model = "lorenz"' in result.attrs["airshed_case"]
    refused = run("plot", "a")
    assert refused.returncode == 2
    assert (
        refused.stderr
        == "airshed: error: a has no coordinate 'lat'; pictures need a run's output on time, lat and lon\n"
    )


@pytest.mark.parametrize(
    "strategy", ["zarr", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("gather:async", "files"))]
)
def test_a_killed_run_goes_on_to_the_same_bits(run, undisturbed, tmp_path: Path, strategy: str) -> None:
    options = ("--strategy", strategy, "--set", f"restart.strategy={strategy}", "--set", "time.length=10 s")
    killed = run("run", "lorenz.toml", "--output", "a", *options, die="after a/restart 6")
    assert killed.returncode == -signal.SIGKILL
    again = run("run", "lorenz.toml", "--output", "a", "--resume", *options)
    assert again.returncode == 0
    assert "resumed at" in again.stderr
    whole = undisturbed("lorenz.toml", "--set", "time.length=10 s")
    with airshed.open_run(tmp_path / "a") as found, airshed.open_run(whole) as expected:
        assert found.load().equals(expected.load())


def test_ranks_have_nothing_to_divide(run) -> None:
    refused = run("run", "lorenz.toml", "-n", "2", "--output", "a")
    assert refused.returncode == 2
    assert "the model has no dimension that 2 ranks could divide; run it on 1 rank" in refused.stderr


def test_it_is_used_from_python_and_its_case_is_checked(run, kind, tmp_path: Path) -> None:
    kind("lorenz")
    with airshed.Simulation(tmp_path / "lorenz.toml") as simulation:
        simulation.run("1 s")
        assert simulation["x"].dims == ()
        assert float(simulation["x"]) == float(simulation.model.state[0])
        with pytest.raises(CaseError, match="computes no budget"):
            simulation.budget()
        simulation["x"] = 5.0
        assert float(simulation["x"]) == 5.0
        with pytest.raises(CaseError, match="there is no field 'rho'"):
            simulation["rho"] = 5.0
    for override, message in (("rho=-1", "rho = -1 must be at least 0"), ("grid.spacing=1", "grid is not a setting")):
        with pytest.raises(CaseError, match=message):
            airshed.load_case(tmp_path / "lorenz.toml", [override])
    with pytest.raises(CaseError, match="there is no such model; did you mean lorenz"):
        airshed.load_case(tmp_path / "lorenz.toml", ["model=lorentz"])
