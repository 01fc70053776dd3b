"""Batches of steps: the same steps and bits as single ones, and observers and records miss nothing."""

import signal
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.core.errors import CaseError, DataError, NumericalError
from airshed.io.restart import RestartStore
from airshed.models.air.model import AirModel

CENTRES = np.arange(20) * 0.5 - 4.75
WINDS = xr.Dataset({"eastward_wind": 5.0, "northward_wind": 2.0})


def make(integrator="imex", *, strategy="gather:async"):
    """Steps of 250 s and less, in batches between records, restarts, hours and the end of the spin-up."""
    return airshed.Case.from_dict({
        "grid": {"area": {"lon": [-5, 5], "lat": [-5, 5]}, "spacing": "0.5 deg", "layers": ["500 m", "1000 m"]},
        "time": {"start": "2022-01-01T00:00:00Z", "length": "4 h", "spinup": "1 h", "step": "250 s"},
        "chemistry": {"mechanism": "tracer", "integrator": integrator},
        "transport": {"diffusion": False},
        "deposition": {"scheme": "none"},
        "emissions": {"point": [{"species": "TRACER", "lon": 0.1, "lat": 0.1, "rate": "1 mol/s"}]},
        "run": {"threads": 1},
        "output": [{"fields": ["TRACER"], "every": "50 min", "strategy": strategy}],
        "restart": {"every": "80 min"},
    })  # fmt: skip


def puff():
    values = 1e-9 * np.exp(-0.5 * (CENTRES[:, None] ** 2 + CENTRES**2) / 1.5**2)
    return xr.Dataset({"TRACER": (("lat", "lon"), values)}, coords={"lat": CENTRES, "lon": CENTRES})


@pytest.fixture
def batches(monkeypatch):
    """Return a function that sets the size of batches and returns a list of the batches that are made."""

    def of(most):
        made = []

        def step_through(model, ends):
            made.append(list(ends))
            through(model, ends)

        pace = AirModel.batch_limits.fget
        monkeypatch.setattr(AirModel, "batch_limits", property(lambda model: replace(pace(model), batch=most)))
        monkeypatch.setattr(AirModel, "step_through", step_through)
        return made

    through = AirModel.step_through
    return of


def steps(made):
    return [end for ends in made for end in ends]


def simulated(case, folder=None, **more):
    with airshed.Simulation(case, WINDS, puff(), output=folder) as simulation:
        simulation.run(**more)
        budget = simulation.budget()
        return {
            "state": simulation["TRACER"].values.tobytes(),
            "budget": [budget[name].values.tobytes() for name in sorted(budget.variables)],
            "steps": simulation.model.steps,
        }


def written(folder):
    with airshed.open_run(folder) as result:
        return result.drop_attrs().load()


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_batches_have_the_steps_and_bits_of_single_steps(tmp_path, batches, integrator):
    made, found = {}, {}
    for most in (1, 3, 8):
        made[most] = batches(most)
        found[most] = simulated(make(integrator), tmp_path / str(most))
    assert found[1] == found[3] == found[8]
    assert steps(made[1]) == steps(made[3]) == steps(made[8])
    assert found[1]["steps"] == len(made[1]) > len(made[3]) > len(made[8])
    assert [max(map(len, made[most])) for most in (1, 3, 8)] == [1, 3, 8]
    assert written(tmp_path / "1").identical(written(tmp_path / "3"))
    assert written(tmp_path / "1").identical(written(tmp_path / "8"))


@pytest.mark.parametrize(("integrator", "most"), [("imex", 8), ("strang", 1)])
def test_the_model_says_how_large_its_batches_are(integrator, most):
    with airshed.Simulation(make(integrator), WINDS) as simulation:
        assert simulation.model.batch_limits.batch == most


@pytest.mark.parametrize("batch", [1, 3, 8])
@pytest.mark.parametrize("stride", [1, 2, 5, 64])
def test_an_observer_is_told_after_so_many_steps_at_the_latest(batches, batch, stride):
    made, infos, seen = batches(batch), [], []
    with airshed.Simulation(make(), WINDS, puff()) as simulation:

        def look(info):
            infos.append(info)
            seen.append((simulation.seconds, simulation.model.steps))

        simulation.run(observer=look, stride=stride)
    assert max(map(len, made)) == min(stride, batch)
    assert [(info.time, info.step) for info in infos] == seen
    assert [info.time for info in infos] == [ends[-1] for ends in made]
    boundaries = [-3600.0, *steps(made)]
    lengths = dict(zip(boundaries[1:], (after - before for before, after in pairwise(boundaries)), strict=True))
    assert [info.dt for info in infos] == [lengths[info.time] for info in infos]
    assert [info.fraction for info in infos] == pytest.approx([(info.time + 3600.0) / 18000.0 for info in infos])
    assert infos[-1].fraction == 1.0
    assert all(info.cells_per_second > 0.0 for info in infos)


def test_by_default_an_observer_sees_each_step(batches):
    made, numbers = batches(8), []
    with airshed.Simulation(make(), WINDS) as simulation:
        simulation.run(observer=lambda info: numbers.append(info.step))
        assert numbers == list(range(1, simulation.model.steps + 1))
    assert {len(ends) for ends in made} == {1}


