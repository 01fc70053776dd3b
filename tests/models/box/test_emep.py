"""The EMEP test problem compared with its published end state: error of a coarse step, order, precision."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr

from airshed.core.files import resource
from airshed.kernels.schedule import reference_lifetimes, schedule
from airshed.mechanism import ReactionNetwork
from airshed.models.box import BoxConditions
from airshed.models.box.run import BoxRun, box

LONG_LIVED = ("O3", "PAN", "HNO3", "H2O2")
ABUNDANT = 1e3  # [molecules cm-3] excludes O(3P) and O(1D), which are absent at night

Problem = Callable[..., BoxConditions]


def published() -> dict[str, float]:
    path = resource("cases/emep-box") / "reference.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return {row["species"]: float(row["end [molecules cm-3]"]) for row in csv.DictReader(file)}


REFERENCE = published()


def errors(series: xr.Dataset) -> dict[str, float]:
    """Return the relative error of the end state for all abundant species."""
    return {name: abs(float(series[name][-1]) / end - 1.0) for name, end in REFERENCE.items() if end > ABUNDANT}


def observed_orders(coarse: Sequence[float], fine: Sequence[float]) -> np.ndarray:
    return np.log2(np.array(coarse) / np.array(fine))


@pytest.fixture(scope="module")
def converging(emep: ReactionNetwork, problem: Problem) -> list[dict[str, float]]:
    """Return the errors for two step lengths with a ratio of 2, with enough sweeps to solve the implicit equations."""
    return [errors(box(emep, problem(solver__step=f"{step} s", solver__sweeps=12))) for step in (75, 37.5)]


def test_reference_is_complete(emep: ReactionNetwork) -> None:
    assert list(REFERENCE) == list(emep.names)
    assert sum(end > ABUNDANT for end in REFERENCE.values()) == 64


@pytest.mark.compiles
def test_two_sweeps_at_five_minutes(emep: ReactionNetwork, problem: Problem) -> None:
    conditions = problem()
    assert (conditions.solver.step.value, conditions.solver.sweeps) == (300.0, 2)
    error = errors(box(emep, conditions))
    bounds = {"O3": 0.01, "NO2": 0.012, "PAN": 0.003, "HNO3": 0.01, "H2O2": 0.01, "NO": 0.06, "OH": 0.06}
    assert all(error[name] < bound for name, bound in bounds.items()), {name: error[name] for name in bounds}


@pytest.mark.thorough
@pytest.mark.compiles
def test_fewer_sweeps_and_longer_steps_are_worse(emep: ReactionNetwork, problem: Problem) -> None:
    two, one, long = (
        errors(box(emep, problem(solver__sweeps=sweeps, solver__step=step)))["O3"]
        for sweeps, step in ((2, "300 s"), (1, "300 s"), (1, "600 s"))
    )
    assert two < one < 0.012 < long


def test_order_of_a_sweep_goes_by_lifetimes_in_daytime_air(emep: ReactionNetwork) -> None:
    """NO2 is in balance with radicals; NO has a longer lifetime in air without other conditions."""
    order = [emep.names[species] for species in schedule(emep, 1).order]
    radicals = ("OH", "HO2", "NO", "NO3", "CH3COO", "CH3O2", "SECC4H", "ISRO2")
    assert all(order.index(radical) < order.index("NO2") < order.index("O3") for radical in radicals)
    lifetimes = dict(zip(emep.names, reference_lifetimes(emep), strict=True))
    assert 0.05 < lifetimes["OH"] < 2.0
    assert 5.0 < lifetimes["HO2"] < 200.0
    assert 10.0 < lifetimes["NO"] < 200.0
    assert 50.0 < lifetimes["NO2"] < 300.0
    assert reference_lifetimes(replace(emep, initial={}))[emep.index("NO")] > 2.0 * lifetimes["NO"]


@pytest.mark.thorough
@pytest.mark.compiles
def test_converges_with_second_order(converging: list[dict[str, float]]) -> None:
    for coarse, fine in pairwise(converging):
        orders = observed_orders([coarse[name] for name in LONG_LIVED], [fine[name] for name in LONG_LIVED])
        assert np.all((orders > 1.7) & (orders < 2.3)), dict(zip(LONG_LIVED, orders, strict=True))


@pytest.mark.thorough
@pytest.mark.compiles
def test_converges_to_the_published_state(converging: list[dict[str, float]]) -> None:
    finest = converging[-1]
    assert max(finest[name] for name in (*LONG_LIVED, "NO", "NO2")) < 2e-5
    assert finest["O3"] < 4e-6
    assert sorted(finest.values())[-1] < 2e-3  # N2O5, which changes rapidly at the end, at sunset
    assert float(np.median(list(finest.values()))) < 2e-5


@pytest.mark.thorough
@pytest.mark.compiles
def test_without_restarts_the_order_is_lost(emep: ReactionNetwork, problem: Problem) -> None:
    coarse, fine = (
        errors(box(emep, problem(solver__step=f"{step} s", solver__sweeps=16, time__restarts=[]))) for step in (150, 75)
    )
    assert observed_orders([coarse["O3"]], [fine["O3"]])[0] < 1.3
    assert fine["O3"] > 1e-4


@pytest.mark.thorough
@pytest.mark.compiles
def test_single_precision_is_close(emep: ReactionNetwork, problem: Problem) -> None:
    double, single = (box(emep, problem(solver__precision=each)) for each in ("double", "single"))
    difference = max(abs(float(single[name][-1] / double[name][-1]) - 1.0) for name in errors(double))
    assert 1e-9 < difference < 2e-4
    assert float(abs(single["O3"] / double["O3"] - 1.0).max()) < 5e-5
    assert (single.attrs["precision"], double.attrs["precision"]) == ("single", "double")


@pytest.mark.thorough
@pytest.mark.compiles
def test_the_iteration_converges(emep: ReactionNetwork, problem: Problem) -> None:
    ends = [
        box(emep, problem(time__length="24 h", solver__step="60 s", solver__sweeps=sweeps))["O3"][-1]
        for sweeps in (2, 16, 32)
    ]
    assert abs(float(ends[1] / ends[2]) - 1.0) < 1e-8 < abs(float(ends[0] / ends[2]) - 1.0)


@pytest.mark.thorough
@pytest.mark.compiles
def test_the_same_bits_again(emep: ReactionNetwork, problem: Problem) -> None:
    first, second = (box(emep, problem(time__length="6 h")) for _ in range(2))
    assert first.identical(second)


@pytest.mark.thorough
@pytest.mark.compiles
def test_almost_nothing_is_clipped(emep: ReactionNetwork, problem: Problem) -> None:
    run = BoxRun(emep, problem())
    run.run()
    assert run.model.cells.steps == 1344
    assert 0.0 <= run.model.cells.clipped.max() < 100.0
