"""Evaluation of formulas with NumPy, operation by operation as written."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.errors import FormulaError
from airshed.formula.functions import FUNCTIONS
from airshed.formula.tree import (
    Binary,
    Call,
    Compare,
    Expression,
    Logic,
    NamedValue,
    Negate,
    Number,
    ordered,
    rewrite,
)

_ARITHMETIC: Final[Mapping[str, np.ufunc]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.mod, "^": np.power,
}  # fmt: skip
_COMPARISONS: Final[Mapping[str, np.ufunc]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def evaluate(
    expression: Expression, values: Mapping[str, npt.ArrayLike], *, dtype: npt.DTypeLike = np.float64
) -> AnyArray:
    """Return the value for named numbers or arrays that broadcast together.

    It is not finite where an operation is not, such as sqrt(-1). Raises FormulaError for a name without a value.
    """
    return evaluate_all([expression], values, dtype=dtype)[0]


def evaluate_all(
    expressions: Sequence[Expression], values: Mapping[str, npt.ArrayLike], *, dtype: npt.DTypeLike = np.float64
) -> list[AnyArray]:
    """Return the values of several formulas; each common sub-expression is computed once."""
    nodes, counts = _plan(tuple(expressions))
    uses = counts.copy()
    known: dict[Expression, Any] = {}
    with np.errstate(all="ignore"):
        for node in nodes:
            if isinstance(node, NamedValue):
                known[node] = np.asarray(_look_up(node.name, values), dtype=dtype)
                continue
            operands = node.children
            known[node] = _value(node, [known[operand] for operand in operands])
            uses.subtract(operands)
            for operand in operands:  # arrays may be large
                if not uses[operand]:
                    known.pop(operand, None)
    return [np.asarray(known[expression], dtype=dtype) for expression in expressions]


@lru_cache(1024)
def _plan(expressions: tuple[Expression, ...]) -> tuple[list[Expression], Counter[Expression]]:
    """Return the nodes in the order in which they are computed, and how often each value is used."""
    nodes = ordered(expressions)
    return nodes, Counter(chain(expressions, *(node.children for node in nodes)))


def fold(expression: Expression) -> Expression:
    """Return an equal tree in which each constant part is one number, except numbers that are not finite."""
    return rewrite(expression, _folded)


def _folded(node: Expression) -> Expression:
    own = isinstance(node, Call) and node.name not in FUNCTIONS
    if own or not node.children or not all(isinstance(child, Number) for child in node.children):
        return node
    value = float(evaluate(node, {}))
    return Number(value) if np.isfinite(value) else node


def _value(node: Expression, operands: Sequence[Any]) -> Any:
    match node:
        case Number(value):
            return value
        case Negate():
            return np.negative(operands[0])
        case Binary(operator):
            return _ARITHMETIC[operator](*operands)
        case Compare(operator):
            return _COMPARISONS[operator](*operands).astype(np.float64)
        case Call(name) if name in FUNCTIONS:
            return FUNCTIONS[name].numpy(*operands)
        case Logic("not"):
            return np.equal(operands[0], 0.0).astype(np.float64)
        case Logic(connective):
            together = np.logical_and if connective == "and" else np.logical_or
            return reduce(together, operands).astype(np.float64)
    raise FormulaError(f"{node} has no value in NumPy")


def _look_up(name: str, values: Mapping[str, npt.ArrayLike]) -> npt.ArrayLike:
    if name not in values:
        raise FormulaError(f"the formula needs a value of {name!r}; the values are {', '.join(values) or 'none'}")
    return values[name]
