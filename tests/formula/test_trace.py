"""Tracing: the same function computes arrays and makes formulas."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import FormulaError
from airshed.formula import (
    abs,
    cos,
    evaluate,
    evaluate_all,
    exp,
    log,
    log10,
    maximum,
    minimum,
    sin,
    sqrt,
    tan,
    trace,
    where,
)

from .trees import points


def everything(a: Any, b: Any, c: Any) -> Any:
    """Return something of every operation."""
    smooth = exp(-a) + log(b) * log10(c) - sqrt(a * b) / sin(c) + cos(a) * tan(b) + a**3 + b**c + 2.0**a
    kinks = maximum(a, 1.0) * minimum(b, c) + abs(a - b) + (a % b) + np.clip(c, 0.5, 2)
    chosen = where((a > b) & ~(c <= 1.0) | (a == b), np.square(a), np.where(np.logical_not(b != c), 1, +c))
    return smooth + kinks * (b >= a) + chosen * np.logical_or(a < 2, b > 1) + np.logical_and(a < 2, b > 1)


def test_the_formula_computes_what_the_function_does() -> None:
    values = points(1000)
    traced = trace(everything)
    assert traced.inputs == ("a", "b", "c")
    (output,) = traced.outputs
    np.testing.assert_allclose(evaluate(output, values), everything(*values.values()), rtol=1e-15)


def test_another_formula_computes_something_else() -> None:
    values = points(1000)
    (output,) = trace(lambda a, b, c: everything(a, b, c) + (a > 2.99) * 1e-9).outputs
    with pytest.raises(AssertionError, match="Mismatched"):
        np.testing.assert_allclose(evaluate(output, values), everything(*values.values()), rtol=1e-15)


def test_several_results_and_common_parts() -> None:
    def both(x: Any, scale: Any) -> Any:
        common = exp(x) * scale
        return common, common + 1.0, 3

    traced = trace(both)
    first, second, third = traced.outputs
    assert str(second) == f"{first} + 1.0"
    assert str(third) == "3.0"
    assert [float(value) for value in evaluate_all(traced.outputs, {"x": 0.0, "scale": 2})] == [2.0, 3.0, 3.0]
    assert trace(lambda *fields: fields[0] - fields[1], ["x", "y"]).inputs == ("x", "y")


def test_numbers_from_elsewhere_are_constants() -> None:
    numbers = (2, 2.0, np.float64(2.0), np.float32(2.0), np.array(2.0), True + True)
    assert {trace(lambda a, n=n: n * a, ["a"]).outputs[0] for n in numbers} == set(trace(lambda a: 2.0 * a).outputs)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda a: 1.0 if a > 0 else 2.0, r"write where\(condition, a, b\)"),
        (lambda a: a if a else 2.0, "which way an `if`"),
        (lambda a: max(a, 1.0), "minimum and maximum of airshed.formula"),
        (lambda a: (a > 0) and (a < 1), "& and |"),
        (lambda a: math.exp(a), "use the functions of airshed.formula, not those of math"),
        (lambda a: float(a), "not those of math"),
        (lambda a: np.arctan(a), "cannot have arctan"),
        (lambda a: np.add.reduce(a), "cannot have add.reduce"),
        (lambda a: np.sum(a), "cannot have sum"),
        (lambda a: np.add(a, 1.0, where=True), "cannot have add"),
        (lambda a: a + np.arange(3.0), "array that is not an argument"),
        (lambda a: a + "1", "has a str where a number is expected"),
        (lambda a: None, "has a NoneType where a number is expected"),
    ],
)
def test_what_no_formula_can_have_is_refused(wrong: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        trace(wrong)


def test_a_formula_says_what_it_lacks() -> None:
    (output,) = trace(lambda pressure, rain: pressure * rain).outputs
    with pytest.raises(FormulaError, match="needs a value of 'rain'; the values are pressure"):
        evaluate(output, {"pressure": 1.0})
