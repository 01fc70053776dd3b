"""Conservation of emitted mass for any start and end of the emission and any time step."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.models.air.programs import two_step
from airshed.models.air.report import _against_sources

LON, LAT = np.arange(20) * 0.1 + 0.05, np.arange(10) * 0.1 - 0.45
START = np.datetime64("2022-01-01T00:00:00", "ns")
WINDS = {"calm": [0.0, 0.0, 0.0, 0.0], "steady": [5.0, 3.0, 4.0, 2.0], "dropping": [14.0, 14.0, 1.0, 1.0]}
STOPS = [3000.0, 3600.0, 4000.0, 5000.0, 5432.1, 7200.0, 7600.0, 8000.0, 10800.0]


def release(folder, first, last, before=0.0):
    """Write a file with the emission of one cell: 1 mol/s between two times [s], another rate before."""
    times = START + (np.array([-3600.0, first, last, 72000.0]) * 1e9).astype("timedelta64[ns]")
    rate = np.zeros((4, 10, 20))
    rate[:, 5, 5] = before, 1.0, 0.0, 0.0
    path = folder / "release.nc"
    field = ("time", "lat", "lon"), rate, {"units": "mol/s"}
    xr.Dataset({"TRACER": field}, coords={"time": times, "lat": LAT, "lon": LON}).to_netcdf(path)
    return path


def simulation(path, wind="calm", velocity=None, folder=None, **more):
    """Return a simulation with two layers without mixing (a prebuilt library), or with three and deposition."""
    speeds = np.array(WINDS[wind])
    layers = ["100 m", "200 m", "500 m"] if velocity else ["100 m", "500 m"]
    times = START + np.arange(4) * np.timedelta64(3600, "s")
    case = airshed.Case.from_dict({
        "grid": {"area": {"lon": [0, 2], "lat": [-0.5, 0.5]}, "spacing": "0.1 deg", "layers": layers},
        "time": {"start": "2022-01-01T00:00:00Z", "length": "3 h", "maximum_step": "200 s"},
        "chemistry": {"mechanism": "tracer", **more},
        "deposition": {"scheme": "constant", "velocities": {"TRACER": velocity}} if velocity else {"scheme": "none"},
        "transport": {"diffusion": bool(velocity)},
        "emissions": {"gridded": [str(path)]}, "run": {"threads": 1},
        "output": [{"fields": ["TRACER"], "every": "25 min"}],
    })  # fmt: skip
    given = {"eastward_wind": ("time", speeds), "northward_wind": ("time", 0.3 * speeds)}
    winds = xr.Dataset(given, coords={"time": times})
    return airshed.Simulation(case, winds, output=folder, resume=folder is not None)


def balance(sim):
    """Return the amount in the air plus its losses [mol], and the terms of the budget."""
    terms = {name: float(field.sel(species="TRACER")) for name, field in sim.budget().items()}
    return float(sim.model.amounts()[0]) + terms["outflow"] + terms["deposited"], terms


@pytest.mark.parametrize("integrator", ["imex", "strang"])
@pytest.mark.parametrize("wind", WINDS)
@pytest.mark.parametrize("first", [3600.0, 4000.0])
def test_a_release_of_an_hour_brings_3600_mol_into_the_air(tmp_path, first, wind, integrator):
    with simulation(release(tmp_path, first, first + 3600.0), wind, integrator=integrator) as sim:
        for stop in STOPS:
            sim.run(until=stop)
            expected = min(max(stop - first, 0.0), 3600.0)
            there, terms = balance(sim)
            # the one-step formula keeps nothing strictly positive, see docs/explanation/integrators.md
            least = 0.0 if integrator == "imex" else 5e-7 * expected
            assert there == pytest.approx(expected, rel=1e-12, abs=1e-9 + least)
            assert terms["emitted"] == pytest.approx(expected, rel=1e-12, abs=1e-9)
            assert 0.0 <= terms["clipped"] <= least
            assert float(sim["TRACER"].min()) >= 0.0


@pytest.mark.parametrize("before", [0.2, 0.9, 5.0])
def test_emission_that_changes_is_met_too(tmp_path, before):
    """A fall of the emission to a fifth restarts the two-step formula; a rise does not."""
    with simulation(release(tmp_path, 4000.0, 7600.0, before), "steady") as sim:
        for stop in STOPS:
            sim.run(until=stop)
            expected = before * min(stop, 4000.0) + min(max(stop - 4000.0, 0.0), 3600.0)
            assert balance(sim)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.compiles
@pytest.mark.parametrize("velocity", ["0.05 m/s", "1 m/s", "5 m/s"])
def test_what_goes_within_a_step_does_not_turn_negative(tmp_path, velocity):
    with simulation(release(tmp_path, 3600.0, 7200.0), velocity=velocity) as sim:
        sim.run()
        there, terms = balance(sim)
        assert there - terms["clipped"] == pytest.approx(3600.0, rel=1e-12)
        assert 0.0 <= terms["clipped"] < 1e-5 * 3600.0


@pytest.mark.compiles
def test_without_steps_that_begin_anew_it_does(tmp_path, monkeypatch):
    """The negative control."""
    monkeypatch.setattr(two_step, "EULER_STEPS", 0)
    with simulation(release(tmp_path, 3600.0, 7200.0), velocity="5 m/s") as sim:
        sim.run()
        assert balance(sim)[1]["clipped"] > 1e-3 * 3600.0


def test_a_run_that_is_resumed_where_emission_changes_goes_on_with_the_same_bits(tmp_path):
    path = release(tmp_path, 3600.0, 7200.0, 2.0)
    with simulation(path, "steady") as sim:
        sim.run()
        expected = sim["TRACER"].values.tobytes(), balance(sim)
    for stop in (3600.0, 7200.0, 7300.0, None):
        with simulation(path, "steady", folder=tmp_path / "run") as sim:
            sim.run(until=stop)
            found = sim["TRACER"].values.tobytes(), balance(sim)
    assert found == expected


def test_the_summary_says_how_closely_the_sources_were_followed(tmp_path):
    with simulation(release(tmp_path, 3600.0, 7200.0)) as sim:
        sim.run()
        share, name = sim.summary().facts["emission"].removeprefix("agrees with the sources to ").split()
        assert float(share) < 1e-12
        assert name == "(TRACER)"
        sim.model.budget.amounts[2] *= 1.0 + 1e-4  # the negative control
        assert sim.summary().facts["emission"] == "agrees with the sources to 1e-04 (TRACER)"


def test_round_off_without_a_source_is_no_difference() -> None:
    """Isoprene at night: nothing is emitted, and the sum of the stages has round-off."""
    budget: Any = {"emitted": {"ISOPRE": -2e-9, "NO": 3.0}, "throughput": {"ISOPRE": 5e3, "NO": 9.0}}
    sources: Any = [SimpleNamespace(species="NO", moles=3.0)]
    assert (
        _against_sources(("ISOPRE", "NO"), budget, sources)["emission"] == "agrees with the sources to 4e-13 (ISOPRE)"
    )
    budget["emitted"]["ISOPRE"] = 4.0  # the negative control: emission without a source
    assert "8e-04 (ISOPRE)" in str(_against_sources(("ISOPRE", "NO"), budget, sources)["emission"])
