"""Output that is copied while the next step is made holds the state as it was."""

import re
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.kernels.layout import Layout, PackedView
from airshed.models.air.model import AirModel
from airshed.runtime.records import RunRecords

WINDS = xr.Dataset({"eastward_wind": 5.0, "northward_wind": 2.0})
STEP = 600.0


def make(integrator="imex", *, strategy="gather:async", every=STEP):
    settings = {
        "grid": {"area": {"lon": [-5, 5], "lat": [-5, 5]}, "spacing": "0.5 deg", "layers": ["500 m", "1000 m"]},
        "time": {"start": "2022-01-01T00:00:00Z", "length": "4 h", "step": f"{STEP:g} s"},
        "chemistry": {"mechanism": "tracer", "integrator": integrator},
        "transport": {"diffusion": False},
        "deposition": {"scheme": "none"},
        "run": {"threads": 1},
        "output": [{"fields": ["TRACER"], "every": f"{every:g} s", "strategy": strategy}],
        "restart": {"every": "1 h"},
    }
    return airshed.Case.from_dict(settings)


def puff():
    centres = np.arange(20) * 0.5 - 4.75
    values = 1e-9 * np.exp(-0.5 * (centres[:, None] ** 2 + centres**2) / 1.5**2)
    return xr.Dataset({"TRACER": (("lat", "lon"), values)}, coords={"lat": centres, "lon": centres})


def written(folder, case):
    with closing(airshed.Simulation(case, WINDS, puff(), output=folder)) as simulation:
        simulation.run()
    with airshed.open_run(folder) as result:
        return result.drop_attrs().load()


@pytest.fixture
def slow_copies(monkeypatch):
    """Copies are made level by level, and take their time for each."""
    copy = Layout.unpack_single

    def slow(layout, packed, target):
        for level in range(packed.shape[2]):
            time.sleep(3e-3)
            copy(layout, packed[:, :, level : level + 1], target[level : level + 1])

    monkeypatch.setattr(Layout, "unpack_single", slow)


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_slow_copies_hold_the_same_bits_as_quick_ones_that_the_run_waits_for(tmp_path, slow_copies, integrator):
    behind = written(tmp_path / "behind", make(integrator))
    waited_for = written(tmp_path / "waited_for", make(integrator, strategy="gather:sync"))
    assert behind.sizes["time"] == 25
    assert set(behind.data_vars) >= {"TRACER", "air_temperature", "air_pressure"}
    assert behind.identical(waited_for)


def test_without_the_wait_before_a_step_records_are_torn(tmp_path, slow_copies, monkeypatch):
    """The negative control of the test above."""
    monkeypatch.setattr(RunRecords, "release", lambda records: None)
    monkeypatch.setattr(RunRecords, "steps_free", lambda records, most: most)
    torn = written(tmp_path / "torn", make())
    assert not torn.identical(written(tmp_path / "whole", make(strategy="gather:sync")))


@pytest.mark.parametrize("batch", [2, 3, 8])
@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_a_batch_leaves_what_is_still_to_be_copied(tmp_path, slow_copies, monkeypatch, integrator, batch):
    """Only one of the five steps after a record, or none, leaves it unchanged: the other steps wait for the copy."""
    expected = written(tmp_path / "waited_for", make(integrator, strategy="gather:sync", every=5 * STEP))
    batches = set_batch(monkeypatch, batch)
    assert written(tmp_path / "behind", make(integrator, every=5 * STEP)).identical(expected)
    until_something_is_due = {0: 5, 10: 2, 20: 4}  # after records
    first = {number: steps for number, steps in batches if number in until_something_is_due}
    assert first == {
        number: 1 if integrator == "imex" else min(batch, left) for number, left in until_something_is_due.items()
    }
    assert max(steps for _, steps in batches) == min(batch, 4 if integrator == "imex" else 5)


def test_a_batch_that_goes_on_over_the_step_that_needs_the_copy_tears_records(tmp_path, slow_copies, monkeypatch):
    """The negative control of the test above."""
    expected = written(tmp_path / "whole", make(strategy="gather:sync", every=5 * STEP))
    set_batch(monkeypatch, 8)
    monkeypatch.setattr(RunRecords, "steps_free", lambda records, most: most)
    assert not written(tmp_path / "torn", make(every=5 * STEP)).identical(expected)


def set_batch(monkeypatch, most):
    """Set the size of the batches of models; return the starts of batches and their numbers of steps."""
    through, batches = AirModel.step_through, []

    def step_through(model, ends):
        batches.append((model.steps, len(ends)))
        through(model, ends)

    pace = AirModel.batch_limits.fget
    monkeypatch.setattr(AirModel, "batch_limits", property(lambda model: replace(pace(model), batch=most)))
    monkeypatch.setattr(AirModel, "step_through", step_through)
    return batches


@pytest.mark.parametrize(("integrator", "lasting"), [("imex", 1), ("strang", 0)])
def test_a_view_stays_as_it_is_for_as_many_steps_as_the_model_says(integrator, lasting):
    with airshed.Simulation(make(integrator), WINDS, puff()) as simulation:
        for _ in range(3):
            simulation.step()
            view, value = simulation.model.view("TRACER"), simulation.model.value("TRACER").astype(np.float32)
            assert isinstance(view, PackedView)
            assert simulation.model.batch_limits.lasting == lasting
            for _ in range(lasting):
                simulation.step()
                assert np.array_equal(copied(view), value)
            simulation.step()
            assert not np.array_equal(copied(view), value)  # one step more, and it would not do


def copied(view):
    target = np.empty(view.shape, np.float32)
    view.copy_to(target, slice(None))
    return target


def test_a_view_of_the_weather_is_its_value():
    with airshed.Simulation(make(), WINDS) as simulation:
        for name in ("air_temperature", "surface_pressure"):
            assert np.array_equal(simulation.model.view(name), simulation.model.value(name))


def test_the_summary_tells_output_and_restarts_apart(tmp_path):
    with closing(airshed.Simulation(make(), WINDS, puff(), output=tmp_path / "run")) as simulation:
        simulation.run()
        note = simulation.summary().tables[-1].note
    pattern = r"([\d.]+) MB of output by gather:async and ([\d.]+) MB of restarts by gather:async written in .* behind"
    output, restarts = map(float, re.search(pattern, note).groups())
    assert output * 1e6 == pytest.approx((tmp_path / "run" / "output.nc").stat().st_size, rel=0.05)
    left = [path.stat().st_size for path in (tmp_path / "run" / "restart").iterdir()]
    assert restarts * 1e6 == pytest.approx(4 * np.mean(left), rel=0.1)  # of which the last two are stored
