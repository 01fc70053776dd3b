"""C++ of formulas gives the values of NumPy, in packs of either precision and for single values."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import FormulaError
from airshed.formula import abs, cpp, derivative, evaluate_all, minimum, sqrt, trace, where
from airshed.formula.dialect import DOUBLES, PACKS, POSITIVE, SCALARS, Dialect
from airshed.formula.trace import TracedFunction
from airshed.formula.tree import (
    Binary,
    Call,
    Compare,
    Expression,
    Logic,
    Negate,
    Symbol,
    operations,
    ordered,
    substitute,
)
from airshed.kernels.cpp import header
from airshed.kernels.toolchain import build, load

from .trees import NAMES, moderate_trees, points

W = 8
HELPERS = """
static inline double minimum(double a, double b) { return a < b ? a : b; }
static inline double maximum(double a, double b) { return a > b ? a : b; }
"""


def source(expressions: list[Expression], dialect: Dialect, precision: str = "double") -> str:
    """Return the C++ of a function of arrays: values [symbol][lane] to results [formula][lane]."""
    real = {"double": "double", "single": "float"}[precision]
    kind = dialect.type
    head = f"#define W {W}\n#define REAL_IS_DOUBLE {int(precision == 'double')}\ntypedef {real} real;\n"
    body = []
    for number, expression in enumerate(expressions):
        statements, (result,) = cpp.code([expression], lambda name: f"in[{NAMES.index(name)}]", dialect)
        body.append(f"static void f{number}(const {kind}* in, {kind}* out) {{")
        body += [*statements, f"out[{number}] = {result}; }}"]
    calls = " ".join(f"f{number}(in, out);" for number in range(len(expressions)))
    lines = "\n".join(body)
    head = HELPERS if dialect is SCALARS else f"{head}{header('step/pack.hpp')}"
    return f'{head}\n{lines}\nextern "C" void run(const {kind}* in, {kind}* out) {{ {calls} }}\n'


def computed(
    expressions: list[Expression], values: dict[str, np.ndarray], dialect: Dialect, precision: str = "double"
) -> np.ndarray:
    """Return the values of formulas that compiled C++ computes (formula, value)."""
    flags = ("-O1", *(["-ffp-contract=off"] if dialect.exact else []))
    run = load(build(source(expressions, dialect, precision), name="formula", extra_flags=flags)).run
    dtype = np.float32 if precision == "single" and dialect is PACKS else np.float64
    width = 1 if dialect is SCALARS else W
    whole = np.array([values[name] for name in NAMES], dtype=dtype)
    parts = []
    for first in range(0, whole.shape[1], width):
        given, result = (aligned(rows, width, dtype) for rows in (len(NAMES), len(expressions)))
        given[...] = whole[:, first : first + width]
        run(given.ctypes.data_as(ctypes.c_void_p), result.ctypes.data_as(ctypes.c_void_p))
        parts.append(result.copy())
    return np.concatenate(parts, axis=1).astype(np.float64)


def aligned(rows: int, width: int, dtype: type) -> np.ndarray:
    room = np.zeros((rows * width * np.dtype(dtype).itemsize + 64), np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + rows * width * np.dtype(dtype).itemsize].view(dtype).reshape(rows, width)


TREES = moderate_trees(40)
VALUES = points(64)


@pytest.mark.parametrize(
    ("dialect", "precision", "rtol"), [(PACKS, "double", 1e-11), (PACKS, "single", 2e-4), (DOUBLES, "single", 1e-11)]
)
def test_packs_compute_what_numpy_does(dialect: Dialect, precision: str, rtol: float) -> None:
    found = computed(TREES, VALUES, dialect, precision)
    expected = evaluate_all(TREES, VALUES)
    np.testing.assert_allclose(found, expected, rtol=rtol)
    with pytest.raises(AssertionError, match="Mismatched"):
        np.testing.assert_allclose(found[1:], expected[:-1], rtol=rtol)


def test_one_value_after_the_other_has_the_bits_of_numpy() -> None:
    trees = moderate_trees(40, plain=True)
    found = computed(trees, VALUES, SCALARS)
    assert found.tobytes() == np.array(evaluate_all(trees, VALUES)).tobytes()
    assert {type(node) for node in ordered(trees)} >= {Binary, Negate, Call, Compare, Logic}


def test_derivatives_are_formulas_as_any_other() -> None:
    traced = TracedFunction(NAMES, tuple(TREES[:20]))
    changes = substitute_all(derivative.tangent(traced, wrt=["a"]).outputs, {"a_tangent": Symbol("b")})
    expected = np.array(np.broadcast_arrays(*evaluate_all(changes, VALUES), VALUES["a"])[:-1])
    found = computed(changes, VALUES, PACKS)
    finite = np.isfinite(expected)
    assert finite.mean() > 0.9
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-7, atol=1e-9)


def substitute_all(trees: Sequence[Expression], values: dict[str, Expression]) -> list[Expression]:
    return [substitute(tree, values) for tree in trees]


def written(function: Callable[..., Any], dialect: Dialect = PACKS) -> tuple[list[str], list[str]]:
    return cpp.code(trace(function).outputs, str, dialect)


def test_common_parts_are_computed_once() -> None:
    statements, results = written(lambda a, b: (sqrt(a * b) + 1.0, 1.0 / (a * b), a * b, a, 3.0, 0.0))
    assert statements == [
        "const pack e0 = a * b;",
        "const pack e1 = to_real(vsqrt(to_double(e0))) + real(1.0);",
        "const pack e2 = real(1.0) / e0;",
    ]
    assert results == ["e1", "e2", "e0", "a", "splat(real(3.0))", "pack{}"]
    assert cpp.code([Symbol("a")], str, prefix="washout_") == ([], ["a"])
    assert cpp.code([Negate(Symbol("a"))], str, prefix="washout_")[1] == ["washout_0"]


def test_a_condition_is_a_mask_or_one_and_zero() -> None:
    statements, _ = written(lambda a, b: (where((a > b) & ~(b == 0.0), a, 0.0), where(a > b, b, a), (a > b) * a))
    assert statements == [
        "const auto e0 = a > b;",
        "const pack e1 = ((e0 & !(b == real(0.0))) ? a : pack{});",
        "const pack e2 = (e0 ? b : a);",
        "const pack e3 = (e0 ? splat(real(1.0)) : pack{}) * a;",
    ]
    assert written(lambda a: where(a, a - 1.0, a + 1.0), DOUBLES)[0] == [
        "const dpack e0 = (a != 0.0 ? a - 1.0 : a + 1.0);"
    ]
    assert written(lambda a: a >= 2, SCALARS)[0] == ["const auto e0 = a >= 2.0;"]
    assert written(lambda a: a >= 2, SCALARS)[1] == ["(e0 ? 1.0 : double{})"]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda a, b: a - (b - a), "a - (b - a)"),
        (lambda a, b: a - b - a, "a - b - a"),
        (lambda a, b: a * (b / a), "a * (b / a)"),
        (lambda a, b: a * b / a + -b * (a + b), "a * b / a + -b * (a + b)"),
        (lambda a, b: -(a * b) - -b, "-(a * b) - -b"),
        (lambda a, b: -np.negative(a), "-(-a)"),
        (lambda a, b: a**3, "a * a * a"),
        (lambda a, b: (a + b) ** -2, "1.0 / ((a + b) * (a + b))"),
        (lambda a, b: a**0, "dsplat(1.0)"),
        (lambda a, b: a**2.5 / b**b, "vexp(2.5 * vlog(a)) / vexp(b * vlog(b))"),
        (lambda a, b: a / 4.0 + a / 0.0, "a * 0.25 + a / 0.0"),
        (lambda a, b: a * -2.0 + float("-inf"), "a * -2.0 + -__builtin_inf()"),
        (lambda a, b: minimum(minimum(a, 2.0), b), "vmin(vmin(a, dsplat(2.0)), b)"),
        (
            lambda a, b: (a > b) + (a > 1.0) * 2.0,
            "(a > b ? dsplat(1.0) : dpack{}) + (a > 1.0 ? dsplat(1.0) : dpack{}) * 2.0",
        ),
        (lambda a, b: abs(a), "vabs(a)"),
    ],
)
def test_text_keeps_the_order_of_operations(function: Callable[..., Any], text: str) -> None:
    (output,) = trace(function).outputs
    assert cpp.inline(output, str, POSITIVE) == text


def test_exact_code_neither_multiplies_for_a_division_nor_knows_powers() -> None:
    assert cpp.inline(trace(lambda a: a / 4.0).outputs[0], str, SCALARS) == "a / 4.0"
    for wrong, name in ((lambda a: a**2, r"\^"), (lambda a: a % 2, "%"), (lambda a: np.exp(a), "exp")):
        with pytest.raises(FormulaError, match=f"one pass cannot have {name}; it has .* where, sqrt, abs, min, max"):
            written(wrong, SCALARS)


@pytest.mark.parametrize("seed", range(20))
def test_operations_are_counted_as_written(seed: int) -> None:
    random, parts = np.random.default_rng(seed), [Symbol(name) for name in NAMES]
    for _ in range(20):
        parts.append(Binary(random.choice(["+", "-", "*", "/"]), *random.choice(np.array(parts, dtype=object), 2)))
    text = cpp.inline(parts[-1], str, SCALARS)
    assert operations(parts[-1]) == sum(text.count(f" {sign} ") for sign in "+-*/") > 0


def test_another_dialect_is_a_table() -> None:
    cuda = replace(
        SCALARS,
        name="CUDA",
        type="float",
        number=lambda value: f"{value!r}f",
        functions={"exp": "__expf({0})"},
        exact=False,
    )
    statements, _ = written(lambda a: np.exp(a) * 2.0 / np.exp(a), cuda)
    assert statements == ["const float e0 = __expf(a);", "const float e1 = e0 * 2.0f / e0;"]
