"""Formulas in time and named values, as people write them in a conditions file: `"23*sin(-7.93e-5*t + 2.43) + 66.5"`.

Python's own parser reads the text; what is not plain arithmetic is refused, and nothing of it is ever run by Python.
All values are floating-point numbers or arrays of them; a comparison is 1 where it holds and 0 where it does not.
"""

import ast
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.nearest import suggestion
from airshed.core.units import Quantity, quantity
from airshed.core.words import shown

Value = npt.NDArray[np.float64]

LONGEST, DEEPEST = 4000, 60
"""Characters and nested operations of a formula; what is longer is no formula that somebody wrote."""


def _truth(value: Any) -> Any:
    return np.asarray(value) != 0.0


_BINARY: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}
_UNARY: Final[Mapping[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: np.negative,
    ast.UAdd: np.positive,
    ast.Not: lambda value: ~_truth(value),
}
_COMPARE: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}


@dataclass(frozen=True)
class _Function:
    apply: Callable[..., Any]
    least: int = 1
    most: int | None = 1


FUNCTIONS: Final[Mapping[str, _Function]] = {
    "abs": _Function(np.abs),
    "exp": _Function(np.exp),
    "log": _Function(np.log),
    "sqrt": _Function(np.sqrt),
    "sin": _Function(np.sin),
    "cos": _Function(np.cos),
    "tan": _Function(np.tan),
    "min": _Function(lambda *values: np.minimum.reduce(np.broadcast_arrays(*values)), 2, None),
    "max": _Function(lambda *values: np.maximum.reduce(np.broadcast_arrays(*values)), 2, None),
    "where": _Function(lambda condition, yes, no: np.where(_truth(condition), yes, no), 3, 3),
}
"""What a formula may call; log is the natural one, where(condition, a, b) is a where the condition holds, else b."""

CONSTANTS: Final[Mapping[str, float]] = {"pi": float(np.pi)}


@dataclass(frozen=True)
class Formula:
    """A formula that has been read and found sound; make it with :func:`parse`.

    names  what it refers to, each with its position in the text, in order
    """

    text: str
    where: str
    names: Mapping[str, int]
    tree: ast.expr = field(repr=False, compare=False)

    def evaluate(self, values: Mapping[str, npt.ArrayLike]) -> Value:
        """Return the value for named numbers or arrays that broadcast together; not finite where arithmetic is not."""
        with np.errstate(all="ignore"):
            return np.asarray(_evaluate(self.tree, values), dtype=np.float64)


def parse(text: str, *, where: str) -> Formula:
    """Return the formula that a text holds; ``where`` is the key that messages name.

    Raises CaseError with the position of what is not arithmetic, or is no function that there is.
    """
    flat = re.sub(r"\s", " ", text).strip()
    if not flat:
        raise CaseError(f'{where} is empty: give a number with its unit, or a formula such as "2*sin(t)"')
    if len(flat) > LONGEST:
        raise CaseError(f"{where} is longer than the {LONGEST} characters that a formula may have")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what Python only warns of, such as 1if, is no formula
            tree = ast.parse(flat, mode="eval").body
    except SyntaxError as error:
        raise _syntax(flat, where, error) from None
    except (ValueError, RecursionError, MemoryError, Warning):
        raise CaseError(f"{where} = {_short(flat)!r} is not a formula that can be read; write it shorter") from None
    names: dict[str, int] = {}
    _check(tree, flat, where, names, 0)
    return Formula(flat, where, names, tree)


def unknown_name(formula: Formula, name: str, known: Sequence[str]) -> CaseError:
    """Return the error of a formula that refers to a name that is not there, with the nearest one that is."""
    return _refusal(formula.text, formula.where, formula.names[name], f"{name!r} is not known", suggestion(name, known))


def evaluate_all(formulas: Mapping[str, Formula], given: Mapping[str, npt.ArrayLike]) -> dict[str, Value]:
    """Return the values of formulas that may refer to one another by their names, and to what is given.

    Raises CaseError for a name that is neither, and for formulas that refer to one another in a circle.
    """
    values: dict[str, Any] = dict(given)
    under_way: list[str] = []

    def settle(name: str) -> None:
        formula = formulas[name]
        if name in under_way:
            circle = " -> ".join([*under_way[under_way.index(name) :], name])
            raise CaseError(f"{formula.where} = {_short(formula.text)!r} refers to itself: {circle}; break the circle")
        under_way.append(name)
        for needed in formula.names:
            if needed not in values:
                if needed not in formulas:
                    known = [name for name in (*given, *formulas) if name.isidentifier()]
                    raise unknown_name(formula, needed, [*known, *FUNCTIONS, *CONSTANTS])
                settle(needed)
        under_way.pop()
        values[name] = formula.evaluate(values)

    for name in formulas:
        if name not in values:
            settle(name)
    return {name: np.asarray(values[name]) for name in formulas}


@dataclass(frozen=True)
class Given(Quantity):
    """A constant with its unit, or a formula whose result is in ``unit``; then ``value`` is not a number."""

    formula: Formula | None = field(default=None)


_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_UNIT_AHEAD = re.compile(r"[A-Za-zµμ°]|%\s*$|1\s*/\s*[A-Za-z]")


