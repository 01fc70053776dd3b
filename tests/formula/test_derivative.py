"""Derivatives: tangent against the complex step and finite differences, adjoint against tangent."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airshed.core.errors import FormulaError
from airshed.formula import abs, derivative, evaluate_all, exp, maximum, minimum, sqrt, trace, where
from airshed.formula.evaluate import evaluate
from airshed.formula.trace import TracedFunction
from airshed.formula.tree import Call, Expression, Symbol, ordered

from .trees import NAMES, analytic, any_trees

STEP = 1e-200
SEEDS = st.integers(0, 2**32 - 1)


def state(seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return values of the symbols, and their changes."""
    random = np.random.default_rng(seed)
    return {name: random.uniform(0.3, 3.0) for name in NAMES}, {name: random.normal() for name in NAMES}


def changes_of(traced: TracedFunction, values: dict[str, float], changes: dict[str, float]) -> np.ndarray:
    """Return the tangent of each output."""
    given = {**values, **{f"{name}_tangent": change for name, change in changes.items()}}
    return np.array(evaluate_all(derivative.tangent(traced, wrt=list(changes)).outputs, given))


def complex_steps(tree: Expression, values: dict[str, float], changes: dict[str, float]) -> float:
    """Return the same by the complex step: no difference is taken, so that no digit is lost."""
    moved = {name: complex(value, STEP * changes[name]) for name, value in values.items()}
    return float(evaluate(tree, moved, dtype=np.complex128).imag / STEP)


def moderate(tree: Expression, values: dict[str, float]) -> None:
    """Omit values that are not finite, or too large for the digits of the complex step."""
    parts = [float(value) for value in evaluate_all(ordered([tree]), values)]
    assume(all(np.isfinite(parts)) and max(map(np.abs, parts)) < 1e8)


def differs(one: float, other: float, scale: float) -> bool:
    return not np.isclose(one, other, rtol=1e-9, atol=1e-9 * scale)


@given(analytic(), SEEDS)
def test_the_tangent_is_the_complex_step(tree: Expression, seed: int) -> None:
    values, changes = state(seed)
    moderate(tree, values)
    expected = complex_steps(tree, values, changes)
    (found,) = changes_of(TracedFunction(NAMES, (tree,)), values, changes)
    assume(np.isfinite(expected) and np.isfinite(found) and np.abs(expected) < 1e6)
    # A power of something that is negative, or a logarithm of it, is another branch to complex numbers.
    assume(np.isclose(evaluate(tree, values), evaluate(tree, values, dtype=np.complex128)))
    assert not differs(found, expected, 1.0)


@pytest.mark.parametrize("name", ["exp", "log", "log10", "sqrt", "sin", "cos", "tan"])
def test_every_rule_is_the_complex_step(name: str) -> None:
    tree = Call(name, (Symbol("a"),))
    for seed in range(20):
        values, changes = state(seed)
        (found,) = changes_of(TracedFunction(NAMES, (tree,)), values, changes)
        assert found == pytest.approx(complex_steps(tree, values, changes), rel=1e-14)


@pytest.mark.parametrize("name", ["exp", "log", "log10", "sqrt", "sin", "cos", "tan"])
def test_a_wrong_rule_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the rule of one function for another."""
    right = derivative._of_function

    def wrong(given: str, operand: Expression, node: Expression) -> Expression:
        return right("sin" if given != "sin" else "exp", operand, node)

    monkeypatch.setattr(derivative, "_of_function", wrong)
    values, changes = state(1)
    tree = Call(name, (Symbol("a"),))
    (found,) = changes_of(TracedFunction(NAMES, (tree,)), values, changes)
    assert differs(found, complex_steps(tree, values, changes), 1.0)


@pytest.mark.parametrize("operator", ["-", "*", "/", "^"])
def test_a_wrong_rule_of_arithmetic_is_noticed(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = derivative._of_arithmetic

    def wrong(operator: str, left: Expression, right_side: Expression, node: Expression, **more: bool) -> Any:
        (one, first), (other, second) = right(operator, left, right_side, node, **more)
        return (one, second), (other, first)

    monkeypatch.setattr(derivative, "_of_arithmetic", wrong)
    values, changes = state(1)
    tree = trace(lambda a, b: {"-": a - b, "*": a * b, "/": a / b, "^": a**b}[operator]).outputs[0]
    (found,) = changes_of(TracedFunction(NAMES, (tree,)), values, changes)
    assert differs(found, complex_steps(tree, values, changes), 1.0)


@given(any_trees(), SEEDS)
def test_the_tangent_of_any_formula_is_that_of_differences(tree: Expression, seed: int) -> None:
    values, changes = state(seed)
    moderate(tree, values)
    (found,) = changes_of(TracedFunction(NAMES, (tree,)), values, changes)
    slopes = []
    for step in (1e-6, -1e-6, 5e-7, -5e-7):
        moved = {name: value + step * changes[name] for name, value in values.items()}
        slopes.append(float((evaluate(tree, moved) - evaluate(tree, values)) / step))
    # Away from jumps and points without a derivative, and where differences are not dominated by curvature.
    assume(all(np.isfinite([*slopes, found])) and max(slopes) - min(slopes) < 1e-4 * (1.0 + np.abs(slopes[0])))
    assert found == pytest.approx(np.mean(slopes), rel=1e-3, abs=1e-3)


@given(st.lists(any_trees(6), min_size=1, max_size=3), SEEDS)
def test_the_adjoint_is_the_transpose_of_the_tangent(trees: list[Expression], seed: int) -> None:
    values, changes = state(seed)
    traced = TracedFunction(NAMES, tuple(trees))
    tangent, weights, sensitivities = dot_product(traced, values, changes, seed)
    assume(all(np.isfinite([*tangent, *sensitivities.values()])))
    sizes = [*np.abs(tangent * weights), *(np.abs(changes[name] * each) for name, each in sensitivities.items())]
    one = float(tangent @ weights)
    other = sum(changes[name] * each for name, each in sensitivities.items())
    assert one == pytest.approx(other, rel=1e-11, abs=1e-11 * max(sizes))


def dot_product(
    traced: TracedFunction, values: dict[str, float], changes: dict[str, float], seed: int = 0
) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Return the tangent of each output, its weight, and the sensitivity of the weighted sum to each input."""
    weights = np.random.default_rng(seed).normal(size=len(traced.outputs))
    reverse = derivative.adjoint(traced, wrt=list(changes))
    assert reverse.inputs == (*traced.inputs, *(f"adjoint_{n}" for n in range(len(weights))))
    given = {**values, **{f"adjoint_{number}": weight for number, weight in enumerate(weights)}}
    sensitivities = map(float, evaluate_all(reverse.outputs, given))
    return changes_of(traced, values, changes), weights, dict(zip(changes, sensitivities, strict=True))


