"""Many cells together: each has the result of a single cell, in any layout; a cell that fails is reported."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from airshed.core.errors import KernelError
from airshed.kernels.backends.cpu.cells import CellKernel, CellSolver, compile_chemistry
from airshed.kernels.cells import (
    METHODS,
    CellLayout,
    CellSteps,
    Sources,
    Tolerances,
    pack_cells,
    stack_inputs,
    unpack_cells,
)
from airshed.kernels.cells.arguments import CellExtras, CellResults, Concentrations, integrate_cells, series
from airshed.kernels.host import aligned_zeros
from airshed.kernels.schedule import noon
from airshed.mechanism import ReactionNetwork

Array = npt.NDArray[np.float64]
Chemistry = Callable[..., CellKernel]

RODAS3 = METHODS["rodas3"]
LENGTH = 300.0


def states(network: ReactionNetwork, cells: int, seed: int = 0) -> tuple[Array, dict[str, Array]]:
    """Return concentrations and air that ask for very different numbers of steps."""
    random = np.random.default_rng(seed)
    y = 10.0 ** random.uniform(6.0, 11.0, (len(network.species), cells))
    values = {name: np.full(cells, value) for name, value in noon(network).items()}
    values["TEMP"] = random.uniform(210.0, 310.0, cells)
    values["daylight"] = random.choice([0.0, 1.0], cells)
    return y, values


def solve(kernel: CellKernel, y: Array, values: dict[str, Array], threads: int = 1, **options: float) -> CellResults:
    solver = CellSolver(kernel, RODAS3, Tolerances(1e-3, 1e3), threads=threads)
    try:
        return integrate_cells(solver, y, stack_inputs(kernel, values, (), y.shape[1]), 0.0, LENGTH, **options)
    finally:
        solver.close()


def assert_same_bits(one: CellResults, other: CellResults, cells: slice | Array = slice(None)) -> None:
    for name in ("y", "clipped", "reached", "step", "accepted", "rejected"):
        mine, others = getattr(one, name)[..., cells], getattr(other, name)
        np.testing.assert_array_equal(mine, others, err_msg=name)
        np.testing.assert_array_equal(np.signbit(mine), np.signbit(others), err_msg=f"signs of zeros in {name}")


@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_cell_knows_nothing_of_its_neighbours(chemistry: Chemistry, precision: str) -> None:
    """Bit for bit the same in another order, in another company, and alone."""
    kernel = chemistry("toy", precision)
    y, values = states(kernel.network, 37)
    together = solve(kernel, y, values)
    assert len(set(together.accepted)) > 10
    some = np.random.default_rng(1).permutation(37)[:29]
    assert_same_bits(together, solve(kernel, y[:, some], {name: each[some] for name, each in values.items()}), some)
    for cell in (0, 7, 8, 36):
        alone = np.array([cell])
        assert_same_bits(together, solve(kernel, y[:, alone], {n: v[alone] for n, v in values.items()}), alone)


@pytest.mark.compiles
def test_what_runs_out_has_no_sign_whoever_stands_beside(chemistry: Chemistry) -> None:
    """A step may give -0.0; rejected or clipped neighbours must not change the bits."""
    kernel = chemistry("chapman", "single")
    random, (_, values) = np.random.default_rng(1), states(kernel.network, 512)
    y = 10.0 ** random.uniform(-44.0, 11.0, (len(kernel.network.species), 512))
    values["daylight"][:] = values["SUN"][:] = 0.0
    order = random.permutation(512)
    together = solve(kernel, y, values)
    assert (together.y == 0.0).any()
    shuffled = solve(kernel, y[:, order], {name: each[order] for name, each in values.items()})
    assert_same_bits(together, shuffled, order)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(chemistry: Chemistry, threads: int) -> None:
    kernel = chemistry("toy")
    y, values = states(kernel.network, 203)
    assert_same_bits(solve(kernel, y, values), solve(kernel, y, values, threads))


@pytest.mark.compiles
def test_the_width_of_packs_changes_no_more_than_round_off(chemistry: Chemistry) -> None:
    """Compilers join other products to sums; the steps are the same."""
    y, values = states(chemistry("toy").network, 21)
    eight, four = (solve(chemistry("toy", width=width), y, values) for width in (8, 4))
    np.testing.assert_array_equal(eight.accepted, four.accepted)
    np.testing.assert_allclose(eight.y, four.y, rtol=1e-9)


@pytest.mark.compiles
def test_looped_code_solves_what_unrolled_code_solves(chemistry: Chemistry) -> None:
    y, values = states(chemistry("toy").network, 21)
    unrolled, looped = (solve(chemistry("toy", looped=each), y, values) for each in (False, True))
    np.testing.assert_array_equal(unrolled.accepted, looped.accepted)
    np.testing.assert_allclose(unrolled.y, looped.y, rtol=1e-9)


def test_single_precision_is_as_near_as_its_digits_allow(chemistry: Chemistry) -> None:
    y, values = states(chemistry("toy").network, 21)
    double, single = (solve(chemistry("toy", precision), y, values) for precision in ("double", "single"))
    assert np.all(single.reached == LENGTH)
    np.testing.assert_allclose(single.y, double.y, rtol=1e-2, atol=1e4)  # both keep a tolerance of 1e-3
    assert np.median(np.abs(single.y / double.y - 1.0)) < 1e-5


@pytest.mark.parametrize("cells", [1, 7, 8, 9])
def test_lanes_behind_the_last_cell_are_left_alone(chemistry: Chemistry, cells: int) -> None:
    """They are not integrated, not even when they hold no numbers."""
    kernel = chemistry("toy")
    y, values = states(kernel.network, cells)
    species, width = y.shape[0], kernel.shape.width
    inputs, packed = stack_inputs(kernel, values, (), cells), pack_cells(y, width)
    packs, left = len(packed), len(packed) * width - cells
    if left:
        packed[-1, :, -left:] = np.nan
        inputs[-1, ..., -left:] = np.nan
    steps = CellSteps.zeros(packs, width)
    steps.reached[...] = -1.0
    solver = CellSolver(kernel, RODAS3, Tolerances(1e-3, 1e3))
    place = CellLayout(1, packs, width - left, species * width, 0, width)
    solver.advance(Concentrations(packed, packed, place), inputs, steps, 0.0, LENGTH)
    alone = solve(kernel, y, values)
    np.testing.assert_array_equal(unpack_cells(packed, cells), alone.y)
    assert np.isnan(packed[-1, :, width - left :]).all()
    assert np.all(steps.reached.reshape(-1)[cells:] == -1.0)


def test_cells_lie_in_levels_of_blocks_and_may_be_mixing_ratios(chemistry: Chemistry) -> None:
    """The layout of the three-dimensional state: [row][block][species][level][W], the last block of a row half full."""
    kernel = chemistry("toy", width=8)
    rows, blocks, levels, width, last = 2, 2, 3, 8, 5
    species = len(kernel.network.species)
    shape = (rows, blocks, levels, width)
    y, values = states(kernel.network, int(np.prod(shape)))
    density = values["M"] = np.random.default_rng(2).uniform(1e19, 3e19, y.shape[1])
    state = aligned_zeros((rows, blocks, species, levels, width), np.float64)
    state[...] = np.moveaxis((y / density).reshape(species, *shape), 0, 2)
    result, clipped = aligned_zeros(state.shape, np.float64), aligned_zeros(state.shape, np.float64)
    inputs = stack_inputs(kernel, values, (), y.shape[1])
    steps = CellSteps.zeros(rows * blocks * levels, width)
    place = CellLayout(levels, blocks, last, species * levels * width, width, levels * width, mixing_ratios=True)
    solver = CellSolver(kernel, RODAS3, Tolerances(1e-3, 1e3))
    before = state.copy()
    solver.advance(Concentrations(state, result, place), inputs, steps, 0.0, LENGTH, CellExtras(clipped))
    np.testing.assert_array_equal(state, before)
    wanted = solve(kernel, y, values)
    in_use = np.ones(shape, bool)
    in_use[:, -1, :, last:] = False
    found = np.moveaxis(result, 2, 0).reshape(species, -1) * density
    added = np.moveaxis(clipped, 2, 0).reshape(species, -1) * density
    used = in_use.reshape(-1)
    np.testing.assert_allclose(found[:, used], wanted.y[:, used], rtol=1e-9, atol=1e-3)
    np.testing.assert_allclose(added[:, used], wanted.clipped[:, used], rtol=1e-6, atol=1e-3)
    assert np.all(found[:, ~used] == 0.0)


def test_species_behind_the_state_begin_at_zero_and_come_out_apart(chemistry: Chemistry) -> None:
    kernel = chemistry("toy", width=8)
    y, values = states(kernel.network, 11)
    y[-1] = 0.0  # E, which nothing depends on
    y[-2] = 0.0
    whole = solve(kernel, y, values)
    width, stored = kernel.shape.width, len(y) - 2
    packed, inputs = pack_cells(y[:stored], width), stack_inputs(kernel, values, (), 11)
    extra = aligned_zeros((len(packed), 2, width), np.float64)
    extra[...] = 7.0
    solver = CellSolver(kernel, RODAS3, Tolerances(1e-3, 1e3))
    place = CellLayout(1, len(packed), 3, stored * width, 0, width)
    cells = Concentrations(packed, packed, place)
    solver.advance(cells, inputs, CellSteps.zeros(2, width), 0.0, LENGTH, CellExtras(extra=extra))
    np.testing.assert_array_equal(unpack_cells(packed, 11), whole.y[:stored])
    np.testing.assert_array_equal(unpack_cells(extra, 11), whole.y[stored:])


def test_an_open_parameter_has_a_value_in_each_cell(chemistry: Chemistry) -> None:
    """X of the toy is a fixed species that is no part of the air: a parameter, with its initial value for default."""
    kernel = chemistry("toy")
    assert kernel.inputs[-1] == "X"
    y, values = states(kernel.network, 9)
    values["X"] = np.linspace(0.0, 6e12, 9)
    found = solve(kernel, y, values)
    for cell in (0, 4, 8):
        bound = replace(kernel, network=kernel.network)
        alone = solve(bound, y[:, [cell]], {name: each[[cell]] for name, each in values.items()})
        np.testing.assert_array_equal(found.y[:, cell], alone.y[:, 0])
    assert len(set(found.y[2])) == 9


def test_what_is_left_open_without_a_default_must_be_given(chemistry: Chemistry) -> None:
    kernel = chemistry("toy")
    del (values := noon(kernel.network))["TEMP"]
    with pytest.raises(KernelError, match="TEMP"):
        stack_inputs(kernel, values, (), 1)


def test_emission_and_loss_alone_have_an_exact_solution(chemistry: Chemistry) -> None:
    """A mechanism without reactions: y(t) = E/D + (y0 - E/D) exp(-D t)."""
    kernel = chemistry("tracer")
    emission, loss = np.array([1e7, 0.0, 3e6]), np.array([1e-2, 1e-3, 1e-5])
    solver = CellSolver(kernel, METHODS["rodas4"], Tolerances(1e-9, 1.0), Sources((1,), (0, 1)))
    inputs = stack_inputs(kernel, noon(kernel.network), (emission, 0.5 * loss, loss), 3)
    found = integrate_cells(solver, np.full((2, 3), 1e9), inputs, 0.0, LENGTH)
    level = emission / loss
    np.testing.assert_allclose(found.y[0], 1e9 * np.exp(-0.5 * loss * LENGTH), rtol=1e-8)
    np.testing.assert_allclose(found.y[1], level + (1e9 - level) * np.exp(-loss * LENGTH), rtol=1e-8)


def test_emission_that_changes_with_time_is_integrated_exactly(chemistry: Chemistry) -> None:
    """dy/dt = 1e7 (1 + 2 x - x^3), x = t/300 s: a polynomial that a method of order 4 gets right but for df/dt."""
    kernel = chemistry("tracer")
    solver = CellSolver(kernel, METHODS["rodas4"], Tolerances(1e-6, 1.0), Sources((0,)))
    inputs = series(
        kernel, lambda t: noon(kernel.network), 0.0, LENGTH, degree=3,
        sources=lambda t: [1e7 * (1.0 + 2.0 * t / LENGTH - (t / LENGTH) ** 3)],
    )  # fmt: skip
    found = integrate_cells(solver, np.zeros((2, 1)), inputs, 0.0, LENGTH)
    np.testing.assert_allclose(found.y[0], 1e7 * LENGTH * 1.75, rtol=1e-6)
    assert np.all(found.y[1] == 0.0)


def test_without_reactions_nothing_happens(chemistry: Chemistry) -> None:
    kernel = chemistry("tracer")
    assert kernel.network.reactions == ()
    y, values = states(kernel.network, 9)
    found = solve(kernel, y, values)
    np.testing.assert_array_equal(found.y, y)
    assert np.all(found.accepted == 1)
    assert np.all(found.reached == LENGTH)


def test_a_known_first_step_is_tried(chemistry: Chemistry) -> None:
    kernel = chemistry("toy")
    y, values = states(kernel.network, 9)
    unknown = solve(kernel, y, values)
    known = solve(kernel, y, values, first=unknown.step)  # type: ignore[arg-type]
    again = solve(kernel, y, values, first=np.where(np.arange(9) == 4, 0.0, unknown.step))  # type: ignore[arg-type]
    assert known.accepted.sum() < unknown.accepted.sum()
    np.testing.assert_array_equal(again.y[:, 4], unknown.y[:, 4])
    np.testing.assert_allclose(known.y, unknown.y, rtol=0.02, atol=1e5)


def test_steps_are_no_longer_than_asked(chemistry: Chemistry) -> None:
    kernel = chemistry("tracer")
    solver = CellSolver(kernel, RODAS3, longest=7.0)
    found = integrate_cells(solver, np.ones((2, 1)), stack_inputs(kernel, noon(kernel.network), (), 1), 0.0, LENGTH)
    assert found.accepted[0] == 43  # 42 of 7 s and the rest; the last two are equal
    assert found.step[0] <= 6.0 * 7.0


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("what", ["y", "TEMP", "M"])
def test_a_cell_that_holds_no_number_fails_alone(chemistry: Chemistry, wrong: float, what: str) -> None:
    kernel = chemistry("toy")
    y, values = states(kernel.network, 21)
    sane = solve(kernel, y, values)
    if what == "y":
        y[2, 13] = wrong
    else:
        values[what][13] = wrong
    found = solve(kernel, y, values)
    others = np.arange(21) != 13
    assert found.reached[13] < LENGTH
    np.testing.assert_array_equal(found.y[:, others], sane.y[:, others])
    np.testing.assert_array_equal(found.reached[others], LENGTH)


def test_a_cell_that_takes_too_many_steps_says_how_far_it_came(chemistry: Chemistry) -> None:
    kernel = chemistry("toy")
    y, values = states(kernel.network, 21)
    whole = solve(kernel, y, values)
    most = int(np.median(whole.accepted + whole.rejected))
    solver = CellSolver(kernel, RODAS3, Tolerances(1e-3, 1e3), most_steps=most)
    found = integrate_cells(solver, y, stack_inputs(kernel, values, (), 21), 0.0, LENGTH)
    failed = whole.accepted + whole.rejected > most
    assert failed.any()
    np.testing.assert_array_equal(found.reached < LENGTH, failed)
    np.testing.assert_array_equal(found.y[:, ~failed], whole.y[:, ~failed])
    # the result at the time reached is a solution: continuing from it ends near the whole one
    cell = int(np.flatnonzero(failed)[0])
    rest = integrate_cells(
        replace(solver, most_steps=10_000), found.y[:, [cell]],
        stack_inputs(kernel, {name: each[[cell]] for name, each in values.items()}, (), 1),
        float(found.reached[cell]), LENGTH, first=found.step[cell],
    )  # fmt: skip
    np.testing.assert_allclose(rest.y[:, 0], whole.y[:, cell], rtol=0.02, atol=1e5)


def test_ten_thousand_cells(chemistry: Chemistry) -> None:
    kernel = chemistry("toy")
    y, values = states(kernel.network, 10_000)
    found = solve(kernel, y, values, 2)
    assert np.all(found.reached == LENGTH)
    assert np.isfinite(found.y).all()
    assert found.y.min() >= 0.0
    some = np.array([17, 4_444, 9_999])
    assert_same_bits(found, solve(kernel, y[:, some], {name: each[some] for name, each in values.items()}), some)


@pytest.mark.compiles
def test_a_mechanism_without_species_has_nothing_to_solve() -> None:
    kernel = compile_chemistry(ReactionNetwork("nothing", ()))
    found = solve(kernel, np.zeros((0, 3)), {name: np.full(3, value) for name, value in noon(kernel.network).items()})
    assert np.all(found.reached == LENGTH)
    assert found.y.shape == (0, 3)


@pytest.mark.parametrize(("start", "end"), [(0.0, 0.0), (5.0, 0.0), (0.0, np.nan), (0.0, np.inf), (np.nan, 1.0)])
def test_an_end_that_is_not_later_is_refused(chemistry: Chemistry, start: float, end: float) -> None:
    kernel = chemistry("tracer")
    with pytest.raises(KernelError, match="must be later"):
        integrate_cells(
            CellSolver(kernel, RODAS3),
            np.ones((2, 1)),
            stack_inputs(kernel, noon(kernel.network), (), 1),
            start,
            end,
        )


@pytest.mark.parametrize("options", [{"longest": 0.0}, {"longest": np.nan}, {"most_steps": 0}, {"threads": 0}], ids=str)
def test_limits_that_let_nothing_happen_are_refused(chemistry: Chemistry, options: dict[str, Any]) -> None:
    with pytest.raises(KernelError, match="above zero"):
        CellSolver(chemistry("tracer"), RODAS3, **options)


def test_arrays_that_the_compiled_code_would_take_wrongly_are_refused(chemistry: Chemistry) -> None:
    kernel = chemistry("tracer")
    solver, width = CellSolver(kernel, RODAS3), kernel.shape.width
    place, inputs = CellLayout(1, 1, width, 2 * width, 0, width), stack_inputs(kernel, noon(kernel.network), (), width)
    y, steps = pack_cells(np.ones((2, width)), width), CellSteps.zeros(1, width)
    shifted = aligned_zeros((2 * width + 1,), np.float64)[1:].reshape(1, 2, width)
    for wrong in (y.astype(np.float32), shifted, aligned_zeros((1, 2, 2 * width), np.float64)[..., ::2]):
        for arrays in ((wrong, y), (y, wrong)):
            with pytest.raises(KernelError, match="of cells must be"):
                solver.advance(Concentrations(*arrays, place), inputs, steps, 0.0, 1.0)
    cells = Concentrations(y, y, place)
    with pytest.raises(KernelError, match=r"steps\.step"):
        solver.advance(cells, inputs, CellSteps.zeros(2, width), 0.0, 1.0)
    with pytest.raises(KernelError, match=r"steps\.accepted"):
        solver.advance(cells, inputs, replace(steps, accepted=np.zeros((1, width), np.int64)), 0.0, 1.0)


def advance_at(kernel: CellKernel, place: CellLayout, *, extra: int | None = None, short: str = "") -> None:
    """Advance six packs of two species, or of one species and one extra."""
    width, packs = kernel.shape.width, 6
    inputs = stack_inputs(kernel, noon(kernel.network), (), packs * width)
    arrays = {name: aligned_zeros((packs, 2, width), np.float64) for name in ("y", "result", "clipped")}
    if short:
        arrays[short] = arrays[short].reshape(-1)[:-1]
    behind = None if extra is None else aligned_zeros((packs, extra, width), np.float64)
    steps = CellSteps.zeros(packs, width)
    y, result, clipped = arrays.values()
    solver = CellSolver(kernel, RODAS3)
    solver.advance(Concentrations(y, result, place), inputs, steps, 0.0, 1.0, CellExtras(clipped, behind))
    assert np.all(steps.reached == 1.0)


GOOD = {"levels": 3, "blocks": 2, "last_lanes": 8, "block_stride": 48, "level_stride": 8, "species_stride": 24}


@pytest.mark.parametrize("changes", [
    {}, {"levels": 1, "blocks": 6, "block_stride": 16, "level_stride": 0, "species_stride": 8},
    {"level_stride": 16, "species_stride": 8}, {"block_stride": 24, "species_stride": 48},
], ids=str)  # fmt: skip
def test_places_of_any_order_are_taken(chemistry: Chemistry, changes: dict[str, int]) -> None:
    advance_at(chemistry("tracer", width=8), CellLayout(**{**GOOD, **changes}))


@pytest.mark.parametrize(("changes", "message"), [
    ({"levels": 0}, "need a level"), ({"blocks": 0}, "need a level"), ({"last_lanes": 0}, "need a level"),
    ({"last_lanes": 9}, "1 to 8 lanes"), ({"block_stride": 56}, "y of cells has 96 numbers"),
    ({"block_stride": 40}, "overlap"), ({"level_stride": 7}, "overlap"), ({"level_stride": 0}, "overlap"),
    ({"species_stride": 12}, "overlap"), ({"species_stride": -24}, "overlap"),
    ({"levels": 1, "level_stride": 0}, "y of cells has 96 numbers"),
], ids=str)  # fmt: skip
def test_a_place_that_does_not_fit_the_arrays_is_refused(
    chemistry: Chemistry, changes: dict[str, int], message: str
) -> None:
    with pytest.raises(KernelError, match=message):
        advance_at(chemistry("tracer", width=8), CellLayout(**{**GOOD, **changes}))


@pytest.mark.parametrize("short", ["y", "result", "clipped"])
def test_each_array_must_hold_all_packs(chemistry: Chemistry, short: str) -> None:
    with pytest.raises(KernelError, match=f"{short} of cells has 95 numbers"):
        advance_at(chemistry("tracer", width=8), CellLayout(**GOOD), short=short)


def test_species_behind_the_state_must_fit_too(chemistry: Chemistry) -> None:
    advance_at(chemistry("tracer", width=8), CellLayout(**GOOD), extra=1)
    with pytest.raises(KernelError, match="extra of cells is"):
        advance_at(chemistry("tracer", width=8), CellLayout(**GOOD), extra=3)


@pytest.mark.parametrize("tolerances", [Tolerances(0.0), Tolerances(1e-3, 0.0), Tolerances(1e-3, np.nan)], ids=str)
def test_tolerances_that_no_step_keeps_are_refused(chemistry: Chemistry, tolerances: Tolerances) -> None:
    with pytest.raises(KernelError, match="above zero"):
        CellSolver(chemistry("tracer"), RODAS3, tolerances)


def test_inputs_of_another_shape_are_refused(chemistry: Chemistry) -> None:
    kernel = chemistry("tracer")
    solver = CellSolver(kernel, RODAS3, sources=Sources((0,)))
    with pytest.raises(KernelError, match="inputs of cells"):
        integrate_cells(solver, np.ones((2, 1)), stack_inputs(kernel, noon(kernel.network), (), 1), 0.0, LENGTH)
