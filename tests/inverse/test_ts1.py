"""Gradients of MOZART TS1, 206 species with photolysis and open rates, in three dimensions and across restarts."""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from benchmarks.chemistry.problems import problem
from tests.laws.derivatives import remainders_in_some_direction, replay_of

import airshed
from airshed.inverse import Options, sensitivity
from airshed.inverse.reverse.direction import BOUNDARY, EMISSION, INITIAL, RATES
from airshed.inverse.verify.derivative_tests import dot_products
from airshed.inverse.verify.recording import record_case
from airshed.kernels.schedule import NOON

pytestmark = [pytest.mark.thorough, pytest.mark.compiles]

SIZES = (1e-2, 1e-3, 1e-4)
KINDS = {INITIAL, RATES, EMISSION, BOUNDARY}
RECEPTOR = {"species": "O3", "lon": -28.75, "lat": 41.25, "time": "20 min"}


def case(folder: Path, integrator: str, **adjoint: Any) -> airshed.Case:
    """Return a case of twenty minutes at noon over 3 x 3 columns of sea with a chimney."""
    return airshed.Case.from_dict({
        "grid": {"area": {"lon": [-30.0, -28.5], "lat": [40.0, 41.5]}, "spacing": "0.5 deg",
                 "layers": ["50 m", "200 m", "1000 m"]},
        "time": {"start": "2022-06-21T13:00:00Z", "length": "20 min", "step": "2 min"},
        "chemistry": {"mechanism": "musica:ts1", "integrator": integrator},
        "meteorology": {"kind": "uniform", "temperature": "288 K", "eastward": "5 m/s", "northward": "3 m/s",
                        "rotation": "60 h", "diffusivity": "5 m2/s", "water_vapour": "0.01 mol/mol"},
        "emissions": {"point": [{"species": "NO", "lon": -29.3, "lat": 40.8, "height": "20 m", "rate": "50 mol/s"}]},
        "boundary": {"values": {"O3": "45 ppb", "CO": "120 ppb", "NO2": "0.5 ppb"}},
        "deposition": {"scheme": "none", "velocities": {"O3": "0.4 cm/s"}},
        "restart": {"every": "5 min"}, "adjoint": adjoint, "run": {"threads": 1},
    }, base=folder)  # fmt: skip


def uneven() -> xr.Dataset:
    """Return balanced air at noon, perturbed by up to 50 % in each cell."""
    balanced, random = problem("ts1", 1), np.random.default_rng(3)
    shares = np.maximum(balanced.initial[:, 0], 0.0) / NOON["M"]
    species = zip(balanced.network.names, shares, strict=True)
    axes = "level", "lat", "lon"
    return xr.Dataset({
        name: (axes, share * random.uniform(0.5, 1.5, (3, 3, 3))) for name, share in species
        if 0.0 < share < 1e-3
    })  # fmt: skip


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_the_adjoint_of_steps(tmp_path: Path, integrator: str) -> None:
    run, _ = record_case(case(tmp_path, integrator), steps=4, initial=uneven())
    assert len(run.network.names) == 206  # without O2, N2 and H2O, which are constituents of air
    found = dot_products(run)
    assert set(found.errors) >= KINDS
    assert found.worst < 1e-12
    with closing(replay_of(run)) as replay:
        orders = {kind: remainders_in_some_direction(replay, kind, SIZES) for kind in KINDS}
    assert {kind: str(each) for kind, each in orders.items() if not each.ok} == {}


class StoppedError(Exception):
    """Simulated kill."""


def stop(now: str, done: float) -> None:
    if now == "backward" and done >= 0.5:
        raise StoppedError


def test_the_gradient_across_restarts_and_commits(tmp_path: Path) -> None:
    """Repeated steps from restarts, and a stopped gradient, give the same bits as a run with all levels in memory."""
    initial = uneven()
    whole = sensitivity(case(tmp_path, "imex", plan="all"), RECEPTOR, initial=initial)
    assert float(np.abs(whole["rate"]).max()) > 0.0
    again = case(tmp_path, "imex", plan="two-level", memory="4 MiB", disk="1 GiB", commit="0 s")
    with pytest.raises(StoppedError):
        sensitivity(again, RECEPTOR, initial=initial, options=Options(resume=tmp_path / "commits"), progress=stop)
    found = sensitivity(again, RECEPTOR, initial=initial, options=Options(resume=tmp_path / "commits"))
    assert {name for name in whole.variables if not found[name].identical(whole[name])} == set()
