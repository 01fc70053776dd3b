"""Check of rate constants: bounds by interval arithmetic, and refusal of negative, non-finite or unbounded rates.

If a bound is unknown, as for a quotient whose divisor may be zero, the interval is the whole line. Bounds are not
sharp: two occurrences of a symbol count as independent.
"""

from collections.abc import Callable, Mapping
from math import exp, inf, isfinite, isnan, log, sqrt
from typing import Any, Final

import numpy as np

from airshed.core.errors import MechanismError
from airshed.formula.tree import Binary, Call, Expression, Negate, Number, Symbol
from airshed.mechanism.expressions import (
    PHOTO,
    Environment,
    Parameter,
    Value,
    dependencies,
    evaluate,
    parameters,
    symbols,
)
from airshed.mechanism.location import error_at
from airshed.mechanism.network import ReactionNetwork

Bounds = tuple[float, float]

ANYWHERE: Final = (-inf, inf)
"""Bounds of any value, including invalid ones."""


def bounds(expression: Expression, known: Mapping[str, Bounds]) -> Bounds:
    """Return the minimum and maximum of an expression; unknown names have infinite bounds."""
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
    """Return the bounds of an increasing function; infinite where it is undefined."""

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


# Refusal of rates.


AIR: Final[Mapping[str, Bounds]] = {
    "TEMP": (150.0, 400.0), "PRESS": (1e-3, 2e5), "M": (1e10, 1e20), "O2": (1e6, 1e20), "N2": (1e6, 1e20),
    "H2O": (0.0, 1e19), "SUN": (0.0, 1.0), "sec_zenith": (1.0, 1e6), "daylight": (0.0, 10.0),
}  # fmt: skip
"""Bounds of the air and the sun for which rates are accepted, in the units of rates."""

_LARGEST: Final = 1e100
"""Limit far above any rate in molecules, cm3 and s; products of it with densities are still finite."""


class RateCheck:
    """Check of the rate constants of a network whose bounds are insufficient.

    doubtful  numbers of the reactions whose rate constant may be negative or not finite in some air
    """

    def __init__(self, network: ReactionNetwork, given: Mapping[str, Bounds] | None = None) -> None:
        """``given`` are bounds of the network's parameters, where known."""
        self.network = network
        known = {**AIR, **(given or {})}
        constants = enumerate(network.rate_constants)
        self.doubtful = tuple(number for number, constant in constants if not _clear(bounds(constant, known)))
        self._known = known

    @property
    def depends_on_sun(self) -> bool:
        """True if light determines some rate."""
        return any("photolysis" in dependencies(self.network.rate_constants[number]) for number in self.doubtful)

    def __call__(self, environment: Environment, **context: Value) -> None:
        """Check the rate constants in an environment; raise MechanismError for the first invalid one.

        context  further values for the message, such as the time, of shapes that broadcast with the environment
        """
        usual = all(_within(environment[name], limits) for name, limits in self._known.items() if name in environment)
        for number in self.doubtful if usual else range(len(self.network.reactions)):
            constant = self.network.rate_constants[number]
            with np.errstate(all="ignore"):
                value = np.asarray(evaluate(constant, environment), np.float64)
            wrong = ~((value >= 0.0) & (value < _LARGEST))
            if wrong.any():
                raise self._fault(number, value, wrong, {**environment, **context}, tuple(context))

    def _fault(
        self, number: int, value: Any, wrong: Any, known: Environment, context: tuple[str, ...]
    ) -> MechanismError:
        reaction, constant = self.network.reactions[number], self.network.rate_constants[number]
        names = [*sorted(symbols(constant)), *parameters(constant), *context]
        whole = np.broadcast_arrays(value, wrong, *(known[name] for name in names))
        first = tuple(each[0] for each in np.nonzero(np.atleast_1d(whole[1])))
        found = float(np.atleast_1d(whole[0])[first])
        there = (float(np.atleast_1d(each)[first]) for each in whole[2:])
        air = ", ".join(f"{name} = {each:.6g}" for name, each in zip(names, there, strict=True))
        fault = "not finite" if not isfinite(found) else "negative" if found < 0.0 else "larger than any"
        message = f"the rate constant of <{reaction.label}> is {fault}: {found:.6g}{f' at {air}' if air else ''}"
        return error_at(reaction.location, f"{message}; write a rate that holds there, such as max(0, ...)")


def _clear(limits: Bounds) -> bool:
    return limits[0] >= 0.0 and limits[1] < _LARGEST


def _within(values: Any, limits: Bounds) -> bool:
    return bool(limits[0] <= np.min(values) and np.max(values) <= limits[1])
