"""A state that is not finite is reported before it is read, and never written, by any later call."""

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.core.errors import AirshedError, NumericalError, OutputError
from airshed.io.restart import RestartStore

WINDS = xr.Dataset({"eastward_wind": 5.0, "northward_wind": 2.0})


def make(integrator="imex"):
    settings = {
        "grid": {"area": {"lon": [-5, 5], "lat": [-5, 5]}, "spacing": "1 deg", "layers": ["500 m", "1000 m"]},
        "time": {"start": "2022-01-01T00:00:00Z", "length": "8 h", "step": "10 min"},
        "chemistry": {"mechanism": "tracer", "integrator": integrator},
        "transport": {"diffusion": False},
        "deposition": {"scheme": "none"},
        "run": {"threads": 1},
        "output": [{"fields": ["TRACER"], "every": "50 min", "strategy": "files:sync"}],
        "restart": {"every": "4 h"},
    }
    return airshed.Case.from_dict(settings)


def lose(simulation):
    """Two good steps, and one with NaN, which the kernels would turn into zeros: the step reports it."""
    simulation.step()
    simulation.step()
    simulation.model.stepper.state.q[...] = np.nan
    with pytest.raises(NumericalError, match=r"no longer finite at [\d.]+ \w+ \(TRACER, TRACER2\)"):
        simulation.step()


ASKED = {
    "a field": lambda simulation: simulation["TRACER"],
    "budgets": lambda simulation: simulation.budget(),
    "a step": lambda simulation: simulation.step(),
    "a run": lambda simulation: simulation.run(until="2 h"),
}


@pytest.mark.parametrize("integrator", ["imex", "strang"])
@pytest.mark.parametrize("asked", ASKED)
def test_a_lost_state_is_told_by_the_step_and_never_seen(asked, integrator):
    simulation = airshed.Simulation(make(integrator), WINDS)
    lose(simulation)
    with pytest.raises(AirshedError, match=r"was closed, or ended by an error"):
        ASKED[asked](simulation)


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_a_lost_state_is_not_written(tmp_path, integrator):
    simulation = airshed.Simulation(make(integrator), WINDS, output=tmp_path / "run")
    simulation.step()
    records = sorted((tmp_path / "run" / "records").rglob("*"))
    lose(simulation)
    simulation.close()
    assert list((tmp_path / "run" / "restart").iterdir()) == []
    assert sorted((tmp_path / "run" / "records").rglob("*")) == records


def test_what_goes_wrong_with_the_last_restart_is_told(tmp_path, monkeypatch):
    """Later calls write no output, and would not report it."""
    simulation = airshed.Simulation(make(), WINDS, output=tmp_path / "run")
    simulation.step()

    def broken(*_):
        raise OutputError("the disk is full")

    monkeypatch.setattr(RestartStore, "_write", broken)
    with pytest.raises(OutputError, match="the disk is full"):
        simulation.close()
