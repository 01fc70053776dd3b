"""The compiled step equals its NumPy reference for any inputs; the comparison detects planted changes."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from airshed.formula.tree import Binary, Number
from airshed.kernels.backends.cpu.kernel import StepKernel
from airshed.kernels.boundary import FaceCells
from airshed.kernels.step.arguments import SIDES, Side
from airshed.kernels.step.reference import Fields
from airshed.kernels.step.trial import (
    Trial,
    compiled_step,
    difference,
    forcing,
    make_stepper,
    random_trial,
    reference_step,
    with_boundary,
)
from airshed.program.weights import two_step_weights

from .conftest import toy_of_all_kinds
from .tiles import wind_from

Compiled = Callable[..., StepKernel]

DOUBLE, SINGLE = 1e-13, 1e-5

WEIGHTS = {
    "Euler": two_step_weights(100.0, None),
    "equal steps": two_step_weights(100.0, 100.0),
    "longer step": two_step_weights(130.0, 100.0),
    "shorter step": two_step_weights(40.0, 100.0),
}

SHAPES = [(1, 1), (1, 9), (2, 5), (2, 8), (3, 17), (4, 11), (9, 16), (5, 37), (7, 9)]
"""Rows x columns: at both edges at once, one column in the last pack, packs that are full, and in between."""


def compare(kernel: StepKernel, trial: Trial) -> float:
    return difference(compiled_step(kernel, trial), reference_step(trial), trial.weights.g)


def compare_all(kernel: StepKernel, shape: tuple[int, int]) -> None:
    """Compare steps of all weights."""
    for seed, weights in enumerate(WEIGHTS.values()):
        trial = random_trial(kernel, shape, weights, seed=seed, sweeps=1 + seed % 3)
        assert compare(kernel, trial) < DOUBLE
        for cells in (1, 2):
            assert compare(kernel, with_boundary(trial, seed, cells)) < DOUBLE


@pytest.mark.parametrize("shape", SHAPES[::2], ids=str)
@pytest.mark.parametrize(("name", "levels"), [("tracer", 3), ("toy", 1), ("toy", 2)])
def test_the_kernel_equals_its_twin(compiled: Compiled, name: str, levels: int, shape: tuple[int, int]) -> None:
    compare_all(compiled(name, levels), shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_kinds_of_operators_at_once_equal_the_twin(shape: tuple[int, int]) -> None:
    compare_all(toy_of_all_kinds(), shape)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_kernel_of_many_levels_equals_its_twin(compiled: Compiled, shape: tuple[int, int]) -> None:
    compare_all(compiled("toy", 20), shape)


@pytest.mark.parametrize(("sweeps", "weights"), [*enumerate(WEIGHTS.values())], ids=WEIGHTS)
def test_the_kernel_of_a_large_mechanism_equals_its_twin(compiled: Compiled, weights: Any, sweeps: int) -> None:
    kernel = compiled("emep", 3)
    assert compare(kernel, random_trial(kernel, (4, 11), weights, seed=sweeps, sweeps=max(sweeps, 1))) < DOUBLE


@pytest.mark.parametrize("name", ["toy", "emep"])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_single_precision_is_close_to_the_twin(compiled: Compiled, name: str, weights: Any) -> None:
    kernel = toy_of_all_kinds("single") if name == "toy" else compiled(name, 3, "single")
    trial = random_trial(kernel, (4, 11), weights, seed=5, sweeps=2)
    assert compare(kernel, trial) < SINGLE
    assert compare(kernel, with_boundary(trial, cells=2)) < SINGLE


def compare_widths(compiled: Compiled, precision: str, width: int, group: int) -> None:
    kernel = compiled("toy", 2, precision, tuning=(width, group))
    for columns in (3, 17, 21):
        trial = random_trial(kernel, (3, columns), WEIGHTS["equal steps"], seed=columns, sweeps=2)
        assert compare(kernel, trial) < (DOUBLE if precision == "double" else SINGLE)


@pytest.mark.compiles
def test_packs_of_four_columns_and_species_one_by_one_give_the_same(compiled: Compiled) -> None:
    compare_widths(compiled, "double", 4, 1)


@pytest.mark.thorough
@pytest.mark.parametrize(("width", "group"), [(4, 2), (16, 5)])
def test_neither_the_width_of_packs_nor_of_groups_matters(compiled: Compiled, width: int, group: int) -> None:
    compare_widths(compiled, "single", width, group)


@pytest.mark.parametrize("wind", [0.0, 0.02])
@pytest.mark.parametrize("sources", [False, True])
def test_without_wind_or_sources_they_agree_too(wind: float, sources: bool) -> None:
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (3, 9), WEIGHTS["equal steps"], seed=3, wind=wind, sources=sources)
    assert compare(kernel, trial) < DOUBLE


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_forcing_is_linear_between_its_ends(compiled: Compiled, weight: float) -> None:
    kernel = compiled("toy", 2)
    trial = random_trial(kernel, (3, 5), WEIGHTS["equal steps"])
    trial = replace(trial, weight=weight, weight_z=1.0 - weight, column_weight=weight)
    assert compare(kernel, trial) < DOUBLE


def test_many_steps_of_changing_length_agree() -> None:
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (5, 9), WEIGHTS["Euler"], seed=11, sweeps=2, wind=0.03)
    stepper = make_stepper(kernel, trial)
    previous = None
    for length in (60.0, 60.0, 90.0, 45.0, 45.0):
        trial = replace(trial, weights=two_step_weights(length, previous))
        stepper.step(trial.weights, *forcing(trial, stepper.layout))
        trial = replace(trial, fields=reference_step(trial).fields)
        previous = length
    state = stepper.state
    arrays = (state.q, state.q_other, state.tendency, state.air, state.air_other, state.air_tendency)
    for field, packed in zip(fields(Fields), arrays, strict=True):
        twin = getattr(trial.fields, field.name)
        assert np.abs(stepper.layout.unpack(packed) - twin).max() < 10.0 * DOUBLE * np.abs(twin).max()


# ---- negative controls: one small change of the reference ------------------------------------------------------------

SLIGHTLY = 1.0 + 1e-5


def _column(trial: Trial, name: str, at: tuple[int, ...]) -> Trial:
    columns = [replace(column, **{name: getattr(column, name).copy()}) for column in trial.columns]
    for column in columns:
        getattr(column, name)[at] *= SLIGHTLY
    return replace(trial, columns=tuple(columns))


def _flux(trial: Trial, name: str, at: tuple[int, ...]) -> Trial:
    fluxes = [replace(flux, **{name: getattr(flux, name).copy()}) for flux in trial.air_fluxes]
    for flux in fluxes:
        getattr(flux, name)[at] = SLIGHTLY * getattr(flux, name)[at] + 1.0
    return replace(trial, air_fluxes=tuple(fluxes))


def _with_boundary(trial: Trial, name: str) -> Trial:
    changed = SLIGHTLY * getattr(trial.setup.boundary, name)
    return replace(trial, setup=replace(trial.setup, boundary=replace(trial.setup.boundary, **{name: changed})))


def _setup(trial: Trial, name: str) -> Trial:
    return replace(trial, setup=replace(trial.setup, **{name: SLIGHTLY * getattr(trial.setup, name)}))


def _rate(trial: Trial, label: str) -> Trial:
    mechanism = trial.setup.network
    reactions = tuple(
        replace(reaction, rate=Binary("*", Number(SLIGHTLY), reaction.rate)) if reaction.label == label else reaction
        for reaction in mechanism.reactions
    )
    return replace(trial, setup=replace(trial.setup, network=replace(mechanism, reactions=reactions)))


CHANGES: dict[str, Callable[[Trial], Trial]] = {
    "rate of a second-order reaction": lambda trial: _rate(trial, "self"),
    "rate of a photolysis": lambda trial: _rate(trial, "photo"),
    "rate of a zero-order reaction": lambda trial: _rate(trial, "zero"),
    "temperature": lambda trial: _column(trial, "temperature", (3, 1, 4)),
    "water": lambda trial: _column(trial, "water", (2, 0, 8)),
    "emission": lambda trial: _column(trial, "emission", (0, 2, 1, 7)),
    "eastward flux at the edge": lambda trial: _flux(trial, "eastward", (4, 1, 9)),
    "northward flux": lambda trial: _flux(trial, "northward", (4, 1, 3)),
    "upward flux": lambda trial: _flux(trial, "upward", (4, 1, 3)),
    "mixing ratios at the sides": lambda trial: _with_boundary(trial, "sides"),
    "mixing ratios above": lambda trial: _with_boundary(trial, "top"),
    "parabola weights": lambda trial: _setup(trial, "vertical_weights"),
    "air density": lambda trial: _setup(trial, "density_factor"),
    "oxygen": lambda trial: _setup(trial, "oxygen"),
    "order of species": lambda trial: replace(trial, setup=replace(trial.setup, order=trial.setup.order[::-1])),
    "number of sweeps": lambda trial: replace(trial, setup=replace(trial.setup, sweeps=3)),
    "omega": lambda trial: replace(trial, weights=two_step_weights(100.0, 100.01)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_comparison_notices_a_change(change: Callable[[Trial], Trial]) -> None:
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (3, 9), WEIGHTS["equal steps"], seed=2, sweeps=2)
    found = compiled_step(kernel, trial)
    assert difference(found, reference_step(trial), trial.weights.g) < DOUBLE
    assert difference(found, reference_step(change(trial)), trial.weights.g) > 10.0 * DOUBLE


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("side", SIDES)
def test_the_comparison_notices_the_boundary_of_a_face_cell(side: Side, cells: int) -> None:
    """Change an inflow face cell, a level and a species, or all of the farther cell, at one end of the interval."""
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (3, 9), WEIGHTS["equal steps"], seed=2, sweeps=2)
    trial = with_boundary(wind_from(side, trial), cells=cells)
    found = compiled_step(kernel, trial)
    assert difference(found, reference_step(trial), trial.weights.g) < DOUBLE
    changed = trial.boundary[1].copy()
    of_farther = slice(-len(kernel.network.species), None), slice(None)  # some faces at an extremum do not read it
    changed[(1, 2) if cells == 1 else of_farther][..., FaceCells(3, 9).places[side].stop - 1] += 1e-9
    twin = reference_step(replace(trial, boundary=(trial.boundary[0], changed)))
    assert difference(found, twin, trial.weights.g) > 10.0 * DOUBLE


def test_a_profile_has_the_bits_of_a_field_that_is_the_same_everywhere() -> None:
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (3, 9), WEIGHTS["equal steps"], seed=2, sweeps=2)
    field = np.repeat(trial.setup.boundary.sides[..., None], FaceCells(3, 9).count, axis=-1)
    one, other = compiled_step(kernel, trial), compiled_step(kernel, replace(trial, boundary=(field, field)))
    assert all(np.array_equal(getattr(one.fields, name), each) for name, each in vars(other.fields).items())
    assert np.array_equal(one.sums, other.sums)


@pytest.mark.parametrize("term", range(5))
def test_the_comparison_notices_a_budget(term: int) -> None:
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (3, 9), WEIGHTS["equal steps"], seed=2, sweeps=2)
    twin = reference_step(trial)
    sums = twin.sums.copy()
    sums[term] *= SLIGHTLY
    assert np.any(sums != twin.sums)
    assert difference(replace(twin, sums=sums), twin, trial.weights.g) > 10.0 * DOUBLE
    assert difference(replace(twin, imbalance=SLIGHTLY * twin.imbalance), twin, trial.weights.g) > 10.0 * DOUBLE
