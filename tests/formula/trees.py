"""Random formulas for tests, of the symbols a, b and c."""

import numpy as np
from hypothesis import strategies as st

from airshed.formula import evaluate
from airshed.formula.tree import Binary, Call, Compare, Expression, Logic, Negate, Number, Symbol, ordered

NAMES = ("a", "b", "c")
LEAVES = st.sampled_from([Symbol(name) for name in NAMES]) | st.floats(0.25, 4.0).map(Number)
Trees = st.SearchStrategy[Expression]


def _operations(inner: Trees, operators: list[str], functions: list[str]) -> Trees:
    binary = st.builds(Binary, st.sampled_from(operators), inner, inner)
    call = st.builds(lambda name, operand: Call(name, (operand,)), st.sampled_from(functions), inner)
    return binary | inner.map(Negate) | call


def _choices(inner: Trees) -> Trees:
    compare = st.builds(Compare, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner, inner)
    logic = st.builds(
        lambda connective, one, other: Logic(connective, (one, other)), st.sampled_from(["and", "or"]), compare, inner
    )
    condition = compare | logic | compare.map(lambda each: Logic("not", (each,))) | inner
    many = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return (
        condition
        | st.builds(lambda name, operands: Call(name, operands), st.sampled_from(["min", "max"]), many)
        | st.builds(lambda *operands: Call("where", operands), condition, inner, inner)
    )


def analytic(leaves: int = 10) -> Trees:
    """Differentiable formulas: their complex step is exact."""
    functions = ["exp", "log", "log10", "sqrt", "sin", "cos", "tan"]
    return st.recursive(
        LEAVES, lambda inner: _operations(inner, ["+", "-", "*", "/", "^"], functions), max_leaves=leaves
    )


def any_trees(leaves: int = 10) -> Trees:
    """Formulas with something of everything."""
    functions = ["exp", "log", "log10", "sqrt", "sin", "cos", "tan", "abs"]

    def grow(inner: Trees) -> Trees:
        return _operations(inner, ["+", "-", "*", "/", "%", "^"], functions) | _choices(inner)

    return st.recursive(LEAVES, grow, max_leaves=leaves)


def points(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return values of the symbols."""
    random = np.random.default_rng(seed)
    return {name: random.uniform(0.3, 3.0, count) for name in NAMES}


def moderate_trees(count: int, seed: int = 0, *, plain: bool = False) -> list[Expression]:
    """Return formulas whose parts are moderate numbers at `points(64)`, and far from where they jump.

    They grow out of one another, so that many have parts in common. Plain ones have neither powers nor functions but
    abs, sqrt, min, max and where.
    """
    random, values = np.random.default_rng(seed), points(64)
    pool: list[Expression] = [*(Symbol(name) for name in NAMES), Number(0.7), Number(-1.6), Number(3.0)]
    grown: list[Expression] = []
    while len(grown) < count:
        tree = _grown(random, [pool[index] for index in random.integers(0, len(pool), 3)], plain)
        value = evaluate(tree, values)
        if tree not in pool and value.ndim and _moderate(value) and _far_from_jumps(tree, values):
            pool.append(tree)
            grown.append(tree)
    return grown


def _grown(random: np.random.Generator, parts: list[Expression], plain: bool) -> Expression:
    one, other, third = parts
    condition = Compare(random.choice(["<", "<=", ">", ">=", "==", "!="]), one, other)
    functions = ["abs", "sqrt", "exp", "log", "log10", "sin", "cos", "tan"]
    power = Number(random.choice([-2.0, 0.0, 1.0, 2.0, 3.0, 8.0, 9.0, 0.5, -1.3]))
    made = [
        Negate(one),
        Binary(random.choice(["+", "-", "*", "/"]), one, other),
        Binary("-", one, other)
        if plain
        else Binary(random.choice(["%", "^"]), one, [other, power][random.integers(2)]),
        Call(random.choice(functions[:2] if plain else functions), (one,)),
        Call(random.choice(["min", "max"]), (one, other, third)),
        Call("where", (condition, other, third)),
        Binary("+", condition, third),
        Binary("+", Logic(random.choice(["and", "or"]), (condition, third, Logic("not", (condition,)))), third),
    ]
    return made[random.integers(len(made))]


def _moderate(value: np.ndarray) -> bool:
    size = np.abs(value)
    return bool(np.isfinite(size).all() and size.min() > 0.02 and size.max() < 50.0)


def _far_from_jumps(tree: Expression, values: dict[str, np.ndarray]) -> bool:
    for node in ordered([tree]):
        match node:
            case Compare(_, left, right) if left is not right:
                gap = np.abs(evaluate(left, values) - evaluate(right, values))
            case Binary("%", left, right):
                quotient = evaluate(left, values) / evaluate(right, values)
                gap = np.abs(quotient - np.round(quotient))
            case Binary("^", base, Number(power)) if abs(power) > 8.0 or power % 1.0:
                gap = evaluate(base, values)
            case Binary("^", base, exponent) if not isinstance(exponent, Number):
                gap = evaluate(base, values)
            case _:
                continue
        if np.min(gap) < 1e-3:
            return False
    return True
