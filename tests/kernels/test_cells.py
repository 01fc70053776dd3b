"""Compiled formulas of cells are those of NumPy, and no cell depends on the others, on threads, or on its place."""

import numpy as np
import pytest

from airshed.core.errors import FormulaError, KernelError
from airshed.formula import TracedFunction, abs, cos, evaluate_all, exp, log, maximum, minimum, sin, sqrt, trace, where
from airshed.formula.tree import Call, Symbol
from airshed.kernels.cells.formulas import CellFormulas, StepValues

pytestmark = pytest.mark.compiles

CELLS = 20_011  # some of them for a second thread, and no whole number of packs


def formulas(a, b, c, everywhere):
    """Return something of every operation that there is."""
    root = sqrt(abs(b)) / 3.0 + minimum(a, b) * c**3
    return (
        exp(-abs(a)) * everywhere + root, log(maximum(a, 0.25)) ** 2.0, where((a > b) & (c > 0.0) | (a < -1.0), a, b),
        abs(a) ** 0.3, 0.0,
    )  # fmt: skip


TRACED = trace(formulas)


def trial(seed: int = 0) -> dict[str, object]:
    random = np.random.default_rng(seed)
    return {name: random.normal(size=CELLS) for name in "abc"} | {"everywhere": 0.7}


def differences(found: list[np.ndarray], expected: list[np.ndarray]) -> list[float]:
    return [float(np.max(np.abs(one - other))) for one, other in zip(found, expected, strict=True)]


def test_the_code_is_its_twin_and_a_changed_formula_is_seen() -> None:
    expected = evaluate_all(TRACED.outputs, trial())
    assert max(differences(CellFormulas(TRACED)(trial()), expected)) < 1e-13
    changed = TracedFunction(TRACED.inputs, evaluate_changed())
    assert differences(CellFormulas(changed)(trial()), expected)[0] > 1e-3


def evaluate_changed() -> tuple:
    """The formulas, the first one planted with a change."""
    first, *others = trace(lambda *given: [formulas(*given)[0] * 1.01, *formulas(*given)[1:]], TRACED.inputs).outputs
    return (first, *others)


def test_single_precision_is_that_of_its_digits() -> None:
    found = CellFormulas(TRACED, "single")(trial())
    assert {each.dtype for each in found} == {np.dtype(np.float32)}
    for one, other in zip(found, evaluate_all(TRACED.outputs, trial()), strict=True):
        near_a_kink = np.abs(one - other) > 1e-5 * (1.0 + np.abs(other))
        assert np.count_nonzero(near_a_kink) <= 2, "of 20 thousand, a comparison of nearly equal values may differ"


def test_threads_and_the_place_of_a_cell_change_no_bit() -> None:
    values, one, two = trial(), CellFormulas(TRACED), CellFormulas(TRACED, threads=2)
    alone, shared = one(values), two(values)
    assert [each.tobytes() for each in alone] == [each.tobytes() for each in shared]
    for first in (0, 1, 7, CELLS - 3):
        part = {name: each[first:] if isinstance(each, np.ndarray) else each for name, each in values.items()}
        assert [each[first:].tobytes() for each in alone] == [each.tobytes() for each in one(part)]
    two.close()


def test_a_result_may_go_where_an_argument_lies() -> None:
    kernel, a, b = CellFormulas(trace(lambda a, b: (a + b, a - b))), np.arange(5.0), np.full(5, 2.0)
    kernel({"a": a, "b": b}, [a, b])
    assert (a.tolist(), b.tolist()) == ([2.0, 3.0, 4.0, 5.0, 6.0], [-2.0, -1.0, 0.0, 1.0, 2.0])
    for levels, width in ((5, 8), (5, 3)):  # a species of a packed state: in chunks of whole packs, and in others
        state = np.random.default_rng(5).normal(size=(3, 2, 4, levels, width))
        before, (first, second) = state.copy(), (state[:, :, 1], state[:, :, 3])
        CellFormulas(trace(lambda a, b: (a + b, a - b)), invariant="ab")({"a": first, "b": second}, [first, second])
        np.testing.assert_array_equal(first, before[:, :, 1] + before[:, :, 3])
        np.testing.assert_array_equal(second, before[:, :, 1] - before[:, :, 3])
        np.testing.assert_array_equal(state[:, :, ::2], before[:, :, ::2])


