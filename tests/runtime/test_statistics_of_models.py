"""Means and extremes of the models that are shipped, against the values that an observer of steps sees."""

import numpy as np
import pytest
import xarray as xr
from tests.models.pasture.conftest import CASE, save_weather

import airshed

WINDS = xr.Dataset({"eastward_wind": 5.0, "northward_wind": 2.0})
START = {"start": "2022-01-01T00:00:00Z", "length": "3 h", "spinup": "70 min", "step": "600 s"}


def air(*outputs):
    return airshed.Case.from_dict({
        "grid": {"area": {"lon": [-5, 5], "lat": [-5, 5]}, "spacing": "0.5 deg", "layers": ["500 m", "1000 m"]},
        "time": START,
        "chemistry": {"mechanism": "tracer"},
        "transport": {"diffusion": False},
        "deposition": {"scheme": "none"},
        "emissions": {"point": [{"species": "TRACER", "lon": 0.1, "lat": 0.1, "rate": "1 mol/s"}]},
        "run": {"threads": 1},
        "output": outputs,
    })  # fmt: skip


def test_the_mean_of_a_tracer_is_that_of_the_steps_after_the_spin_up(tmp_path):
    ground = {"fields": ["TRACER", "surface_temperature"], "every": "1 h", "levels": "ground"}
    given = air({**ground, "statistic": "mean"}, {**ground, "name": "peaks", "statistic": "maximum"})
    times, seen = [], []
    with airshed.Simulation(given, WINDS, output=tmp_path / "run") as simulation:

        def look(info):
            times.append(simulation.seconds)
            seen.append(simulation.values("TRACER")[0])

        simulation.run(until=0.0, observer=look)
        simulation.run(observer=look)
    seen, times = np.array(seen)[6:], np.array(times)[6:]
    assert times[0] == 0.0
    assert times[-1] == 10800.0
    with airshed.open_run(tmp_path / "run") as means, airshed.open_run(tmp_path / "run", "peaks") as peaks:
        assert means.sizes["level"] == 1
        np.testing.assert_allclose(means["surface_temperature"].values, peaks["surface_temperature"].values, rtol=1e-7)
        for hour in range(3):
            inside = (times >= 3600.0 * hour) & (times <= 3600.0 * (hour + 1))
            mean = np.trapezoid(seen[inside], times[inside], axis=0) / 3600.0
            np.testing.assert_allclose(means["TRACER"].values[hour, 0], mean, rtol=1e-6)
            np.testing.assert_array_equal(peaks["TRACER"].values[hour, 0], np.float32(seen[inside].max(axis=0)))


@pytest.fixture(scope="module")
def pasture(tmp_path_factory):
    """Return a run of 30 days with daily values, and means over ten days."""
    folder = tmp_path_factory.mktemp("pasture")
    save_weather(folder / "inputs")
    fields = 'fields = ["growth", "green", "green_leaf"]'
    means = 'name = "means"\nevery = "10 day"\nstatistic = "mean"'
    text = f'\n[[output]]\nevery = "1 day"\n{fields}\n[[output]]\n{means}\n{fields}\n'
    (folder / "case.toml").write_text(CASE.format(days=30) + text)
    with airshed.Simulation(folder / "case.toml", output=folder / "run") as simulation:
        simulation.run()
    return folder / "run"


def test_means_of_pasture_take_a_flux_by_steps_and_a_state_by_the_trapezoidal_rule(pasture):
    with airshed.open_run(pasture) as days, airshed.open_run(pasture, "means") as means:
        assert means["time_bnds"].shape == (3, 2)
        for name, weigh in {"growth": by_steps, "green_leaf": by_trapezoids}.items():
            for record in range(3):
                daily = days[name].values[10 * record : 10 * record + 11].astype(float)
                np.testing.assert_allclose(means[name].values[record], weigh(daily), rtol=1e-5, atol=1e-6)
                other = by_trapezoids if weigh is by_steps else by_steps
                assert not np.allclose(means[name].values[record], other(daily), rtol=1e-5)


def by_steps(daily):
    return daily[1:].mean(axis=0)


def by_trapezoids(daily):
    return 0.5 * (daily[1:] + daily[:-1]).mean(axis=0)
