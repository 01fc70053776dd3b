"""Rate expressions: a small immutable tree, evaluated with NumPy here and written as C++ by the kernel generator.

A rate is a formula of numbers, the air's state (:data:`SYMBOLS`), functions (:data:`FUNCTIONS`) and what a mechanism
leaves open, in molecules, cm3 and s: ``5.7e-34*(TEMP/300)^(-2.8)*M*O2``. Six node types make a tree: :class:`Number`,
:class:`Symbol`, :class:`Parameter`, :class:`Negate`, :class:`Binary` and :class:`Call`. Names of symbols are canonical
(upper case, ``T`` written ``TEMP``); ``str(node)`` is source text that reads back as the same value.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.errors import MechanismError
from airshed.mechanism.location import nearest
from airshed.mechanism.names import check_label

Value = float | npt.NDArray[np.float64]
"""A number or an array over cells."""

Environment = Mapping[str, Value]
"""Values of :data:`SYMBOLS`, of the sun's position and of parameters, all of shapes that broadcast together."""

Dependency = Literal["temperature", "pressure", "air", "water", "photolysis", "parameter"]
Operator = Literal["+", "-", "*", "/", "^"]


@dataclass(frozen=True, slots=True)
class EnvironmentSymbol:
    """A name that stands for the state of the air or the sun."""

    unit: str
    dependency: Dependency
    text: str


SYMBOLS: Final[Mapping[str, EnvironmentSymbol]] = {
    "TEMP": EnvironmentSymbol("K", "temperature", "air temperature"),
    "PRESS": EnvironmentSymbol("Pa", "pressure", "air pressure"),
    "M": EnvironmentSymbol("molecules cm-3", "air", "air"),
    "O2": EnvironmentSymbol("molecules cm-3", "air", "molecular oxygen"),
    "N2": EnvironmentSymbol("molecules cm-3", "air", "molecular nitrogen"),
    "H2O": EnvironmentSymbol("molecules cm-3", "water", "water vapour"),
    "SUN": EnvironmentSymbol("1", "photolysis", "cosine of the solar zenith angle while the sun is up, else 0"),
}
"""What a rate may name."""

AIR_GASES: Final = ("M", "O2", "N2", "H2O")
"""Those of :data:`SYMBOLS` that are air and its gases [molecules cm-3]: no chemistry changes them."""

SUN_POSITION: Final[Mapping[str, EnvironmentSymbol]] = {
    "sec_zenith": EnvironmentSymbol("1", "photolysis", "secant of the solar zenith angle, anything finite at night"),
    "daylight": EnvironmentSymbol("1", "photolysis", "factor on clear-sky photolysis: 0 at night, 1 in clear daylight"),
}
"""What an environment holds besides, for ``PHOTO``; a rate does not name them."""

ALIASES: Final[Mapping[str, str]] = {"T": "TEMP"}
"""Other spellings of :data:`SYMBOLS`."""

PHOTO: Final = "PHOTO"
"""``PHOTO(a, b)``: the photolysis rate daylight * a * exp(-b * sec_zenith) [1/s] of two constants a [1/s] and b [1]."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a rate may call: its least and greatest number of arguments, and its NumPy form."""

    least: int
    most: int | None
    numpy: Callable[..., Any] | None


FUNCTIONS: Final[Mapping[str, Function]] = {
    "EXP": Function(1, 1, np.exp),
    "LOG": Function(1, 1, np.log),
    "LOG10": Function(1, 1, np.log10),
    "SQRT": Function(1, 1, np.sqrt),
    "ABS": Function(1, 1, np.abs),
    "POW": Function(2, 2, np.power),
    "MIN": Function(2, None, lambda *values: _reduce(np.minimum, values)),
    "MAX": Function(2, None, lambda *values: _reduce(np.maximum, values)),
    PHOTO: Function(2, 2, None),
}
"""What a rate may call, names in upper case; LOG is the natural logarithm, and PHOTO needs the environment."""