def test_what_is_no_number_stays_none_as_in_numpy() -> None:
    values = {"a": np.array([np.nan, 1.0, np.nan, np.inf]), "b": np.array([1.0, np.nan, np.nan, 2.0])}
    traced = trace(lambda a, b: (minimum(a, b), maximum(a, b), minimum(b, a), exp(a), a / 0.0))
    for one, other in zip(CellFormulas(traced)(values), evaluate_all(traced.outputs, values), strict=True):
        np.testing.assert_allclose(one[:3], other[:3], rtol=1e-15)


def test_what_does_not_fit_is_refused() -> None:
    kernel = CellFormulas(trace(lambda a, b: a + b))
    with pytest.raises(KernelError, match=r"b has the shape \(4,\), but other values of cells have \(3,\)"):
        kernel({"a": np.ones(3), "b": np.ones(4)})
    with pytest.raises(KernelError, match=r"a result must be \(3,\) float64, not \(3,\) float32"):
        kernel({"a": np.ones(3), "b": 1.0}, [np.ones(3, np.float32)])
    with pytest.raises(FormulaError, match="code of cells cannot have erf"):
        CellFormulas(TracedFunction(("a",), (Call("erf", (Symbol("a"),)),)))


STEPS, NAMES = 12, ("water", "runoff")


def days(rain, depth, warmth, water):
    """Return water and runoff of a bucket of soil: rain by cell, warmth of all cells, and an invariant depth."""
    filled = water * exp(-0.1 * warmth * depth**1.3) + rain
    return minimum(filled, depth), maximum(filled - depth, 0.0)


DAYS = trace(days)


def many(threads: int = 1, precision: str = "double") -> CellFormulas:
    return CellFormulas(DAYS, precision, names=NAMES, invariant={"depth"}, threads=threads)


def weather_of(cells: int = CELLS) -> dict[str, np.ndarray]:
    random = np.random.default_rng(4)
    rain, depth = random.exponential(0.3, (STEPS, CELLS)), random.uniform(0.5, 2.0, CELLS)
    values = {"rain": rain[:, :cells], "depth": depth[:cells], "warmth": random.uniform(0.0, 3.0, STEPS)}
    return values | {"water": np.full(cells, 0.2)}


def one_after_the_other(kernel: CellFormulas, values: dict[str, np.ndarray]) -> list[list[np.ndarray]]:
    """Return the results of each step, one call for each."""
    found, water = [], values["water"]
    for step in range(STEPS):
        given = {"rain": values["rain"][step], "warmth": values["warmth"][step], "depth": values["depth"]}
        found.append(kernel({**given, "water": water}))
        water = found[-1][0]
    return found


@pytest.mark.parametrize("precision", ["double", "single"])
def test_many_steps_have_the_bits_of_one_call_for_each(precision: str) -> None:
    kernel, values = many(precision=precision), weather_of()
    expected = one_after_the_other(kernel, values)
    kept = {name: np.empty((STEPS, CELLS), kernel.dtype) for name in NAMES}
    found = kernel.advance(values, STEPS, records=kept)
    assert [each.tobytes() for each in found] == [each.tobytes() for each in expected[-1]]
    for number, name in enumerate(NAMES):
        assert kept[name].tobytes() == b"".join(step[number].tobytes() for step in expected)
    later = kernel.advance(values | {"rain": values["rain"][::-1]}, STEPS)
    assert not np.allclose(later[0], found[0], rtol=1e-3), "in another order of days it is another"


