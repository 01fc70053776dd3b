"""Parser of formulas in time and named values, as in files of users: `"23*sin(-7.93e-5*t + 2.43) + 66.5"`.

Python's own parser reads the text. Everything except arithmetic is refused, and Python executes no part of it. Values
are floating-point numbers or arrays of them; a comparison is 1 where it is true and 0 where it is false.
"""

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, pi
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.formula.evaluate import evaluate
from airshed.formula.functions import FUNCTIONS
from airshed.formula.tree import (
    Arithmetic,
    Binary,
    Call,
    Compare,
    Comparison,
    Connective,
    Expression,
    Logic,
    Negate,
    Number,
    Symbol,
)

Value = npt.NDArray[np.float64]

LONGEST, DEEPEST = 4000, 60
"""Maximum length [characters] and depth [nested operations] of a formula; no hand-written formula exceeds them."""

_BINARY: Final[Mapping[type[ast.operator], Arithmetic]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%", ast.Pow: "^",
}  # fmt: skip
_UNARY: Final = (ast.USub, ast.UAdd, ast.Not)
_COMPARE: Final[Mapping[type[ast.cmpop], Comparison]] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_CONNECTIVE: Final[Mapping[type[ast.boolop], Connective]] = {ast.And: "and", ast.Or: "or"}

CONSTANTS: Final[Mapping[str, float]] = {"pi": pi}


@dataclass(frozen=True)
class Formula:
    """A formula that has been read and checked; :func:`parse` creates it.

    names  in the formula, each with its position in the text, in order
    """

    text: str
    where: str
    names: Mapping[str, int]
    tree: Expression = field(repr=False, compare=False)

    def evaluate(self, values: Mapping[str, npt.ArrayLike]) -> Value:
        """Return the value for named numbers or arrays that broadcast; not finite where an operation is not."""
        return evaluate(self.tree, values)


def parse(text: str, *, where: str) -> Formula:
    """Parse the text of a formula; where: key for messages.

    Raises CaseError with the position of the first part that is not arithmetic, or of an unknown function.
    """
    flat = re.sub(r"\s", " ", text).strip()
    if not flat:
        raise CaseError(f'{where} is empty: give a number with its unit, or a formula such as "2*sin(t)"')
    if len(flat) > LONGEST:
        raise CaseError(f"{where} is longer than the {LONGEST} characters that a formula may have")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # text that only causes a warning in Python, such as 1if, is no formula
            node = ast.parse(flat, mode="eval").body
    except SyntaxError as error:
        raise _syntax(flat, where, error) from None
    except (ValueError, RecursionError, MemoryError, Warning):
        raise CaseError(f"{where} = {short(flat)!r} is not a formula that can be read; write it shorter") from None
    reader = _Reader(flat, where)
    tree = reader.read(node)
    return Formula(flat, where, reader.names, tree)


def unknown_name(formula: Formula, name: str, known: Sequence[str]) -> CaseError:
    """Return the error of a formula with an unknown name, with the nearest known one."""
    return _refusal(formula.text, formula.where, formula.names[name], f"{name!r} is not known", suggestion(name, known))