_OPERATIONS: Final[Mapping[Operator, Callable[..., Any]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}
_PRECEDENCE: Final[Mapping[Operator, int]] = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 4}
_NEGATION, _ATOM = 3, 5
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\((\w+|[\d.e+-]+(, [\d.e+-]+)*)\))?", re.ASCII)
"""Names of parameters that stand in a formula as they are; the text of another one is in quotes."""


class _Node:
    """What every node can do."""

    __slots__ = ()

    def __str__(self) -> str:
        return _source(self)[0]  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Number(_Node):
    """A constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Symbol(_Node):
    """A name out of :data:`SYMBOLS`."""

    name: str


@dataclass(frozen=True, slots=True)
class Parameter(_Node):
    """A value that a mechanism leaves open: the rate of a light reaction that a host computes, by its name."""

    name: str

    def __post_init__(self) -> None:
        check_label("what is open as", self.name)


@dataclass(frozen=True, slots=True)
class Negate(_Node):
    """Minus the operand."""

    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Binary(_Node):
    """``left operator right`` with one of + - * / ^."""

    operator: Operator
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Call(_Node):
    """A call of one of :data:`FUNCTIONS`."""

    name: str
    arguments: tuple["Expression", ...]


Expression = Number | Symbol | Parameter | Negate | Binary | Call


def symbol(name: str) -> Symbol:
    """Return the symbol of this name in any case of letters; raise MechanismError if there is none."""
    canonical = ALIASES.get(name.upper(), name.upper())
    if canonical not in SYMBOLS:
        known = ", ".join(SYMBOLS)
        raise MechanismError(f"a rate does not know {name!r} (it knows {known}){nearest(name, SYMBOLS)}")
    return Symbol(canonical)


def call(name: str, arguments: tuple[Expression, ...]) -> Call:
    """Return the call of a known function; raise MechanismError if it is unknown or has the wrong arguments."""
    canonical = name.upper()
    function = FUNCTIONS.get(canonical)
    if function is None:
        known = ", ".join(known.lower() for known in FUNCTIONS)
        raise MechanismError(f"a rate cannot call {name!r} (it can call {known}){nearest(name, FUNCTIONS)}")
    count = len(arguments)
    if count < function.least or (function.most is not None and count > function.most):
        wanted = f"{function.least}" if function.most == function.least else f"{function.least} or more"
        raise MechanismError(f"{name} takes {wanted} argument{'' if wanted == '1' else 's'}, not {count}")
    if canonical == PHOTO and any(dependencies(argument) for argument in arguments):
        raise MechanismError(f"{name} takes two constants, a [1/s] and b, for a*exp(-b*sec(zenith angle))")
    return Call(canonical, arguments)


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct operands of a node."""
    match expression:
        case Negate(operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Call(_, arguments):
            return arguments
    return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield every node, parents before children, left to right."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def depth(expression: Expression) -> int:
    """Return the number of levels of the tree."""
    level, deepest = [expression], 0
    while level:
        deepest += 1
        level = [child for node in level for child in children(node)]
    return deepest


def symbols(expression: Expression) -> frozenset[str]:
    """Return the environment's names that the value needs, those of the sun's position included."""
    names = set()
    for node in walk(expression):
        if isinstance(node, Symbol):
            names.add(node.name)
        elif isinstance(node, Call) and node.name == PHOTO:
            names.update(SUN_POSITION)
    return frozenset(names)


def parameters(expression: Expression) -> tuple[str, ...]:
    """Return the names of the parameters that the value needs, each once, in the order of the text."""
    return tuple(dict.fromkeys(node.name for node in walk(expression) if isinstance(node, Parameter)))


def dependencies(expression: Expression) -> frozenset[Dependency]:
    """Return which parts of the environment the value follows; empty for a constant."""
    known = {**SYMBOLS, **SUN_POSITION}
    found: set[Dependency] = {known[name].dependency for name in symbols(expression)}
    return frozenset(found | {"parameter"} if parameters(expression) else found)


def substitute(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return the tree with each parameter that `values` names replaced."""
    match expression:
        case Parameter(name):
            return values.get(name, expression)
        case Negate(operand):
            return Negate(substitute(operand, values))
        case Binary(operator, left, right):
            return Binary(operator, substitute(left, values), substitute(right, values))
        case Call(_, arguments):
            return replace(expression, arguments=tuple(substitute(argument, values) for argument in arguments))
    return expression


def evaluate(expression: Expression, environment: Environment) -> Value:
    """Return the value [molecules, cm3, s] for an environment whose values broadcast together.

    A photolysis rate is J = daylight * a * exp(-b * sec_zenith), and 0 at night. Raises MechanismError when the
    environment lacks a name. Where arithmetic gives no number, as of sqrt(-1), the value is not finite.
    """
    with np.errstate(all="ignore"):
        return _evaluate(expression, environment)


def _evaluate(expression: Expression, environment: Environment) -> Value:
    match expression:
        case Number(value):
            return value
        case Symbol(name):
            return _look_up(name, environment)
        case Parameter(name):
            if name not in environment:
                raise MechanismError(f"the rates need {name}, which the mechanism leaves open: give it a value")
            return environment[name]
        case Negate(operand):
            return -_evaluate(operand, environment)
        case Binary(operator, left, right):
            return _plain(_OPERATIONS[operator](_evaluate(left, environment), _evaluate(right, environment)))
        case Call(name, arguments):
            values = [_evaluate(argument, environment) for argument in arguments]
            function = FUNCTIONS[name].numpy
            return _plain(function(*values)) if function else _photolysis(values[0], values[1], environment)


def fold(expression: Expression) -> Expression:
    """Return an equal tree in which every part that is constant is one number (kept apart where it is not finite)."""
    match expression:
        case Negate(operand):
            folded: Expression = Negate(fold(operand))
        case Binary(operator, left, right):
            folded = Binary(operator, fold(left), fold(right))
        case Call(name, arguments):
            folded = replace(expression, arguments=tuple(fold(argument) for argument in arguments))
            if name == PHOTO:
                return folded
        case _:
            return expression
    if all(isinstance(child, Number) for child in children(folded)):
        value = float(evaluate(folded, {}))
        if np.isfinite(value):
            return Number(value)
    return folded


def _look_up(name: str, environment: Environment) -> Value:
    if name not in environment:
        known = {**SYMBOLS, **SUN_POSITION}[name]
        raise MechanismError(f"the rates need {name} ({known.text}, {known.unit}), which the conditions do not give")
    return environment[name]


def _photolysis(a: Value, b: Value, environment: Environment) -> Value:
    daylight = _look_up("daylight", environment)
    # At night the secant is negative or huge: it must not reach the exponential.
    secant = np.where(np.asarray(daylight) > 0.0, _look_up("sec_zenith", environment), 0.0)
    return _plain(daylight * a * np.exp(-b * secant))


def _plain(value: Any) -> Value:
    """Return NumPy scalars and 0-d arrays as a float."""
    return float(value) if np.ndim(value) == 0 else value


def _reduce(function: Callable[..., Any], values: tuple[Value, ...]) -> Any:
    result: Any = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


def _source(expression: Expression) -> tuple[str, int]:
    """Return the text of a node and how tightly it binds."""
    match expression:
        case Number(value):
            return repr(value), _ATOM if np.copysign(1.0, value) > 0 else _NEGATION
        case Symbol(name):
            return name, _ATOM
        case Parameter(name):
            return name if _PLAIN.fullmatch(name) else f'"{name}"', _ATOM
        case Call(name, arguments):
            return f"{name if name == PHOTO else name.lower()}({', '.join(map(str, arguments))})", _ATOM
        case Negate(operand):
            return f"-{_bracketed(operand, _NEGATION)}", _NEGATION
        case Binary(operator, left, right):
            own = _PRECEDENCE[operator]
            # The power binds to the right, the others to the left.
            left_text = _bracketed(left, own + (operator == "^"))
            right_text = _bracketed(right, own + (operator != "^"))
            spaced = f" {operator} " if own == 1 else operator
            return f"{left_text}{spaced}{right_text}", own


def _bracketed(expression: Expression, least: int) -> str:
    text, binding = _source(expression)
    return text if binding >= least else f"({text})"