def test_an_adjoint_that_loses_a_term_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the adjoint omits one of two uses of a sub-expression."""
    traced = trace(lambda a, b, c: (exp(a * b) * a, sqrt(a * b) + c))
    values, changes = state(0)
    tangent, weights, right = dot_product(traced, values, changes)
    assert tangent @ weights == pytest.approx(sum(changes[name] * each for name, each in right.items()))
    whole = derivative._sum
    monkeypatch.setattr(derivative, "_sum", lambda terms: whole(terms[:1]))
    wrong = evaluate_all(
        derivative.adjoint(traced, wrt=NAMES).outputs, {**values, "adjoint_0": weights[0], "adjoint_1": weights[1]}
    )
    assert tangent @ weights != pytest.approx(
        sum(changes[name] * each for name, each in zip(NAMES, wrong, strict=True))
    )


def kink(function: Any, *where_: float) -> list[float]:
    traced = trace(function)
    values = dict(zip(traced.inputs, where_, strict=True))
    given = {**values, "adjoint_0": 1.0}
    forward = [float(changes_of(traced, values, {name: 1.0})[0]) for name in traced.inputs]
    found = [float(each) for each in evaluate_all(derivative.adjoint(traced, wrt=traced.inputs).outputs, given)]
    assert found == forward
    return found


def test_kinks_are_as_documented() -> None:
    assert [kink(lambda x: abs(x), at) for at in (-2.0, 0.0, 2.0)] == [[-1.0], [0.0], [1.0]]
    assert kink(lambda x, y: minimum(x, y), 1.0, 1.0) == [0.0, 1.0]
    assert kink(lambda x, y: maximum(x, y), 1.0, 1.0) == [0.0, 1.0]
    assert kink(lambda x, y: maximum(x, y), 2.0, 1.0) == [1.0, 0.0]
    assert kink(lambda x, y: minimum(minimum(x, y), 3.0 * x), 1.0, 2.0) == [1.0, 0.0]
    assert kink(lambda x: where(x > 1.0, x * x, -x), 1.0) == [-1.0]
    assert kink(lambda x, y: x % y, 7.0, 3.0) == [1.0, -2.0]
    assert kink(lambda x: (x > 1.0) * 1.0, 1.0) == [0.0]
    assert kink(lambda x: sqrt(x), 0.0) == [np.inf]
    assert np.isnan(changes_of(trace(lambda x, y: sqrt(x * y)), {"x": 0.0, "y": 0.0}, {"x": 1.0})).all()


def test_what_is_not_chosen_does_not_count() -> None:
    """A root that is not finite in the branch that is not taken."""
    assert kink(lambda x: where(x > 0.0, sqrt(x) * x, 2.0 * x), 0.0) == [2.0]
    assert kink(lambda x: where(x > 0.0, 1.0 / x, x), 0.0) == [1.0]


def test_inputs_that_do_not_count_have_no_operation() -> None:
    traced = trace(lambda a, b, c: (a * exp(b), c))
    forward = derivative.tangent(traced, wrt=["c"])
    assert [str(output) for output in forward.outputs] == ["0.0", "c_tangent"]
    assert forward.inputs == ("a", "b", "c", "c_tangent")
    assert [str(output) for output in derivative.adjoint(traced, wrt=["a", "c"]).outputs] == [
        "exp(b)*adjoint_0",
        "adjoint_1",
    ]
    assert [str(output) for output in derivative.tangent(trace(lambda a: a**3 / 2.0), wrt=["a"]).outputs] == [
        "3.0*a**2.0*a_tangent/2.0"
    ]


@pytest.mark.parametrize("of", [derivative.tangent, derivative.adjoint])
def test_refusals(of: Any) -> None:
    with pytest.raises(FormulaError, match="no input 'd'; it has a, b"):
        of(trace(lambda a, b: a * b), wrt=["d"])
    strange = TracedFunction(("a",), (Call("gamma", (Symbol("a"),)),))
    with pytest.raises(FormulaError, match="derivative of gamma is not known"):
        of(strange, wrt=["a"])


def derivatives(names: Sequence[str]) -> list[Expression]:
    """Second derivatives are derivatives of derivatives."""
    traced = trace(lambda a, b: a**3 * b)
    first = derivative.adjoint(traced, wrt=["a"])
    return list(derivative.tangent(first, wrt=list(names)).outputs)


def test_derivatives_of_derivatives() -> None:
    values = {"a": 2.0, "b": 5.0, "adjoint_0": 1.0, "a_tangent": 1.0, "b_tangent": 1.0}
    assert [float(evaluate(*derivatives([name]), values)) for name in ("a", "b")] == [60.0, 12.0]