def test_the_speed_is_that_of_all_steps_of_a_batch(batches, monkeypatch):
    batches(8)
    speeds = []
    with airshed.Simulation(make(), WINDS) as simulation:
        ticks = iter(range(10**6))
        clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
        monkeypatch.setattr("airshed.runtime.simulation.time", clock)
        simulation.run("-40 min", observer=lambda info: speeds.append((info.step, info.cells_per_second)), stride=8)
    assert speeds == [(5, 5 * 800.0)]


@pytest.mark.parametrize("stride", [0, -1, 1.5, "8"])
def test_a_stride_that_is_no_number_of_steps_is_refused(stride):
    with airshed.Simulation(make(), WINDS) as simulation, pytest.raises(CaseError, match="is not a number of steps"):
        simulation.run(observer=print, stride=stride)


def test_a_step_is_a_single_one(batches):
    made = batches(8)
    with airshed.Simulation(make(), WINDS) as simulation:
        info = simulation.step()
    assert made == [[info.time]]


def test_a_time_within_a_batch_is_met_exactly(batches):
    made = batches(8)
    with airshed.Simulation(make(), WINDS, puff()) as simulation:
        for until in (-3599.0, -1234.5, 100.0, 101.0, 7000.0):
            simulation.run(until)
            assert simulation.seconds == until == steps(made)[-1]
    assert max(map(len, made)) > 4


def resumed(folder, *, until=None, stop_after=None, resume=True):
    with airshed.Simulation(make(), WINDS, puff(), output=folder, resume=resume) as simulation:

        def look(info):
            if stop_after is not None and info.step >= stop_after:
                simulation.request_stop()

        simulation.run(until, observer=look, stride=3)
        return simulation.seconds, simulation["TRACER"].values.tobytes()


def test_a_run_that_is_stopped_between_batches_goes_on_with_the_very_next_step(tmp_path, batches):
    made = batches(8)
    whole = resumed(tmp_path / "whole", resume=False)
    expected = steps(made)
    made.clear()
    seconds, _ = resumed(tmp_path / "run", stop_after=20, resume=False)
    assert expected[20] < seconds < expected[-1]
    assert seconds % 3000.0 != 0.0
    assert resumed(tmp_path / "run") == whole
    assert steps(made) == expected
    assert written(tmp_path / "run").identical(written(tmp_path / "whole"))


def test_an_error_within_a_batch_ends_the_run_where_it_is(tmp_path, batches, monkeypatch):
    made = batches(8)
    restarts = []

    def fail(model, ends):
        if len(ends) < 3:
            return through(model, ends)
        through(model, ends[:2])
        restarts.append(sorted(path.name for path in (tmp_path / "run" / "restart").iterdir()))
        raise DataError("the file ends here")

    through = AirModel.step_through
    monkeypatch.setattr(AirModel, "step_through", fail)
    simulation = airshed.Simulation(make(), WINDS, output=tmp_path / "run")
    with pytest.raises(DataError, match="the file ends here; then resume the run"):
        simulation.run()
    assert simulation.seconds == made[-1][-1] > -3600.0
    with pytest.raises(CaseError, match="ended by an error"):
        simulation.step()
    assert restarts == [sorted(path.name for path in (tmp_path / "run" / "restart").iterdir())]


def test_a_state_that_is_lost_within_a_batch_is_not_written(tmp_path, batches, monkeypatch):
    batches(8)
    through, saved = AirModel.step_through, []

    def lose(model, ends):
        if model.seconds < 3600.0:
            return through(model, ends)
        through(model, ends[:1])
        model.stepper.state.q[...] = np.nan
        through(model, ends[1:])

    monkeypatch.setattr(AirModel, "step_through", lose)
    save = RestartStore.save
    monkeypatch.setattr(RestartStore, "save", lambda *given: (saved.append(given[1]), save(*given)))
    simulation = airshed.Simulation(make(), WINDS, puff(), output=tmp_path / "run")
    with pytest.raises(NumericalError, match=r"no longer finite.*TRACER"):
        simulation.run()
    assert 3600.0 < simulation.seconds < 4800.0  # at the end of the last step that was right, before a restart is due
    assert saved == [0.0]
    simulation = airshed.Simulation(make(), WINDS, puff(), output=tmp_path / "run", resume=True)
    with closing(simulation):
        assert np.isfinite(simulation["TRACER"]).all()


def test_nobody_goes_on_from_steps_that_were_broken_off(tmp_path, monkeypatch):
    """Ctrl-C between the update of the state and that of the time: no restart confuses the two."""
    simulation = airshed.Simulation(make(), WINDS, puff(), output=tmp_path / "run")
    simulation.step()
    executor = simulation.model.executor
    advance = executor.advance

    def broken_off(begin, ends):
        for _ in advance(begin, ends):
            signal.raise_signal(signal.SIGINT)
        yield begin

    with monkeypatch.context() as patch:
        patch.setattr(executor, "advance", broken_off)
        with pytest.raises(KeyboardInterrupt):
            simulation.step()
    with pytest.raises(CaseError, match="ended by an error"):
        simulation.step()
    simulation.close()
    assert not list((tmp_path / "run" / "restart").glob("*"))


def test_a_simulation_that_is_left_between_steps_has_a_restart(tmp_path):
    """The negative control."""
    simulation = airshed.Simulation(make(), WINDS, puff(), output=tmp_path / "run")
    simulation.step()
    simulation.close()
    assert len(list((tmp_path / "run" / "restart").glob("*"))) == 1
