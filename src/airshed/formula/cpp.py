"""Generation of C++ from formulas: statements that compute each common sub-expression once, or one expression.

    statements, results = code(traced.outputs, {"q": "q[z]", "rate": "t.rate"}.__getitem__)

The code preserves the tree: brackets enclose operations in another order than that of C++.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from math import isfinite
from typing import Final

from airshed.core.errors import FormulaError
from airshed.formula.dialect import PACKS, Dialect
from airshed.formula.tree import (
    ONE,
    ZERO,
    Binary,
    Call,
    Compare,
    Expression,
    Logic,
    NamedValue,
    Negate,
    Number,
    ordered,
    rewrite_all,
)

Operand = Callable[[str], str]

_LARGEST_WHOLE_POWER: Final = 8
_COMPARE, _SUM, _PRODUCT, _NEGATION, _ATOM = range(5)
_BINDING: Final = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT}
_CONNECTIVE: Final = {"and": " & ", "or": " | "}


def code(
    expressions: Iterable[Expression], operand: Operand, dialect: Dialect = PACKS, *, prefix: str = "e"
) -> tuple[list[str], list[str]]:
    """Return statements that compute formulas, and for each formula the variable, operand or number with its value.

    operand  text of a symbol, by its name
    prefix   of the names of variables, which are counted from 0
    """
    lowered = lower(expressions, dialect)
    writer = _Writer(operand, dialect)
    kept = _kept(lowered)
    statements: list[str] = []
    for node in ordered(lowered):
        writer.write(node)
        if node in kept:
            name = f"{prefix}{len(statements)}"
            kind = "auto" if isinstance(node, Compare | Logic) else dialect.type
            statements.append(f"const {kind} {name} = {writer.texts[node][0]};")
            writer.texts[node] = name, _ATOM
    return statements, [writer.value(node) for node in lowered]


def inline(expression: Expression, operand: Operand, dialect: Dialect = PACKS) -> str:
    """Return a formula as one C++ expression, common parts as often as they stand in it."""
    (lowered,) = lower([expression], dialect)
    writer = _Writer(operand, dialect)
    for node in ordered([lowered]):
        writer.write(node)
    return writer.value(lowered)


def lower(expressions: Iterable[Expression], dialect: Dialect) -> list[Expression]:
    """Return formulas in the operations that the code has."""

    def lowered(node: Expression) -> Expression:
        match node:
            case Negate(Number(value)):
                return Number(-value)
            case Call("min" | "max" as name, arguments):
                return reduce(lambda left, right: Call(name, (left, right)), arguments)
            case Binary("/", left, Number(value)) if not dialect.exact and value and isfinite(1.0 / value):
                return Binary("*", left, Number(1.0 / value))
            case Binary("^", base, exponent) if not dialect.exact:
                return _power(base, exponent, as_it_is="^" in dialect.functions)
        return node

    return rewrite_all(expressions, lowered)


def _power(base: Expression, exponent: Expression, *, as_it_is: bool) -> Expression:
    match exponent:
        case Number(0.0):
            return ONE
        case Number(value) if abs(value) <= _LARGEST_WHOLE_POWER and value == int(value):
            product = reduce(lambda left, right: Binary("*", left, right), [base] * int(abs(value)))
            return product if value > 0.0 else Binary("/", ONE, product)
    return Binary("^", base, exponent) if as_it_is else Call("exp", (Binary("*", exponent, Call("log", (base,))),))


def _kept(expressions: Sequence[Expression]) -> set[Expression]:
    """Return the nodes with a variable: results, and operations that are used more than once."""
    uses = Counter(child for node in ordered(expressions) for child in node.children)
    shared = {node for node, count in uses.items() if count > 1}
    return {node for node in shared.union(expressions) if node.children}


class _Writer:
    """The text of each node, and how tightly it binds."""

    def __init__(self, operand: Operand, dialect: Dialect) -> None:
        self.texts: dict[Expression, tuple[str, int]] = {}
        self._operand, self._dialect = operand, dialect

    def write(self, node: Expression) -> None:
        """Note the text of a node whose operands have been written."""
        match node:
            case NamedValue(name):
                self.texts[node] = self._operand(name), _ATOM
            case Negate(operand):
                self.texts[node] = f"-{self._bracketed(operand, _ATOM)}", _NEGATION
            case Binary("+" | "-" | "*" | "/" as operator, left, right):
                own = _BINDING[operator]
                both = isinstance(left, Number) and isinstance(right, Number)
                first = self.value(left) if both else self._bracketed(left, own)
                self.texts[node] = f"{first} {operator} {self._bracketed(right, own + 1)}", own
            case Compare(operator, left, right):
                first = self.value(left) if isinstance(left, Number) else self._bracketed(left, _SUM)
                self.texts[node] = f"{first} {operator} {self._bracketed(right, _SUM)}", _COMPARE
            case Logic("not", (operand,)):
                self.texts[node] = f"!{self._condition(operand, _ATOM)}", _NEGATION
            case Logic(connective, operands):
                parts = (self._condition(operand, _NEGATION) for operand in operands)
                self.texts[node] = f"({_CONNECTIVE[connective].join(parts)})", _ATOM
            case Call("where", (condition, yes, no)):
                chosen = self._dialect.choice.format(self._condition(condition), self.value(yes), self.value(no))
                self.texts[node] = chosen, _ATOM
            case Call(name, arguments):
                self.texts[node] = self._call(name, arguments), _ATOM
            case Binary(name, left, right):
                self.texts[node] = self._call(name, (left, right)), _ATOM

    def value(self, node: Expression) -> str:
        """Return the text of a node where a value must stand: a number fills a pack, a condition is 1 or 0."""
        match node:
            case Number(0.0) if node is ZERO:
                return f"{self._dialect.type}{{}}"
            case Number(value):
                return self._dialect.alone.format(self._dialect.number(value))
            case Compare() | Logic():
                one = self._dialect.alone.format(self._dialect.number(1.0))
                return self._dialect.choice.format(self.texts[node][0], one, f"{self._dialect.type}{{}}")
        return self.texts[node][0]

    def _bracketed(self, node: Expression, least: int) -> str:
        if isinstance(node, Compare | Logic):
            return self.value(node)
        if isinstance(node, Number):  # written where it is needed: a zero that fills a pack is no number of a table
            text, binding = self._dialect.number(node.value), _NEGATION if node.value < 0.0 else _ATOM
        else:
            text, binding = self.texts[node]
        return text if binding >= least else f"({text})"

    def _condition(self, node: Expression, least: int = _COMPARE) -> str:
        if isinstance(node, Compare | Logic):
            text, binding = self.texts[node]
        else:
            first = self.value(node) if isinstance(node, Number) else self._bracketed(node, _SUM)
            text, binding = f"{first} != {self._dialect.number(0.0)}", _COMPARE
        return text if binding >= least else f"({text})"

    def _call(self, name: str, arguments: tuple[Expression, ...]) -> str:
        form = self._dialect.functions.get(name)
        if form is None:
            known = ", ".join(name for name in self._dialect.functions if name.isalnum())
            raise FormulaError(f"{self._dialect.name} cannot have {name}; it has + - * /, comparisons, where, {known}")
        return form.format(*map(self.value, arguments))
