"""Between which values an expression lies when its symbols lie between given ones: interval arithmetic.

What is not known, as that of a quotient whose divisor may be zero, lies anywhere. Bounds are not sharp: a symbol that
occurs twice counts as two.
"""

from collections.abc import Callable, Mapping
from math import exp, inf, isnan, log, sqrt
from typing import Final

from airshed.formula.tree import Binary, Call, Expression, Negate, Number, Symbol
from airshed.mechanism.expressions import PHOTO, Parameter

Bounds = tuple[float, float]

ANYWHERE: Final = (-inf, inf)
"""Also of what may be no number at all."""


def bounds(expression: Expression, known: Mapping[str, Bounds]) -> Bounds:
    """Return the least and the greatest value of an expression; names that are not known lie anywhere."""
    match expression:
        case Number(value):
            return value, value
        case Symbol(name) | Parameter(name):
            return known.get(name, ANYWHERE)
        case Negate(operand):
            low, high = bounds(operand, known)
            return -high, -low
        case Binary(operator, left, right):
            return _OPERATIONS[operator](bounds(left, known), bounds(right, known))
        case Call(name, arguments) if name == PHOTO:
            a, b = (bounds(each, known) for each in arguments)
            light = _rising(exp)(_times((-b[1], -b[0]), known.get("sec_zenith", ANYWHERE)))
            return _times(_times(a, light), known.get("daylight", ANYWHERE))
        case Call(name, arguments):
            return _FUNCTIONS[name](*(bounds(each, known) for each in arguments))
    return ANYWHERE


def _corners(operation: Callable[[float, float], float], one: Bounds, other: Bounds) -> Bounds:
    """Return the bounds of an operation whose extremes are at the ends of both operands."""
    try:
        found = [operation(a, b) for a in one for b in other]
    except (ArithmeticError, ValueError):
        return ANYWHERE
    return ANYWHERE if any(isinstance(each, complex) or isnan(each) for each in found) else (min(found), max(found))


def _plus(one: Bounds, other: Bounds) -> Bounds:
    low, high = one[0] + other[0], one[1] + other[1]
    return ANYWHERE if isnan(low) or isnan(high) else (low, high)


def _minus(one: Bounds, other: Bounds) -> Bounds:
    return _plus(one, (-other[1], -other[0]))


def _times(one: Bounds, other: Bounds) -> Bounds:
    return _corners(lambda a, b: a * b if a and b else 0.0, one, other)


def _over(one: Bounds, other: Bounds) -> Bounds:
    if other[0] <= 0.0 <= other[1]:
        return ANYWHERE
    return _corners(lambda a, b: a / b, one, other)


def _power(base: Bounds, exponent: Bounds) -> Bounds:
    fixed = exponent[0] if exponent[0] == exponent[1] else None
    if base[0] > 0.0 or (base[0] == 0.0 and exponent[0] >= 0.0):
        return _corners(lambda a, b: a**b, base, exponent)
    if fixed is None or fixed != int(fixed) or fixed < 0.0:
        return ANYWHERE
    ends = _corners(lambda a, b: a**b, base, exponent)
    return (0.0, ends[1]) if fixed % 2 == 0.0 and base[1] >= 0.0 and ends != ANYWHERE else ends


def _absolute(value: Bounds) -> Bounds:
    sizes = abs(value[0]), abs(value[1])
    return (0.0 if value[0] <= 0.0 <= value[1] else min(sizes)), max(sizes)


def _rising(function: Callable[[float], float]) -> Callable[[Bounds], Bounds]:
    """Return the bounds of a rising function; anywhere where it is not defined."""

    def of(value: Bounds) -> Bounds:
        try:
            low = function(value[0])
        except OverflowError:
            return inf, inf
        except ValueError:
            return ANYWHERE
        try:
            return low, function(value[1])
        except OverflowError:
            return low, inf

    return of


def _least(*values: Bounds) -> Bounds:
    return min(low for low, _ in values), min(high for _, high in values)


def _greatest(*values: Bounds) -> Bounds:
    return max(low for low, _ in values), max(high for _, high in values)


_OPERATIONS: Final[Mapping[str, Callable[[Bounds, Bounds], Bounds]]] = {
    "+": _plus, "-": _minus, "*": _times, "/": _over, "^": _power,
}  # fmt: skip
_FUNCTIONS: Final[Mapping[str, Callable[..., Bounds]]] = {
    "exp": _rising(exp), "log": _rising(log), "log10": _rising(lambda value: log(value) / log(10.0)),
    "sqrt": _rising(sqrt), "abs": _absolute, "min": _least, "max": _greatest,
}  # fmt: skip
