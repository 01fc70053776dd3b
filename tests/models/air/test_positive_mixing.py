"""Strang splitting makes no mass where a layer mixes or is washed out fast; smooth data keep their bits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.laws.cases import small_case
from tests.laws.derivatives import SCHEMES, changing_weather, uneven

import airshed
from airshed.inverse.verify.derivative_tests import dot_products
from airshed.inverse.verify.recording import record_case
from airshed.models.air.programs import one_step

pytestmark = pytest.mark.standard

EXACT = 1e-12


def heavy_rain(folder: Path, **more: Any) -> airshed.Case:
    """Return a case in which rain takes HNO3 within 3 s: in a piece of a step the formula alone goes below zero."""
    rain = {"wet_deposition": {"coefficients": {"HNO3": "0.3 1/s"}}, "boundary": {"values": {"O3": "50 ppb"}}}
    return small_case(folder, **{**SCHEMES["ros3"], **rain, **more})


def acid(case: airshed.Case) -> xr.Dataset:
    return xr.Dataset({"HNO3": (("level", "lat", "lon"), np.full(case.make_grid().shape, 1e-9))})


def made_by_clipping(run: airshed.Simulation, name: str, until: str) -> float:
    """Return the clipped amount of a species relative to its initial amount."""
    there = float(run.model.amounts()[run.model.network.index(name)])
    run.run(until=until)
    return float(run.budget().sel(species=name).clipped) / there


def test_what_is_washed_out_fast_makes_no_mass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the negative control without the second attempt, with its notice in the summary."""
    case = heavy_rain(tmp_path)
    with airshed.Simulation(case, initial=acid(case)) as run:
        assert made_by_clipping(run, "HNO3", "10 min") < 1e-4
        assert "clipping of negative values" not in str(run.summary())
    monkeypatch.setattr(one_step.OneStepRunner, "_clips_much", lambda runner, sums: False)
    with airshed.Simulation(case, initial=acid(case)) as run:
        assert made_by_clipping(run, "HNO3", "10 min") > 1e-2
        assert "clipping of negative values added" in str(run.summary())


def test_smooth_data_keep_their_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for most in (one_step.MOST_CLIPPED, 1e300):
        monkeypatch.setattr(one_step, "MOST_CLIPPED", most)
        case = small_case(tmp_path, **SCHEMES["ros3"])
        with airshed.Simulation(case, changing_weather(), initial=uneven(case)) as run:
            run.run(until="30 min")
            found.append(run["O3"].values)
    assert np.array_equal(*found)


def test_threads_give_the_same_bits(tmp_path: Path) -> None:
    found = []
    for threads in (1, 2):
        case = heavy_rain(tmp_path, run={"threads": threads})
        with airshed.Simulation(case, initial=acid(case)) as run:
            run.run(until="15 min")
            found.append(run["HNO3"].values)
    assert np.array_equal(*found)


def test_derivatives_are_those_of_the_steps_that_were_made(tmp_path: Path) -> None:
    case = heavy_rain(tmp_path)
    run = record_case(case, steps=3, initial=acid(case))[0]
    again = [stage.forcing.weights.c1 == 0.0 for step in run.steps for stage in step.formula_steps][1::2]
    assert any(again)
    assert dot_products(run).worst < EXACT


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize(("thickness", "diffusivity", "step"), [(5, 1, 300), (5, 1, 100), (50, 50, 300), (5, 50, 300)])
def test_a_spike_that_mixes_fast_makes_no_mass(
    thickness: int, diffusivity: int, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K dt/dz2 of 12, 4, 6 and 600; without the second attempt the first step makes 2 % at 12."""
    levels = 12
    puff = np.zeros(levels)
    puff[levels // 2] = 1e-8
    case = airshed.Case.from_dict({
        "grid": {"area": {"lon": [0, 0.5], "lat": [50, 50.5]}, "spacing": "0.5 deg",
                 "layers": [f"{thickness * (k + 1)} m" for k in range(levels)]},
        "time": {"start": "2022-06-01T00:00:00Z", "length": "1 h", "step": f"{step} s"},
        "chemistry": {"mechanism": "tracer", "integrator": "strang"}, "deposition": {"scheme": "none"},
    })  # fmt: skip
    air = xr.Dataset({
        "eastward_wind": 0.0, "northward_wind": 0.0, "air_temperature": 280.0, "air_pressure": 1e5,
        "atmosphere_heat_diffusivity": float(diffusivity),
    })  # fmt: skip
    initial = xr.Dataset({"TRACER": (("level",), puff)})
    with airshed.Simulation(case, meteorology=air, initial=initial) as run:
        assert made_by_clipping(run, "TRACER", "1 h") < 1e-4
    monkeypatch.setattr(one_step.OneStepRunner, "_clips_much", lambda runner, sums: False)
    with airshed.Simulation(case, meteorology=air, initial=initial) as run:
        assert (made_by_clipping(run, "TRACER", "1 h") > 1e-3) == (diffusivity * step / thickness**2 in (6, 12))
