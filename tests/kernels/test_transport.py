"""Conservation by compiled transport: uniform air, mass, positive values; and the limits of these properties."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from airshed.kernels.abi import TERMS
from airshed.kernels.backends.cpu.kernel import StepKernel
from airshed.kernels.backends.cpu.stepper import Stepper
from airshed.kernels.step.reference import Fields
from airshed.kernels.step.trial import CELL_AIR, Trial, compiled_step, forcing, make_stepper, random_trial
from airshed.kernels.transport.reference import AirFluxes, BoundaryValues
from airshed.process.vertical import outflow_rate, upward_air_flux
from airshed.program.weights import two_step_weights

Compiled = Callable[..., StepKernel]

STEP = 100.0
EULER = two_step_weights(STEP, None)
CLIPPED = TERMS.index("clipped")


def at_rest(kernel: StepKernel, rows: int, columns: int, *, seed: int = 0, boundary: float = 0.0) -> Trial:
    """A trial from rest with transport alone and the same mixing ratio all around; it awaits state and air fluxes."""
    trial = random_trial(kernel, (rows, columns), EULER, seed=seed, sources=False)
    sides, top = np.full_like(trial.setup.boundary.sides, boundary), np.full_like(trial.setup.boundary.top, boundary)
    return replace(
        trial, setup=replace(trial.setup, boundary=BoundaryValues(sides, top)), columns=(trial.columns[0],) * 2
    )


def holding(trial: Trial, q: np.ndarray, air: np.ndarray) -> Trial:
    """The trial with these mixing ratios and this air, for an Euler step."""
    return replace(trial, fields=Fields(q, q, 0.0 * q, air, air, 0.0 * air))


def amounts(stepper: Stepper) -> np.ndarray:
    """Amount of each species [mol]."""
    unpack = stepper.layout.unpack
    return np.sum(unpack(stepper.state.q) * unpack(stepper.state.air), axis=(1, 2, 3))


# ---- a uniform mixing ratio ------------------------------------------------------------------------------------------


def drift(kernel: StepKernel, divergent: bool, *, spoil: float = 1.0) -> float:
    """Return the drift of a uniform mixing ratio in 60 steps of changing length, with new winds every five steps.

    spoil  factor on the stored air tendency
    """
    shape = (kernel.shape.levels, 5, 13)
    air = CELL_AIR * np.random.default_rng(9).uniform(0.9, 1.1, shape)
    base = holding(at_rest(kernel, 5, 13, boundary=1.25e-9), np.full((2, *shape), 1.25e-9), air)
    stepper, worst, previous = make_stepper(kernel, base), 0.0, None
    for number in range(60):
        length = STEP if number < 30 else 80.0 + number
        fluxes = random_trial(kernel, (5, 13), EULER, seed=number // 5, wind=0.01).air_fluxes
        if not divergent:
            fluxes = tuple(replace(f, upward=upward_air_flux(f.eastward, f.northward, np.zeros(shape))) for f in fluxes)
        trial = replace(base, air_fluxes=fluxes, weight=number % 5 / 5.0, weights=two_step_weights(length, previous))
        stepper.step(trial.weights, *forcing(trial, stepper.layout))
        stepper.state.air_tendency[...] *= spoil
        worst = max(worst, float(np.abs(stepper.layout.unpack(stepper.state.q) / 1.25e-9 - 1.0).max()))
        previous = length
    assert stepper.layout.unpack(stepper.state.air).min() > 0.2 * CELL_AIR
    return worst


@pytest.mark.parametrize("divergent", [False, True])
def test_a_uniform_mixing_ratio_stays_uniform(compiled: Compiled, divergent: bool) -> None:
    assert drift(compiled("tracer", 3), divergent) < 1e-14


def test_with_other_air_than_that_of_the_formula_it_drifts(compiled: Compiled) -> None:
    assert drift(compiled("tracer", 3), divergent=True, spoil=1.001) > 1e-6


# ---- mass ------------------------------------------------------------------------------------------------------------


def eddies(levels: int, rows: int, columns: int, seed: int) -> AirFluxes:
    """Random air fluxes of two stream functions: no divergence, closed edges, cells lose up to CELL_AIR a second."""
    random = np.random.default_rng(seed)
    flat, upright = np.zeros((levels, rows + 1, columns + 1)), np.zeros((levels + 1, rows, columns + 1))
    for stream in (flat, upright):
        stream[..., 1:-1] = random.normal(size=(*stream.shape[:2], columns - 1))
    flat[:, [0, -1]], upright[[0, -1]] = 0.0, 0.0
    east, north = np.diff(upright, axis=0) - np.diff(flat, axis=1), np.diff(flat, axis=2)
    up = -np.diff(upright[1:], axis=2)
    scale = CELL_AIR / outflow_rate(east, north, up, np.ones_like(up)).max()
    return AirFluxes(scale * east, scale * north, scale * up)


def mass_change(kernel: StepKernel, wind: float) -> tuple[float, float]:
    """Return the relative change of the amount in 40 steps without clipping, and the share of clipping.

    wind  additional wind through the area, in parts of CELL_AIR a second
    """
    some = random_trial(kernel, (6, 13), EULER, seed=5)
    trial = holding(at_rest(kernel, 6, 13), some.fields.q, some.fields.air)
    mixing = {"exchange": 1e-3 * some.columns[0].fields["exchange"]}
    column = replace(trial.columns[0], fields={**trial.columns[0].fields, **mixing})
    fluxes = tuple(eddies(kernel.shape.levels, 6, 13, seed) for seed in range(2))
    fluxes = tuple(replace(flux, eastward=flux.eastward + wind * CELL_AIR) for flux in fluxes)
    trial = replace(trial, columns=(column, column), air_fluxes=fluxes)
    stepper, previous, added, added_before = make_stepper(kernel, trial), None, 0.0, 0.0
    before = amounts(stepper)
    for number in range(40):
        length = 0.3 if number % 7 else 0.25
        weights = two_step_weights(length, previous)
        trial = replace(trial, weight=number / 40.0, weight_z=number / 40.0)
        sums = stepper.step(weights, *forcing(trial, stepper.layout))
        added, added_before = weights.c0 * added + weights.c1 * added_before + sums[CLIPPED], added
        previous = length
    return float(np.abs((amounts(stepper) - added) / before - 1.0).max()), float(np.max(added / before))


def test_mass_is_conserved_behind_closed_boundaries(compiled: Compiled) -> None:
    change, clipped = mass_change(compiled("tracer", 3), 0.0)
    assert change < 1e-13
    assert clipped < 1e-4


def test_it_is_not_behind_open_ones(compiled: Compiled) -> None:
    assert mass_change(compiled("tracer", 3), 0.01)[0] > 1e-3


@pytest.mark.parametrize(("name", "levels"), [("toy", 2), ("emep", 3)])
@pytest.mark.parametrize("previous", [None, 80.0])
def test_the_budget_of_a_step_closes(compiled: Compiled, name: str, levels: int, previous: float | None) -> None:
    """A q = c0 A q + c1 A q + t0 T + t1 T + g (chemistry - deposition + emission) + clipped, summed over all cells."""
    kernel, w = compiled(name, levels), two_step_weights(STEP, previous)
    trial = random_trial(kernel, (5, 11), w, seed=6, sweeps=2)
    step, old = compiled_step(kernel, trial), trial.fields
    sums = dict(zip(kernel.terms, step.sums, strict=True))
    emitted = np.zeros(len(old.q))
    emitted[list(trial.setup.emitted)] = trial.columns[0].emission.sum(axis=(1, 2, 3))

    def total(field: np.ndarray) -> np.ndarray:
        return np.sum(field, axis=(1, 2, 3))

    parts = np.stack([
        w.c0 * total(old.air * old.q), w.c1 * total(old.air_previous * old.q_previous), w.t1 * total(old.tendency),
        w.t0 * sums["inflow"], -w.t0 * sums["outflow"], w.g * emitted, -w.g * sums["deposited"],
        w.g * sums["chemistry"], sums["clipped"],
    ])  # fmt: skip
    residual = total(step.fields.air * step.fields.q) - parts.sum(axis=0)
    assert np.all(np.abs(residual) < 1e-13 * np.abs(parts).max(axis=0))
    assert np.all(np.abs(residual - 1e-9 * parts[0]) > 1e-13 * np.abs(parts).max(axis=0))  # a billionth would show


# ---- positive values -------------------------------------------------------------------------------------------------


def rough(kernel: StepKernel, rows: int, columns: int, seed: int) -> np.ndarray:
    """Mixing ratios over eight decades, independent from cell to cell, a part of them zero."""
    random = np.random.default_rng(seed)
    shape = (2, kernel.shape.levels, rows, columns)
    return np.exp(random.uniform(np.log(1e-8), 0.0, shape)) * (random.uniform(size=shape) > (0.1, 0.5, 0.9)[seed % 3])


def flow(kind: str, levels: int, rows: int, columns: int, seed: int) -> AirFluxes:
    """Air fluxes out of cells that nowhere add up to more than the air content per second."""
    random = np.random.default_rng(100 + seed)
    shape = (levels, rows, columns)
    east, north, up = np.zeros((levels, rows, columns + 1)), np.zeros((levels, rows + 1, columns)), np.zeros(shape)
    if kind == "1-D":
        east[...] = random.choice([-1.0, 1.0])
    elif kind == "2-D":
        share = random.uniform()
        east[...], north[...] = random.choice([-share, share]), random.choice([share - 1.0, 1.0 - share])
    else:
        east, north = random.normal(size=east.shape), random.normal(size=north.shape)
        up = upward_air_flux(east, north, up)
    scale = CELL_AIR / outflow_rate(east, north, up, np.ones(shape)).max()
    return AirFluxes(scale * east, scale * north, scale * up)


def clipped_share(kernel: StepKernel, kind: str, lengths: list[float], seeds: range) -> float:
    """Return the relative amount added by clipping to rough data, the worst of many flows; lengths: Courant numbers."""
    rows, columns = {"1-D": (1, 200), "2-D": (20, 24), "3-D": (8, 8)}[kind]
    worst = 0.0
    for seed in seeds:
        q, air = rough(kernel, rows, columns, seed), np.full((kernel.shape.levels, rows, columns), CELL_AIR)
        trial = holding(at_rest(kernel, rows, columns, seed=seed), q, air)
        fluxes = flow(kind, kernel.shape.levels, rows, columns, seed)
        trial = replace(trial, air_fluxes=(fluxes, fluxes))
        stepper, previous, clipped = make_stepper(kernel, trial), None, 0.0
        packed = forcing(trial, stepper.layout)
        for length in lengths:
            clipped += float(stepper.step(two_step_weights(length, previous), *packed)[CLIPPED].sum())
            previous = length
        worst = max(worst, clipped / float(np.sum(q * air)))
    return worst


ROUND_OFF = 1e-18


@pytest.mark.parametrize(("kind", "courant"), [("1-D", 0.45), ("2-D", 0.25), ("3-D", 0.25)])
def test_rough_data_stay_positive(compiled: Compiled, kind: str, courant: float) -> None:
    """Return the largest sum of Courant numbers without negative values, from an Euler start, at equal steps."""
    assert clipped_share(compiled("tracer", 3), kind, [courant] * 12, range(24)) < ROUND_OFF


@pytest.mark.parametrize("kind", ["1-D", "2-D", "3-D"])
def test_single_euler_steps_stay_positive_up_to_a_half(compiled: Compiled, kind: str) -> None:
    assert clipped_share(compiled("tracer", 3), kind, [0.499], range(24)) < ROUND_OFF


def test_at_the_default_courant_number_little_is_clipped(compiled: Compiled) -> None:
    """Rough data in two dimensions at 0.4: the step after the Euler step goes below zero, by a hundred-thousandth."""
    assert ROUND_OFF < clipped_share(compiled("tracer", 3), "2-D", [0.4] * 12, range(24)) < 5e-5


def test_steps_may_grow_by_a_tenth(compiled: Compiled) -> None:
    kernel = compiled("tracer", 3)
    assert clipped_share(kernel, "2-D", [0.2] * 8 + [0.22, 0.242] + [0.25] * 3, range(24)) < ROUND_OFF
    assert clipped_share(kernel, "2-D", [0.25] * 8 + [0.1, 0.1], range(24)) < ROUND_OFF  # and shrink as they like


def test_where_positivity_ends(compiled: Compiled) -> None:
    """Controls: far too long steps, and steps that double right after the Euler step."""
    kernel = compiled("tracer", 3)
    assert clipped_share(kernel, "2-D", [0.7] * 4, range(6)) > 1e-4
    assert clipped_share(kernel, "2-D", [0.1, 0.2], range(24)) > ROUND_OFF