class _Reader:
    """Converter from the syntax tree of Python, which refuses everything except arithmetic."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.names: dict[str, int] = {}

    def read(self, node: ast.expr, depth: int = 0) -> Expression:
        if depth > DEEPEST:
            message = f"{self.where} = {short(self.text)!r} nests more than {DEEPEST} operations; simplify it"
            raise CaseError(message)
        return self._made(node, tuple(self.read(child, depth + 1) for child in self._operands(node)))

    def _operands(self, node: ast.expr) -> Sequence[ast.expr]:
        """Return the operands of an operation; raises CaseError for an operation that formulas do not support."""
        match node:
            case ast.BinOp(left, operator, right) if type(operator) in _BINARY:
                return left, right
            case ast.BinOp(op=ast.BitXor()):
                raise self._refusal(node, "^ is not the power here", "write a**b")
            case ast.UnaryOp(operator, operand) if isinstance(operator, _UNARY):
                return (operand,)
            case ast.Compare(left, operators, others) if all(type(operator) in _COMPARE for operator in operators):
                return left, *others
            case ast.BoolOp(_, operands):
                return operands
            case ast.Call(ast.Name(name), arguments, keywords):
                self._check_call(node, name, len(arguments), len(keywords))
                return arguments
            case ast.Constant(number) if type(number) in (int, float):
                return ()
            case ast.Name():
                return ()
            case ast.IfExp():
                raise self._refusal(node, "there is no if-else", "write where(condition, a, b)")
        possible = f"there are + - * / % **, comparisons, and, or, not, {', '.join(FUNCTIONS)}"
        raise self._refusal(node, "this is no arithmetic", possible)

    def _check_call(self, node: ast.expr, name: str, count: int, keywords: int) -> None:
        if name not in FUNCTIONS:
            raise self._refusal(node, f"there is no function {name!r}", suggestion(name, FUNCTIONS))
        if keywords or not FUNCTIONS[name].takes(count):
            advice = "without names" if keywords else f"{count} given"
            raise self._refusal(node, f"{name} takes {FUNCTIONS[name].wanted}", advice)

    def _made(self, node: ast.expr, operands: tuple[Expression, ...]) -> Expression:
        match node:
            case ast.BinOp(op=operator):
                return Binary(_BINARY[type(operator)], *operands)
            case ast.UnaryOp(op=operator):
                made = {ast.USub: Negate(*operands), ast.UAdd: operands[0], ast.Not: Logic("not", operands)}
                return made[type(operator)]
            case ast.Compare(ops=operators):
                sides = zip(operators, operands[:-1], operands[1:], strict=True)
                pairs = tuple(Compare(_COMPARE[type(operator)], left, right) for operator, left, right in sides)
                return pairs[0] if len(pairs) == 1 else Logic("and", pairs)
            case ast.BoolOp(op=connective):
                return Logic(_CONNECTIVE[type(connective)], operands)
            case ast.Call(ast.Name(name)):
                return Call(name, operands)
            case ast.Constant(number):
                return Number(_float(number))
            case ast.Name(name):
                return self._named(node, name)
        raise TypeError(f"not an operation: {node!r}")

    def _named(self, node: ast.expr, name: str) -> Expression:
        if name in CONSTANTS:
            return Number(CONSTANTS[name])
        if name in FUNCTIONS:
            raise self._refusal(node, f"{name} is a function", f"write {name}(...)")
        self.names.setdefault(name, node.col_offset)
        return Symbol(name)

    def _refusal(self, node: ast.expr, problem: str, advice: str) -> CaseError:
        return _refusal(self.text, self.where, node.col_offset, problem, advice)


def _float(value: Any) -> float:
    """Return a float, also of a whole number that overflows: arithmetic of endless digits takes endless time."""
    try:
        return float(value)
    except OverflowError:
        return inf


def _syntax(text: str, where: str, error: SyntaxError) -> CaseError:
    position = error.offset - 1 if error.offset else len(text)
    reason = (error.msg or "it is not complete").removeprefix("invalid syntax").removeprefix(". ")
    problem = "this is not a formula" + (f" ({reason})" if reason else "")
    return _refusal(text, where, None, problem, f"see {_at(text, position)}")


def _refusal(text: str, where: str, byte: int | None, problem: str, advice: str) -> CaseError:
    """Return the error at a position in a formula; Python counts bytes, the message counts characters."""
    place = "" if byte is None else f", at {_at(text, len(text.encode()[:byte].decode(errors='ignore')))}"
    return CaseError(f"{where} = {short(text)!r}{place}: {problem}; {advice}")


def _at(text: str, position: int) -> str:
    return f"character {position + 1}" + (f" ({text[position : position + 12]!r})" if position < len(text) else "")


def short(text: str) -> str:
    """Return a text, shortened for a message."""
    return text if len(text) <= 80 else f"{text[:77]}..."