def given(value: object, units: Sequence[str], *, where: str) -> Given:
    """Return a value that is a constant in one of ``units``, or a formula in the first of them.

    A number followed by a unit is a constant; any other text is a formula. Raises CaseError.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise CaseError(f"{where} must be a number with its unit, or a formula, in quotes, not {shown(value)}")
    text = str(value).strip()
    number = _PLAIN.match(text)
    rest = text[number.end() :].strip() if number else text
    if number and not rest and units[0] != "1":
        raise CaseError(
            f'{where} = {shown(value)} has no unit: write "{text if len(text) <= 40 else "N"} {units[0]}", '
            f"or a formula in t with operations in it, whose result is in {units[0]}"
        )
    if number and (not rest or _UNIT_AHEAD.match(rest)):
        found = quantity(text, units, where=where)
        return Given(found.text, found.value, found.unit)
    return Given(text, float("nan"), units[0], parse(text, where=where))


def _check(node: ast.expr, text: str, where: str, names: dict[str, int], depth: int) -> None:
    """Refuse what is not arithmetic; collect names."""
    if depth > DEEPEST:
        raise CaseError(f"{where} = {_short(text)!r} nests more than {DEEPEST} operations; simplify it")
    for child in _operands(node, text, where):
        _check(child, text, where, names, depth + 1)
    if isinstance(node, ast.Name) and node.id not in CONSTANTS:
        if node.id in FUNCTIONS:
            raise _refusal(text, where, node.col_offset, f"{node.id} is a function", f"write {node.id}(...)")
        names.setdefault(node.id, node.col_offset)


def _operands(node: ast.expr, text: str, where: str) -> Sequence[ast.expr]:
    """Return what an operation works on; raises CaseError for one that a formula does not have."""
    match node:
        case ast.BinOp(left, operator, right) if type(operator) in _BINARY:
            return left, right
        case ast.BinOp(op=ast.BitXor()):
            raise _refusal(text, where, node.col_offset, "^ is not the power here", "write a**b")
        case ast.UnaryOp(operator, operand) if type(operator) in _UNARY:
            return (operand,)
        case ast.Compare(left, operators, others) if all(type(operator) in _COMPARE for operator in operators):
            return left, *others
        case ast.BoolOp(_, operands):
            return operands
        case ast.Call(ast.Name(name), arguments, keywords):
            _check_call(node, name, text, where, len(keywords))
            return arguments
        case ast.Constant(number) if type(number) in (int, float):
            return ()
        case ast.Name():
            return ()
        case ast.IfExp():
            raise _refusal(text, where, node.col_offset, "there is no if-else", "write where(condition, a, b)")
    possible = f"there are + - * / % **, comparisons, and, or, not, {', '.join(FUNCTIONS)}"
    raise _refusal(text, where, node.col_offset, "this is no arithmetic", possible)


def _check_call(node: ast.Call, name: str, text: str, where: str, keywords: int) -> None:
    if name not in FUNCTIONS:
        raise _refusal(text, where, node.col_offset, f"there is no function {name!r}", suggestion(name, FUNCTIONS))
    function, count = FUNCTIONS[name], len(node.args) + keywords
    if keywords or count < function.least or (function.most is not None and count > function.most):
        wanted = f"{function.least}" if function.most == function.least else f"{function.least} or more"
        problem = f"{name} takes {wanted} argument{'s' * (wanted != '1')}"
        raise _refusal(text, where, node.col_offset, problem, f"{count} given" if not keywords else "without names")


def _evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.BinOp(left, operator, right):
            return _BINARY[type(operator)](_evaluate(left, values), _evaluate(right, values))
        case ast.UnaryOp(operator, operand):
            return np.asarray(_UNARY[type(operator)](_evaluate(operand, values)), dtype=np.float64)
        case ast.Compare(left, operators, others):
            return _compare(operators, [_evaluate(side, values) for side in (left, *others)])
        case ast.BoolOp(operator, operands):
            truths = np.broadcast_arrays(*(_truth(_evaluate(operand, values)) for operand in operands))
            together = np.logical_and if isinstance(operator, ast.And) else np.logical_or
            return together.reduce(truths).astype(np.float64)
        case ast.Call(ast.Name(name), arguments):
            return FUNCTIONS[name].apply(*(_evaluate(argument, values) for argument in arguments))
        case ast.Name(name):
            return np.asarray(CONSTANTS[name] if name in CONSTANTS else values[name], dtype=np.float64)
        case ast.Constant(number):
            return _number(number)
    raise TypeError(f"not an operation: {node!r}")


def _compare(operators: Sequence[ast.cmpop], sides: Sequence[Any]) -> Any:
    holds: Any = True
    for operator, left, right in zip(operators, sides[:-1], sides[1:], strict=True):
        holds = np.logical_and(holds, _COMPARE[type(operator)](left, right))
    return np.asarray(holds, dtype=np.float64)


def _number(value: Any) -> Any:
    """Return a float, also of a whole number beyond all floats: arithmetic of endless digits takes endless time."""
    try:
        return np.float64(value)
    except OverflowError:
        return np.float64(np.inf)


def _syntax(text: str, where: str, error: SyntaxError) -> CaseError:
    position = error.offset - 1 if error.offset else len(text)
    reason = (error.msg or "it is not complete").removeprefix("invalid syntax").removeprefix(". ")
    problem = "this is not a formula" + (f" ({reason})" if reason else "")
    return _refusal(text, where, None, problem, f"see {_at(text, position)}")


def _refusal(text: str, where: str, byte: int | None, problem: str, advice: str) -> CaseError:
    """Return the error for a place in a formula; Python counts it in bytes, people in characters."""
    place = "" if byte is None else f", at {_at(text, len(text.encode()[:byte].decode(errors='ignore')))}"
    return CaseError(f"{where} = {_short(text)!r}{place}: {problem}; {advice}")


def _at(text: str, position: int) -> str:
    return f"character {position + 1}" + (f" ({text[position : position + 12]!r})" if position < len(text) else "")


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
