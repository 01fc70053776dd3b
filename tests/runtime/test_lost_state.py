"""A state that is no longer finite is told before anybody sees it, and never written, whatever is asked for next."""

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.core.errors import NumericalError, OutputError
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
    """Two good steps, and one with what is no number; the kernels make zeros of it, so that it is soon forgotten."""
    simulation.step()
    simulation.step()
    simulation.model.stepper.state.q[...] = np.nan
    simulation.step()
    simulation.step()
    assert np.isfinite(simulation.model.mixing_ratios()).all()


ASKED = {
    "a field": lambda simulation: simulation["TRACER"],
    "budgets": lambda simulation: simulation.budget(),
    "the end": lambda simulation: simulation.close(),
    "a run": lambda simulation: simulation.run(until="2 h"),
}


@pytest.mark.parametrize("asked", ASKED)
def test_what_is_lost_is_told_before_it_is_seen(asked):
    simulation = airshed.Simulation(make(), WINDS)
    lose(simulation)
    with pytest.raises(NumericalError, match=r"no longer finite.*TRACER"):
        ASKED[asked](simulation)


def test_what_was_told_once_is_not_written_either(tmp_path):
    simulation = airshed.Simulation(make(), WINDS, output=tmp_path / "run")
    lose(simulation)
    for ask in (simulation.budget, simulation.budget, simulation.close):
        with pytest.raises(NumericalError):
            ask()
    assert list((tmp_path / "run" / "restart").iterdir()) == []


def test_output_is_not_written_of_a_state_that_was_lost(tmp_path):
    simulation = airshed.Simulation(make(), WINDS, output=tmp_path / "run")
    lose(simulation)
    records = sorted((tmp_path / "run" / "records").rglob("*"))
    with pytest.raises(NumericalError):
        simulation.step()
    assert simulation.seconds == 3000.0
    assert sorted((tmp_path / "run" / "records").rglob("*")) == records


def test_a_state_that_is_lost_where_nothing_reacts_is_told_by_the_step():
    simulation = airshed.Simulation(make("strang"), WINDS)
    with pytest.raises(NumericalError):
        lose(simulation)


def test_what_goes_wrong_with_the_last_restart_is_told(tmp_path, monkeypatch):
    """Nothing is written after it, so that no later call would tell."""
    simulation = airshed.Simulation(make(), WINDS, output=tmp_path / "run")
    simulation.step()

    def broken(*_):
        raise OutputError("the disk is full")

    monkeypatch.setattr(RestartStore, "_write", broken)
    with pytest.raises(OutputError, match="the disk is full"):
        simulation.close()
