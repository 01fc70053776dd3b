"""A stop or an output within a step changes nothing that comes later."""

from datetime import timedelta

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.runtime.clock import ProvisionalStep

CENTRES = np.arange(12) * 0.5 - 2.75
TIMES = np.datetime64("2022-01-01T00:00:00", "ns") + np.arange(4) * np.timedelta64(3600, "s")
WINDS = xr.Dataset(
    {"eastward_wind": ("time", [12.0, 3.0, 9.0, 2.0]), "northward_wind": ("time", [0.0, 4.0, -4.0, 1.0])},
    coords={"time": TIMES},
)
STOPS = [60.0, 60.05, 61.0, 600.0, 3599.97, 3600.0, 3600.03, 4321.0, 7199.0, 7200.5]


def case(integrator="imex", every="1 h", *, restart="1 h"):
    """Return a case with mixing in four layers, or without it in two, whose libraries are in the catalogue."""
    layers = ["200 m", "400 m", "700 m", "1000 m"] if integrator == "imex" else ["200 m", "1000 m"]
    return airshed.Case.from_dict({
        "grid": {"area": {"lon": [-3, 3], "lat": [-3, 3]}, "spacing": "0.5 deg", "layers": layers},
        "time": {"start": "2022-01-01T00:00:00Z", "length": "3 h", "step": "250 s"},
        "chemistry": {"mechanism": "tracer", "integrator": integrator},
        "transport": {"diffusion": integrator == "imex"},
        "deposition": {"scheme": "none"},
        "emissions": {"point": [{"species": "TRACER", "lon": 0.1, "lat": 0.1, "rate": "1 mol/s"}]},
        "run": {"threads": 1},
        "output": [{"fields": ["TRACER"], "every": every}],
        "restart": {"every": restart},
    })  # fmt: skip


def puff():
    values = 1e-9 * np.exp(-0.5 * (CENTRES[:, None] ** 2 + CENTRES**2) / 0.8**2)
    return xr.Dataset({"TRACER": (("lat", "lon"), values)}, coords={"lat": CENTRES, "lon": CENTRES})


def bits(simulation):
    budget = simulation.budget()
    return simulation["TRACER"].values.tobytes(), [budget[name].values.tobytes() for name in sorted(budget.variables)]


def undisturbed(integrator="imex"):
    with airshed.Simulation(case(integrator), WINDS, puff()) as simulation:
        simulation.run()
        return bits(simulation), simulation.model.steps


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_a_run_that_is_stopped_anywhere_has_the_bits_of_one_that_is_not(integrator):
    with airshed.Simulation(case(integrator), WINDS, puff()) as simulation:
        for stop in STOPS:
            simulation.run(until=stop)
            assert simulation.seconds == stop
            assert float(simulation["TRACER"].max()) > 0.0
        simulation.run()
        assert (bits(simulation), simulation.model.steps) == undisturbed(integrator)


def test_the_state_at_a_stop_lies_between_those_of_the_steps_around_it():
    with airshed.Simulation(case(), WINDS, puff()) as simulation:
        simulation.run(until=1000.0)
        before = simulation["TRACER"].values
        simulation.run(until=1090.0)
        amid, budget = simulation["TRACER"].values, simulation.budget().sel(species="TRACER")
        assert abs(float(budget["residual"])) <= 1e-12 * float(budget["throughput"])
        assert float(budget["emitted"]) == pytest.approx(1090.0, rel=1e-12)
        simulation.run(until=1180.0)
        np.testing.assert_allclose(amid, 0.5 * (before + simulation["TRACER"].values), rtol=0.02, atol=1e-13)


def test_a_stop_that_took_its_step_for_good_would_change_what_comes(monkeypatch):
    """The negative control."""
    monkeypatch.setattr(ProvisionalStep, "undo", lambda step: setattr(step, "left", None))
    with airshed.Simulation(case(), WINDS, puff()) as simulation:
        for stop in STOPS:
            simulation.run(until=stop)
        simulation.run()
        assert bits(simulation) != undisturbed()[0]


@pytest.mark.parametrize("every", ["59.99 min", "7.3 min"])
def test_what_is_written_amid_steps_is_what_somebody_sees_who_stops_there(tmp_path, every):
    """And a run that is left there, and resumed, goes on from the step before."""
    given = case(every=every)
    with airshed.Simulation(given, WINDS, puff(), output=tmp_path / "whole") as simulation:
        simulation.run()
        expected = bits(simulation)
    for stop in (3599.7, 5000.0):
        with airshed.Simulation(given, WINDS, puff(), output=tmp_path / "run", resume=True) as simulation:
            assert simulation.seconds <= stop
            simulation.run(until=stop)
            assert simulation.seconds == stop
    with airshed.Simulation(given, WINDS, puff(), output=tmp_path / "run", resume=True) as simulation:
        simulation.run()
        assert bits(simulation) == expected
    with airshed.open_run(tmp_path / "whole") as whole, airshed.open_run(tmp_path / "run") as run:
        assert whole.load().identical(run.load())
        shown = whole["TRACER"].isel(time=2).values
        seconds = float((whole["time"][2] - whole["time"][0]) / np.timedelta64(1, "ns")) * 1e-9
    with airshed.Simulation(given, WINDS, puff()) as simulation:
        simulation.run(until=seconds)
        np.testing.assert_allclose(simulation["TRACER"].values, shown, rtol=1e-3, atol=1e-15)


def test_a_restart_that_is_due_amid_a_step_is_written_at_its_end(tmp_path):
    given = case(restart="59.99 min")
    with airshed.Simulation(given, WINDS, puff(), output=tmp_path / "run") as simulation:
        simulation.run()
        assert bits(simulation) == undisturbed()[0]
    times = sorted(float(path.stem) for path in (tmp_path / "run" / "restart").iterdir())
    assert times == [7200.0, 10800.0]  # the last two, due at 7198.8 and 10798.2 s


def test_observers_are_told_of_the_steps_of_the_run_alone():
    told = []
    with airshed.Simulation(case(), WINDS, puff()) as simulation:
        simulation.run(until=1000.3, observer=told.append)
        assert simulation.step().time == pytest.approx(told[-1].time + told[-1].dt)
        assert [info.step for info in told] == list(range(1, len(told) + 1))


@pytest.mark.parametrize("until", ["5 min", 300, np.timedelta64(5, "m"), timedelta(minutes=5)])
def test_a_time_may_be_given_in_several_ways(until):
    with airshed.Simulation(case(), WINDS, puff()) as simulation:
        simulation.run(until=until)
        assert simulation.seconds == 300.0
