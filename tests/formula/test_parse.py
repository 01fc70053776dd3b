"""Formulas: their values, their errors, and that no text whatever does anything but compute or be refused."""

import math

import numpy as np
import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from airshed.core.errors import CaseError
from airshed.formula.functions import FUNCTIONS
from airshed.formula.parse import DEEPEST, parse
from airshed.formula.quantity import FormulaQuantity, evaluate_named, formula_quantity

T = np.array([0.0, 3600.0, 43200.0, 90000.0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2*3 - 4/8", 6.5),
        ("-2**2", -4.0),
        ("2**3**2", 512.0),
        ("7 % 4 + -7 % 4", 4.0),
        ("t % 86400 / 3600", T % 86400 / 3600),
        ("where(t % 86400 >= 3600, 1, 0.25)", np.where(T % 86400 >= 3600, 1, 0.25)),
        ("0 < t <= 43200", (T > 0) & (T <= 43200)),
        ("t > 0 and not t == 3600 or t < 0", [0, 0, 1, 1]),
        ("2*(t > 0) + 1", [1, 3, 3, 3]),
        ("-(t > 0)", [0, -1, -1, -1]),
        ("min(t, 7200, 1e9) + max(1, t)", np.minimum(T, 7200) + np.maximum(1, T)),
        ("exp(log(2)) + sqrt(abs(-4)) + sin(pi/2) + cos(0) + tan(0)", 6.0),
        ("where(t > 0, 1/t, 0)", [0, 1 / 3600, 1 / 43200, 1 / 90000]),
        ("  1 +\n  2 ", 3.0),
        ("9" * 400, math.inf),
        ("9.0**9**9**9", math.inf),
        ("1/0", math.inf),
    ],
)
def test_values(text: str, expected: object) -> None:
    assert np.allclose(parse(text, where="key").evaluate({"t": T}), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("1 +", "this is not a formula; see character"),
        ("2 * (3", "was never closed"),
        ("1 $ 2", "see character 3 ('$ 2')"),
        ("sinn(t)", "at character 1 ('sinn(t)'): there is no function 'sinn'; did you mean sin?"),
        ("2*sin", "at character 3 ('sin'): sin is a function; write sin(...)"),
        ("sin(t, t)", "sin takes 1 argument; 2 given"),
        ("min(t)", "min takes 2 or more arguments; 1 given"),
        ("where(t > 0, 1)", "where takes 3 arguments; 2 given"),
        ("exp(x=1)", "without names"),
        ("max(*t, 1)", "this is no arithmetic"),
        ("t^2", "^ is not the power here; write a**b"),
        ("1 if t > 0 else 2", "write where(condition, a, b)"),
        ("1if t else 2", "invalid decimal literal"),
        ("t.real", "this is no arithmetic"),
        ("[1][0]", "this is no arithmetic"),
        ("(lambda: 1)()", "at character 1"),
        ("'a' + 'b'", "this is no arithmetic"),
        ("True", "this is no arithmetic"),
        ("2j", "this is no arithmetic"),
        ("t // 2", "this is no arithmetic"),
        ("t in (1, 2)", "this is no arithmetic"),
        ("__import__('os')", "there is no function '__import__'"),
        ("exp.__class__", "this is no arithmetic"),
        ("(x := 3)", "this is no arithmetic"),
        ("ö + sin(é, 1)", "at character 5 ('sin(é, 1)')"),
        ("\ud800", "not a formula that can be read"),
        ("1\0", "key = "),
        ("-" * (DEEPEST + 5) + "1", f"nests more than {DEEPEST} operations"),
        ("(" * 3000 + "1" + ")" * 900, "key = "),
        ("1+" * 3000 + "1", "longer than"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(CaseError) as caught:
        parse(text, where="key")
    assert message in str(caught.value)
    assert "key" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_formulas_refer_to_one_another() -> None:
    formulas = {name: parse(text, where=f"fixed.{name}") for name, text in {"b": "a + t", "a": "2*c", "c": "t"}.items()}
    values = evaluate_named(formulas, {"t": T})
    assert list(values) == ["b", "a", "c"]
    assert np.array_equal(values["b"], 3 * T)


def test_what_is_given_wins_over_a_formula() -> None:
    assert evaluate_named({"a": parse("1 + a", where="a")}, {"a": 2.0})["a"] == 2.0


def test_unknown_and_circular_names() -> None:
    formula = parse("1 + humidty*2", where="fixed.H2O")
    with pytest.raises(
        CaseError, match=r"fixed\.H2O = .* at character 5 .*'humidty' is not known; did you mean humidity"
    ):
        evaluate_named({"H2O": formula}, {"t": T, "humidity": 0.5})
    circle = {name: parse(text, where=name) for name, text in {"a": "b", "b": "1 + c", "c": "2*a"}.items()}
    with pytest.raises(CaseError, match=r"refers to itself: a -> b -> c -> a"):
        evaluate_named(circle, {"t": T})
    with pytest.raises(CaseError, match=r"refers to itself: a -> a"):
        evaluate_named({"a": parse("a", where="a")}, {})


@pytest.mark.parametrize(
    ("value", "units", "expected", "unit"),
    [
        ("298 K", ("K",), 298.0, "K"),
        ("25 degC", ("K",), 298.15, "K"),
        ("50 %", ("1",), 0.5, "1"),
        ("0.5", ("1",), 0.5, "1"),
        (0.5, ("1",), 0.5, "1"),
        ("4e-6 1/s", ("1/s",), 4e-6, "1/s"),
        ("5e11 molecules/cm3", ("molecules/cm3", "mol/mol"), 5e11, "molecules/cm3"),
        ("40 ppb", ("molecules/cm3", "mol/mol"), 40e-9, "mol/mol"),
        ("2.083e6 molecules/cm3/s", ("molecules/cm3/s",), 2.083e6, "molecules/cm3/s"),
        ("2.083e6 molecules cm-3 s-1", ("molecules/cm3/s",), 2.083e6, "molecules/cm3/s"),
    ],
)
def test_constants_with_a_unit(value: object, units: tuple[str, ...], expected: float, unit: str) -> None:
    found = formula_quantity(value, units, where="key")
    assert found.formula is None
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert found.unit == unit


@pytest.mark.parametrize(
    "text", ["2*sin(t)", "1/(t + 1)", "5 % t", "2.5e11/1.2e5", "t", "1 < t", ".5*t", "-t", "(50)*t", "2 + 0*t"]
)
def test_formulas_are_told_from_constants(text: str) -> None:
    found = formula_quantity(text, ("K",), where="key")
    assert isinstance(found, FormulaQuantity)
    assert found.formula is not None
    assert math.isnan(found.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("298", "key = '298' has no unit: write \"298 K\", or a formula in t"),
        (298, 'write "298 K"'),
        ("298 k", "is not a unit"),
        ("298 Kk", "did you mean K"),
        ("298 s", "wrong kind of unit"),
        (True, "must be a number with its unit, or a formula, in quotes, not True"),
        ([1], "in quotes"),
        ("", "empty"),
    ],
)
def test_values_that_are_neither(value: object, message: str) -> None:
    with pytest.raises(CaseError) as caught:
        formula_quantity(value, ("K",), where="key")
    assert message in str(caught.value)


@hypothesis_given(
    st.text(max_size=60) | st.text(alphabet="0123456789.eE+-*/%()<>=!, tTpsin&|^[]{}'\"\\\n", max_size=40)
)
def test_no_text_is_more_than_computed_or_refused(text: str) -> None:
    try:
        found = formula_quantity(text, ("1/s",), where="key")
    except CaseError:
        return
    if found.formula is not None:
        values = dict.fromkeys(found.formula.names, 1.5)
        assert found.formula.evaluate(values).dtype == np.float64


NUMBERS = st.floats(0.125, 8.0).map(lambda value: f"{value!r}")
EXPRESSIONS = st.recursive(
    NUMBERS | st.just("t"),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(st.sampled_from(["sin", "cos", "abs"]), inner).map(lambda parts: f"{parts[0]}({parts[1]})"),
        inner.map(lambda text: f"-{text}"),
    ),
    max_leaves=12,
)


@hypothesis_given(EXPRESSIONS)
def test_values_are_those_of_python(text: str) -> None:
    names = {name: getattr(math, name) for name in ("sin", "cos")} | {"abs": abs, "t": 2.5}
    try:
        expected = eval(text, {}, names)
    except (ZeroDivisionError, ValueError, OverflowError):
        return
    assert parse(text, where="key").evaluate({"t": 2.5}) == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_every_function_is_finite_somewhere() -> None:
    for name, function in FUNCTIONS.items():
        arguments = ", ".join(["0.5"] * function.least)
        assert np.isfinite(parse(f"{name}({arguments})", where="key").evaluate({})), name
