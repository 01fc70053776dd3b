"""Operators of all kinds in the compiled step: they act as declared, close budgets, and conserve mass if required."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import KernelError
from airshed.formula import log, trace
from airshed.kernels.backends.cpu.kernel import StepKernel, compile_mechanism
from airshed.kernels.column.reference import OperatorInputs, explicit_tendency
from airshed.kernels.layout import MechanismShape
from airshed.kernels.operators import Operator, OperatorField, members, of_some_species
from airshed.kernels.operators import check as check_declared
from airshed.kernels.schedule import schedule
from airshed.kernels.step.emit import emit
from airshed.kernels.step.reference import StepResult
from airshed.kernels.step.trial import (
    Trial,
    changed,
    compiled_step,
    difference,
    forcing,
    make_stepper,
    random_trial,
    reference_step,
)
from airshed.kernels.transport.reference import BoundaryValues
from airshed.mechanism import ReactionNetwork
from airshed.program.weights import two_step_weights

from .conftest import toy_of_all_kinds
from .kinds import MIXING, deposition, every, rate

Compiled = Callable[..., StepKernel]

SPECIES = 5  # of toy
EVERY = every(SPECIES)
CONSERVING = tuple(each for each in EVERY if each.term is None)
DOUBLE, SINGLE = 1e-13, 1e-5
SLIGHTLY = 1.0 + 1e-4
STEPS = {"Euler": two_step_weights(100.0, None), "longer step": two_step_weights(130.0, 100.0)}


def conserving(species: int) -> tuple[Operator, ...]:
    return CONSERVING


def compare(kernel: StepKernel, trial: Trial) -> float:
    return difference(compiled_step(kernel, trial), reference_step(trial), trial.weights.g)


# ---- as declared -----------------------------------------------------------------------------------------------------


def test_in_single_precision_too() -> None:
    kernel = toy_of_all_kinds("single")
    for seed, weights in enumerate(STEPS.values()):
        assert compare(kernel, random_trial(kernel, (4, 11), weights, seed=seed, sweeps=2)) < SINGLE


@pytest.mark.compiles
def test_in_one_level_too(compiled: Compiled) -> None:
    kernel = compiled("toy", 1, operators=every)
    for seed, weights in enumerate(STEPS.values()):
        assert compare(kernel, random_trial(kernel, (4, 11), weights, seed=seed, sweeps=2)) < DOUBLE


KINDS = sorted({each.kind for each in EVERY})


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_alone_equals_the_twin(network: Callable[[str], ReactionNetwork], kind: str) -> None:
    inert = replace(network("toy"), name="inert", reactions=())
    kernel = compile_mechanism(inert, 3, operators=tuple(each for each in EVERY if each.kind == kind))
    trial = random_trial(kernel, (4, 11), STEPS["longer step"], seed=3)
    assert compare(kernel, trial) < DOUBLE
    wind = 1e-6 if kind == "face_flux" else 0.04
    still = random_trial(kernel, (4, 11), STEPS["longer step"], seed=3, sources=False, wind=wind)
    assert difference(compiled_step(kernel, trial), reference_step(still), trial.weights.g) > 1e-4  # it does something


@pytest.fixture(scope="module", name="found")
def found_fixture() -> tuple[Trial, StepResult]:
    """A trial of all kinds, and the result of the kernel for it."""
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (4, 11), STEPS["longer step"], seed=2, sweeps=2)
    return trial, compiled_step(kernel, trial)


@pytest.mark.parametrize("name", [member.key for member in members(EVERY)])
def test_a_change_of_any_field_or_number_is_noticed(found: tuple[Trial, StepResult], name: str) -> None:
    trial, step = found
    assert difference(step, reference_step(trial), trial.weights.g) < DOUBLE
    assert difference(step, reference_step(changed(trial, name, SLIGHTLY)), trial.weights.g) > 10.0 * DOUBLE


def test_a_change_of_any_budget_is_noticed(found: tuple[Trial, StepResult]) -> None:
    trial, step = found
    twin = reference_step(trial)
    for number in range(len(toy_of_all_kinds().terms)):
        sums = twin.sums.copy()
        sums[number] *= SLIGHTLY
        assert difference(step, replace(twin, sums=sums), trial.weights.g) > 10.0 * DOUBLE


def test_terms_of_budgets_come_in_the_order_of_operators(compiled: Compiled) -> None:
    own = ("deposited", "washed", "made", "ash", "settled")
    assert toy_of_all_kinds().terms == ("inflow", "outflow", "chemistry", "clipped", *own)
    assert compiled("toy", 2).terms == ("inflow", "outflow", "chemistry", "clipped", "deposited")


def test_numbers_may_change_between_steps() -> None:
    """Numbers without a value in the forcing keep their declared values."""
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (3, 9), STEPS["Euler"], seed=4)
    declared = {each.key: np.array(each.values) for each in members(EVERY) if each.shape is None}
    stepper = make_stepper(kernel, trial)
    transport, column = forcing(trial, stepper.layout)
    stepper.step(trial.weights, replace(transport, numbers={}), replace(column, numbers={}))
    q = stepper.layout.unpack(stepper.state.q)
    as_declared = replace(trial, setup=replace(trial.setup, numbers=declared))
    np.testing.assert_allclose(q, reference_step(as_declared).fields.q, rtol=1e-9, atol=1e-24)
    assert not np.allclose(q, reference_step(trial).fields.q, rtol=1e-6, atol=0.0)


# ---- conservation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("previous", [None, 80.0])
def test_the_budget_of_a_step_closes(previous: float | None) -> None:
    """Whatever is taken or given is in a term, also where values are clipped at zero."""
    kernel, w = toy_of_all_kinds(), two_step_weights(100.0, previous)
    trial = random_trial(kernel, (5, 11), w, seed=6, sweeps=2, wind=0.1)
    step, old = compiled_step(kernel, trial), trial.fields
    sums = dict(zip(kernel.terms, step.sums, strict=True))
    given = {each.term for each in EVERY if each.kind == "source"}
    signs = {term: 1.0 if term in given else -1.0 for term in kernel.shape.own_terms}
    emitted = np.zeros(SPECIES)
    emitted[list(trial.setup.emitted)] = trial.columns[0].emission.sum(axis=(1, 2, 3))

    def total(field: np.ndarray) -> np.ndarray:
        return np.sum(field, axis=(1, 2, 3))

    parts = np.stack([
        w.c0 * total(old.air * old.q), w.c1 * total(old.air_previous * old.q_previous), w.t1 * total(old.tendency),
        w.t0 * sums["inflow"], -w.t0 * sums["outflow"], w.g * emitted, w.g * sums["chemistry"], sums["clipped"],
        *(sign * w.g * sums[term] for term, sign in signs.items()),
    ])  # fmt: skip
    assert step.fields.air.min() > 0.0
    residual = total(step.fields.air * step.fields.q) - parts.sum(axis=0)
    assert np.all(np.abs(residual) < DOUBLE * np.abs(parts).max(axis=0))
    assert (sums["clipped"] > 0.0).any() == (previous is not None)  # where a weight is negative
    for term, sign in signs.items():  # a millionth of any would show
        spoiled = np.abs(residual - 1e-6 * sign * w.g * sums[term])
        assert np.any(spoiled > DOUBLE * np.abs(parts).max(axis=0)), term


@pytest.mark.compiles
def test_conserving_kinds_conserve(compiled: Compiled) -> None:
    kernel = compiled("tracer", 4, operators=conserving)
    trial = random_trial(kernel, (5, 11), STEPS["Euler"], seed=1, wind=0.02)
    calm = [replace(each, eastward=0.0 * each.eastward, northward=0.0 * each.northward, upward=0.0 * each.upward)
            for each in trial.air_fluxes]  # fmt: skip
    columns = [replace(each, emission=0.0 * each.emission) for each in trial.columns]
    trial = replace(trial, air_fluxes=(calm[0], calm[1]), columns=(columns[0], columns[1]),
                    fields=replace(trial.fields, air_tendency=0.0 * trial.fields.air_tendency))  # fmt: skip
    step = compiled_step(kernel, trial)

    def amounts(air: np.ndarray, q: np.ndarray) -> np.ndarray:
        return np.sum(air * q, axis=(1, 2, 3))

    before, after = amounts(trial.fields.air, trial.fields.q), amounts(step.fields.air, step.fields.q)
    np.testing.assert_allclose(after - step.sums[kernel.terms.index("clipped")], before, rtol=1e-13)
    assert np.abs(step.fields.q - trial.fields.q).max() > 0.1 * trial.fields.q.max()  # far from nothing


@pytest.mark.compiles
def test_without_the_wind_nothing_is_carried_and_the_air_stays(compiled: Compiled) -> None:
    calm = compiled("toy", 7, operators=lambda species: every(species)[1:])
    assert "FACE_FLUX = false" in calm.source.text
    trial = random_trial(calm, (4, 11), STEPS["Euler"], seed=5)
    trial = replace(trial, fields=replace(trial.fields, air_tendency=0.0 * trial.fields.air_tendency))
    step = compiled_step(calm, trial)
    assert compare(calm, trial) < DOUBLE
    np.testing.assert_array_equal(step.fields.air, trial.fields.air)
    assert not step.sums[:2].any()
    carried = toy_of_all_kinds()
    assert compiled_step(carried, trial).sums[:2].all()  # the same trial with the wind


def drift(kernel: StepKernel, wind: float, spoil: float = 1.0) -> float:
    """Return the spread of a uniform mixing ratio after steps in a random wind; `spoil` is a factor on one cell."""
    trial = random_trial(kernel, (5, 13), STEPS["Euler"], seed=1, wind=wind)
    uniform = np.full_like(trial.fields.q, 1.25e-9)
    uniform[0, 1, 2, 3] *= spoil
    around = BoundaryValues(
        np.full_like(trial.setup.boundary.sides, 1.25e-9), np.full_like(trial.setup.boundary.top, 1.25e-9)
    )
    columns = [replace(each, emission=0.0 * each.emission) for each in trial.columns]
    trial = replace(trial, fields=replace(trial.fields, q=uniform, q_previous=uniform, tendency=0.0 * uniform),
                    setup=replace(trial.setup, boundary=around), columns=(columns[0], columns[1]))  # fmt: skip
    return float(np.abs(compiled_step(kernel, trial).fields.q / 1.25e-9 - 1.0).max())


@pytest.mark.compiles
@pytest.mark.parametrize("wind", [0.0, 0.03])
def test_a_uniform_mixing_ratio_stays_uniform(compiled: Compiled, wind: float) -> None:
    kernel = compiled("tracer", 4, operators=conserving)
    assert drift(kernel, wind) < 1e-14
    assert drift(kernel, wind, spoil=1.001) > 1e-6


@pytest.fixture(name="by_hand")
def by_hand_fixture(network: Callable[[str], ReactionNetwork]) -> StepKernel:
    """Two levels through which the second tracer falls, and where the first one is lost."""
    lost = Operator(
        "lost", "loss", rate(lambda temperature, sign: log(sign * temperature) * 0.0), (0,), numbers={"sign": (1.0,)},
        term="lost",
    )  # fmt: skip
    falling = Operator("falling", "settling", rate(lambda speed: speed), (1,), (OperatorField("speed"),), term="fallen")
    return compile_mechanism(network("tracer"), 2, operators=(lost, falling))


def with_numbers(trial: Trial, **numbers: float) -> Trial:
    given = {name: np.full_like(trial.setup.numbers[name], value) for name, value in numbers.items()}
    return replace(trial, setup=replace(trial.setup, numbers={**trial.setup.numbers, **given}))


@pytest.mark.compiles
def test_settling_by_hand(by_hand: StepKernel) -> None:
    """A step of 100 s in two levels, each of 1e10 mol, through which a tracer falls by 1e8 mol/s of air."""
    trial = with_numbers(random_trial(by_hand, (2, 3), STEPS["Euler"], sources=False, wind=0.0), sign=1.0)
    speed = {"speed": np.full((2, 2, 3), 1e8)}
    air = np.full((2, 2, 3), 1e10)
    trial = replace(trial, columns=tuple(replace(each, fields=speed) for each in trial.columns),
                    fields=replace(trial.fields, air=air))  # fmt: skip
    step, before = compiled_step(by_hand, trial), trial.fields.q
    upper = before[1, 1] / (1.0 + 100.0 * 1e8 / 1e10)
    np.testing.assert_allclose(step.fields.q[1, 1], upper, rtol=1e-14)
    np.testing.assert_allclose(step.fields.q[1, 0], (before[1, 0] + upper) / 2.0, rtol=1e-14)
    np.testing.assert_allclose(step.fields.q[0], before[0], rtol=1e-14)
    np.testing.assert_allclose(step.sums[by_hand.terms.index("fallen")], [0.0, 1e8 * step.fields.q[1, 0].sum()])


@pytest.mark.compiles
@pytest.mark.parametrize("sign", [-1.0, 0.0], ids=["of a negative number", "of zero"])
def test_a_logarithm_that_is_none_is_told(by_hand: StepKernel, sign: float) -> None:
    """Clipping hides the difference in the state; the sums of all steps show it."""
    trial = with_numbers(random_trial(by_hand, (2, 3), STEPS["Euler"]), sign=sign)
    with np.errstate(all="ignore"):
        step, twin = compiled_step(by_hand, trial), reference_step(trial)
    assert np.isnan(twin.fields.q[0]).all()
    assert np.isnan(step.sums[by_hand.terms.index("lost"), 0])
    assert np.isfinite(step.fields.q[1]).all()
    assert np.isfinite(step.sums[:, 1]).all()


def test_plain_numbers_are_rates_in_the_reference_too() -> None:
    """Exchange of 2 mol/s through all faces, inside and at the edges, and matrices of ones, by hand."""
    q = np.arange(2.0 * 3.0 * 2.0 * 4.0).reshape(2, 3, 2, 4) ** 2
    reading = OperatorInputs({}, {}, {})
    both = Operator("both", "face_exchange", tuple(rate(lambda: 2.0)[0] for _ in range(2)))
    found = explicit_tendency((both,), reading, q)
    east, north = 2.0 * np.diff(q, axis=3), 2.0 * np.diff(q, axis=2)
    wanted = np.zeros_like(q)
    wanted[..., :-1] += east
    wanted[..., 1:] -= east
    wanted[..., :-1, :] += north
    wanted[..., 1:, :] -= north
    np.testing.assert_array_equal(found, wanted)
    ones = Operator("ones", "column_matrix", rate(lambda: 1.0))
    np.testing.assert_array_equal(explicit_tendency((ones,), reading, q), np.tile(q.sum(1, keepdims=True), (3, 1, 1)))


# ---- the same bits ---------------------------------------------------------------------------------------------------


def test_without_operators_there_is_no_code_for_them(network: Callable[[str], ReactionNetwork]) -> None:
    text = emit(network("toy"), schedule(network("toy"), 3), MechanismShape(8, "double", 4)).text
    assert "t.rate_" not in text
    assert "s.field_" not in text
    assert "t.rate_washout" in toy_of_all_kinds().source.text


@pytest.mark.parametrize("precision", ["double", "single"])
def test_threads_give_the_same_bits(precision: str) -> None:
    kernel = toy_of_all_kinds(precision)
    trial = random_trial(kernel, (9, 19), STEPS["longer step"], seed=7, sweeps=2)
    one = compiled_step(kernel, trial)
    for threads in (2, 4):
        several = compiled_step(kernel, trial, threads)
        assert all(np.array_equal(getattr(several.fields, name), array) for name, array in vars(one.fields).items())
        assert several.sums.tobytes() == one.sums.tobytes()


def test_an_operator_on_none_of_some_species_is_allowed_whatever_its_numbers() -> None:
    (rate,) = trace(lambda strength: strength).outputs
    loss = Operator("loss", "loss", (rate,), (0, 1), numbers={"strength": (1.0, 2.0)}, term="lost")
    check_declared([of_some_species(loss, slice(2, 4))], 2)
    with pytest.raises(KernelError, match="one value, or one per species"):
        check_declared([replace(loss, numbers={"strength": (1.0, 2.0, 3.0)})], 2)


@pytest.mark.compiles
def test_of_some_species_an_operator_is_the_same(network: Callable[[str], ReactionNetwork]) -> None:
    inert = replace(network("toy"), name="inert", reactions=())
    whole = compile_mechanism(inert, 4, operators=EVERY)
    trial = random_trial(whole, (4, 9), STEPS["Euler"], seed=1)
    some = slice(1, 4)
    cut = tuple(of_some_species(each, some) for each in EVERY)
    part = compile_mechanism(replace(inert, species=inert.species[some]), 4, operators=cut)
    assert part.terms == whole.terms
    kept = {field.name: [slot for slot, number in enumerate(each.species) if number in range(1, 4)]
            for each in EVERY for field in each.fields if field.species}  # fmt: skip

    def fields(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: array[kept[name]] if name in kept else array for name, array in arrays.items()}

    numbers = {member.key: np.array(member.values) for member in members(cut) if member.shape is None}
    whole_numbers = {member.key: np.array(member.values) for member in members(EVERY) if member.shape is None}
    around = BoundaryValues(trial.setup.boundary.sides[some], trial.setup.boundary.top[some])
    bare = tuple(replace(each, emission=each.emission[:0]) for each in trial.columns)
    trial = replace(trial, columns=bare, setup=replace(trial.setup, emitted=(), numbers=whole_numbers))
    of_part = replace(
        trial, columns=tuple(replace(each, fields=fields(dict(each.fields))) for each in bare),
        setup=replace(trial.setup, boundary=around, numbers=numbers),
        fields=replace(trial.fields, **{name: getattr(trial.fields, name)[some]
                                        for name in ("q", "q_previous", "tendency")}),
    )  # fmt: skip
    expected, found = compiled_step(whole, trial), compiled_step(part, of_part)
    assert np.array_equal(found.fields.q, expected.fields.q[some])
    np.testing.assert_array_equal(found.sums, expected.sums[:, some])


# ---- refusals --------------------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[Any, str]] = {
    "a name that is no identifier": ({"name": "dry deposition"}, "C identifiers"),
    "two names alike": ({"numbers": {"deposition": (1.0,)}}, "C identifiers"),
    "the air's name": ({"numbers": {"air": (1.0,)}}, "must not have names of the air"),
    "two rates": ({"rate": rate(lambda air: air, lambda air: air)}, "one rate, a face exchange two"),
    "an unknown name": ({"rate": rate(lambda rain: rain)}, "may read only its fields"),
    "a shape of others": ({"fields": (OperatorField("deposition", "matrix"),)}, "a shape that its kind cannot read"),
    "species that fall": ({"species": (3, 0)}, "ascending"),
    "a species that is none": ({"species": (0, 9)}, "ascending"),
    "no term": ({"term": None}, "a budget term"),
    "numbers that are too few": ({"numbers": {"factor": (1.0, 2.0, 3.0)}}, "one value, or one per species"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_what_makes_no_code_is_refused(network: Any, change: dict[str, Any], message: str) -> None:
    right = deposition(range(0, SPECIES, 3))
    check_declared((right,), SPECIES)
    with pytest.raises(KernelError, match=message):
        compile_mechanism(network("toy"), 4, operators=(replace(right, **change),))


def test_operators_that_do_not_fit_together_are_refused(network: Any) -> None:
    first = deposition(range(2))
    other = replace(first, name="other", kind="source")
    for pair, message in (
        ((first, first), "two operators named"),
        ((first, replace(first, name="other", species=(1, 2, 3))), "is declared differently before"),
        ((first, other), "of deposited differ in sign"),
        ((MIXING, replace(MIXING, name="other", ground=True)), "only at the ground"),
        ((MIXING, replace(MIXING, name="other", species=(1,))), "species"),
    ):
        with pytest.raises(KernelError, match=message):
            compile_mechanism(network("toy"), 4, operators=pair)


def test_a_step_that_lacks_a_field_is_refused() -> None:
    kernel = toy_of_all_kinds()
    trial = random_trial(kernel, (3, 9), STEPS["Euler"])
    stepper = make_stepper(kernel, trial)
    transport, column = forcing(trial, stepper.layout)
    with pytest.raises(KernelError, match="has no exchange"):
        stepper.step(trial.weights, transport, replace(column, fields={}))
    short = tuple(each[:, :, :1] for each in column.fields["rain"])
    with pytest.raises(KernelError, match="rain of a step is float64"):
        stepper.step(trial.weights, transport, replace(column, fields={**column.fields, "rain": short}))