def test_neither_threads_nor_cuts_nor_where_steps_are_cut_change_a_bit() -> None:
    kernel, values = many(), weather_of()
    found = kernel.advance(values, STEPS)
    two = many(threads=2)
    assert [each.tobytes() for each in two.advance(values, STEPS)] == [each.tobytes() for each in found]
    two.close()
    for cells in (1, 7, 8, CELLS // 2):
        part = kernel.advance(weather_of(cells), STEPS)
        assert [each.tobytes() for each in part] == [each[:cells].tobytes() for each in found]
    water = values["water"].copy()
    for first, last in ((0, 5), (5, 6), (6, STEPS)):
        part = {**values, "rain": values["rain"][first:last], "warmth": values["warmth"][first:last], "water": water}
        _, runoff = kernel.advance(part, last - first, [water, None])
    assert (water.tobytes(), runoff.tobytes()) == (found[0].tobytes(), found[1].tobytes())


def test_a_step_can_be_kept_in_the_other_precision() -> None:
    kernel, values = many(), weather_of()
    kept = {"runoff": np.empty((STEPS, CELLS), np.float32)}
    _, runoff = kernel.advance(values, STEPS, records=kept)
    assert kept["runoff"][-1].tobytes() == runoff.astype(np.float32).tobytes()


def test_steps_can_share_rows() -> None:
    kernel, values, weeks = many(), weather_of(), np.arange(STEPS) // 5
    rain, warmth = StepValues(values["rain"][:3], weeks), StepValues(values["warmth"][:3], weeks[::-1])
    found = kernel.advance(values | {"rain": rain, "warmth": warmth}, STEPS)
    dense = kernel.advance(values | {"rain": np.asarray(rain), "warmth": np.asarray(warmth)}, STEPS)
    assert [each.tobytes() for each in found] == [each.tobytes() for each in dense]
    for changed, message in (
        ({"rain": StepValues(values["rain"][:2], weeks)}, "rain has 2 rows, but a step reads row 2"),
        ({"rain": StepValues(values["rain"], weeks[1:])}, "rain has the values of 11 steps, but the call makes 12"),
        (
            {"depth": StepValues(values["rain"], weeks)},
            "depth has values per step, but it is the same in all steps of a call; pass one value",
        ),
    ):
        with pytest.raises(KernelError, match=message):
            kernel.advance(values | changed, STEPS)


def test_steps_that_do_not_fit_are_refused() -> None:
    kernel, values = many(), weather_of(3)
    for changed, message in (
        ({"rain": values["rain"][1:]}, "rain has the values of 11 steps, but the call makes 12"),
        ({"rain": values["rain"][:, 1:]}, r"depth has the shape \(3,\), but other values of cells have \(2,\)"),
    ):
        with pytest.raises(KernelError, match=message):
            kernel.advance(values | changed, STEPS)
    for each, message in (
        ({"snow": np.empty((STEPS, 3))}, "snow is not a result; the results are water, runoff"),
        ({"runoff": np.empty((3, STEPS))}, r"the record of runoff must be \(12, 3\) floats, not \(3, 12\) float64"),
    ):
        with pytest.raises(KernelError, match=message):
            kernel.advance(values, STEPS, records=each)
    with pytest.raises(KernelError, match="cannot advance by 0 steps: the number of steps must be 1 or more"):
        kernel.advance(values, 0)


@pytest.mark.parametrize("reach", [1.6, 30.0, 3e5, 1e9])
def test_functions_are_right_to_some_units_in_the_last_place(reach: float) -> None:
    x = np.random.default_rng(6).uniform(-reach, reach, CELLS)
    exact = x.astype(np.longdouble)
    kernel = CellFormulas(trace(lambda x, reach: (sin(x), cos(x), exp(x / reach), log(abs(x)))))
    for found, true in zip(
        kernel({"x": x, "reach": reach}),
        (np.sin(exact), np.cos(exact), np.exp(x / reach), np.log(np.abs(exact))),
        strict=True,
    ):
        apart = np.abs(found - true) / np.spacing(np.maximum(np.abs(true).astype(float), 0.1))
        assert 0.3 < apart.max() < 4.0
    np.testing.assert_array_equal(kernel({"x": np.array([np.nan, 0.0]), "reach": reach})[0], [np.nan, 0.0])
