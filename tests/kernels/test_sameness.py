"""The same bits for any number of threads, any split of the rows, and any place of a column in its pack.

The code is optimised as for users: operations that a compiler fuses, reorders or splits change the last bits.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from airshed.kernels.backends.cpu.kernel import WIDTH, StepKernel, compile_mechanism
from airshed.kernels.step.reference import StepResult
from airshed.kernels.step.trial import Trial, compiled_step, forcing, make_stepper, random_trial
from airshed.kernels.toolchain import build, declared, load
from airshed.kernels.transport.reference import AirFluxes
from airshed.mechanism import ReactionNetwork
from airshed.parallel.decomposition import Decomposition
from airshed.program.weights import two_step_weights

from .kinds import usual
from .tiles import differences

pytestmark = pytest.mark.compiles

Optimised = Callable[..., StepKernel]

EULER, SECOND = two_step_weights(100.0, None), two_step_weights(100.0, 90.0)


@pytest.fixture(name="optimised")
def optimised_fixture(network: Callable[[str], ReactionNetwork], product_compiler: None) -> Optimised:
    """Return the compiler of the toy mechanism with the options of users, by default in double precision."""
    toy = network("toy")

    def optimised(precision: str = "double") -> StepKernel:
        return compile_mechanism(toy, 7, precision, families=("N", "S"), operators=usual(len(toy.species)))

    return optimised


def same_bits(a: StepResult, b: StepResult) -> bool:
    pairs = [(getattr(a.fields, field.name), getattr(b.fields, field.name)) for field in fields(a.fields)]
    pairs += [(a.sums, b.sums), (a.imbalance, b.imbalance)]
    return all(one.dtype == other.dtype and one.tobytes() == other.tobytes() for one, other in pairs)


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("threads", [2, 3, 9])
def test_threads_give_the_same_bits(optimised: Optimised, threads: int, precision: str) -> None:
    kernel = optimised(precision)
    for weights in (EULER, SECOND):
        trial = random_trial(kernel, (9, 17), weights, seed=threads, sweeps=2)
        assert same_bits(compiled_step(kernel, trial, threads), compiled_step(kernel, trial))


def test_threads_give_the_same_bits_for_a_large_mechanism(compiled: Callable[..., StepKernel]) -> None:
    kernel = compiled("emep", 3)
    trial = random_trial(kernel, (7, 19), SECOND, sweeps=2)
    assert same_bits(compiled_step(kernel, trial, 3), compiled_step(kernel, trial))


@pytest.mark.parametrize("cuts", [(1,), (8,), (2, 3), (1, 2, 3, 4, 5, 6, 7, 8), (4, 7)], ids=str)
def test_any_split_of_the_rows_gives_the_same_bits(optimised: Optimised, cuts: tuple[int, ...]) -> None:
    """Ranges may come in any order: they read level n and write level n + 1 of their own rows only."""
    kernel = optimised()
    trial = random_trial(kernel, (9, 9), SECOND, seed=4, sweeps=2)
    whole, split = make_stepper(kernel, trial), make_stepper(kernel, trial)
    edges = [0, *cuts, 9]
    split._inner = np.array([(first, last, 0, 2) for first, last in pairwise(edges)][::-1])
    packed = forcing(trial, whole.layout)
    sums = whole.step(trial.weights, *packed)
    assert np.array_equal(split.step(trial.weights, *packed), sums)
    for name, array in vars(whole.state).items():
        assert np.array_equal(getattr(split.state, name), array), name


def test_tiles_have_the_bits_of_the_whole(optimised: Optimised) -> None:
    kernel, cut = optimised(), Decomposition.of(9, 3 * WIDTH + 2, WIDTH, 6, tiles=(3, 2))
    trial = random_trial(kernel, (cut.rows, cut.columns), EULER, seed=6, sweeps=2)
    assert differences(kernel, trial, cut, [EULER, SECOND], 2) == []


def test_units_compiled_at_once_give_the_same_bits_as_the_whole_text(optimised: Optimised) -> None:
    kernel = optimised()
    whole = replace(kernel, functions=declared(load(build(kernel.source.text, name="toy-whole")), kernel.source.text))
    trial = random_trial(kernel, (3, 9), SECOND, seed=5, sweeps=2)
    assert same_bits(compiled_step(whole, trial), compiled_step(kernel, trial))


Change = Callable[[np.ndarray], np.ndarray]


def each(record: Any, change: Change) -> Any:
    """A dataclass of arrays, or a mapping, with every array changed."""
    if isinstance(record, dict):
        return {name: np.ascontiguousarray(change(array)) for name, array in record.items()}
    parts = {f.name: getattr(record, f.name) for f in fields(record)}
    own = {name: each(part, change) for name, part in parts.items() if isinstance(part, dict)}
    return replace(record, **each({name: part for name, part in parts.items() if name not in own}, change), **own)


def _of_columns(trial: Trial, chosen: np.ndarray) -> Trial:
    """The trial without horizontal wind, with some of its columns, in another order."""
    levels, rows, _ = trial.fields.air.shape
    east, north = np.zeros((levels, rows, len(chosen) + 1)), np.zeros((levels, rows + 1, len(chosen)))

    def pick(values: np.ndarray) -> np.ndarray:
        return values[..., chosen]

    still = [AirFluxes(east, north, pick(flux.upward)) for flux in trial.air_fluxes]
    first, second = (each(column, pick) for column in trial.columns)
    setup = replace(trial.setup, density_factor=pick(trial.setup.density_factor))
    state = each(trial.fields, pick)
    return replace(trial, setup=setup, fields=state, columns=(first, second), air_fluxes=(still[0], still[1]))


@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_column_does_not_know_its_place(optimised: Optimised, precision: str) -> None:
    """Without horizontal wind, permuted columns give permuted results, and so does a part of them."""
    kernel = optimised(precision)
    trial = random_trial(kernel, (4, 19), SECOND, seed=8, sweeps=2)
    plain = compiled_step(kernel, _of_columns(trial, np.arange(19)))
    random = np.random.default_rng(1)
    for count in (19, 16, 9, 1):
        chosen = random.permutation(19)[:count]
        found = compiled_step(kernel, _of_columns(trial, chosen))
        for field in fields(plain.fields):
            expected = getattr(plain.fields, field.name)[..., chosen]
            assert np.array_equal(getattr(found.fields, field.name), expected), field.name


def test_rows_do_not_know_their_place_either(optimised: Optimised) -> None:
    kernel = optimised()
    trial = _of_columns(random_trial(kernel, (1, 9), SECOND, seed=3), np.arange(9))
    single = compiled_step(kernel, trial).fields.q

    def repeat(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, 5, axis=-2)

    first, second = (each(column, repeat) for column in trial.columns)
    fluxes = [AirFluxes(repeat(f.eastward), np.zeros((7, 6, 9)), repeat(f.upward)) for f in trial.air_fluxes]
    setup = replace(trial.setup, density_factor=np.repeat(trial.setup.density_factor, 5, axis=1))
    many = replace(
        trial,
        setup=setup,
        fields=each(trial.fields, repeat),
        columns=(first, second),
        air_fluxes=(fluxes[0], fluxes[1]),
    )
    found = compiled_step(kernel, many).fields.q
    for row in range(5):
        assert np.array_equal(found[:, :, row], single[:, :, 0])


def test_the_comparison_of_bits_notices_the_last_one(optimised: Optimised) -> None:
    kernel = optimised()
    step = compiled_step(kernel, random_trial(kernel, (3, 5), EULER))
    q = step.fields.q.copy()
    q[0, 0, 0, 0] = np.nextafter(q[0, 0, 0, 0], 1.0)
    assert same_bits(step, step)
    assert not same_bits(replace(step, fields=replace(step.fields, q=q)), step)
