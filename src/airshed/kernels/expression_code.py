"""Writes rate expressions as C++ statements on packs of doubles, each common part computed once."""

from collections.abc import Sequence
from functools import reduce
from math import isfinite
from typing import Final

from airshed.mechanism.expressions import PHOTO, Binary, Call, Expression, Negate, Number, Parameter, Symbol

_SYMBOLS: Final = {
    "TEMP": "temperature",
    "PRESS": "pressure",
    "M": "density",
    "O2": "oxygen",
    "N2": "nitrogen",
    "H2O": "water",
    "SUN": "sun",
}
_FUNCTIONS: Final = {
    "EXP": "vexp",
    "LOG": "vlog",
    "LOG10": "vlog10",
    "SQRT": "vsqrt",
    "ABS": "vabs",
    "MIN": "vmin",
    "MAX": "vmax",
}
_LARGEST_INTEGER_POWER: Final = 8


class ExpressionCode:
    """Statements that compute expressions, and the variable that holds each one's value.

    parameters  names of what expressions leave open, in the order of the array ``parameter``
    statements  ``const dpack e3 = ...;`` in order, every common sub-expression once
    results     for each expression its variable or number
    """

    def __init__(self, expressions: Sequence[Expression], parameters: Sequence[str] = ()) -> None:
        self.statements: list[str] = []
        self._parameters = {name: number for number, name in enumerate(parameters)}
        self._known: dict[str, str] = {}
        self.results = [self._value(expression) for expression in expressions]

    def _value(self, expression: Expression) -> str:
        match expression:
            case Number(value):
                return f"dsplat({value!r})"
            case Symbol(name):
                return _SYMBOLS[name]
            case Parameter(name):
                return f"parameter[{self._parameters[name]}]"
        return self._keep(self._text(expression))

    def _keep(self, text: str) -> str:
        if text not in self._known:
            self._known[text] = f"e{len(self._known)}"
            self.statements.append(f"const dpack {self._known[text]} = {text};")
        return self._known[text]

    def _text(self, expression: Expression) -> str:
        match expression:
            case Negate(operand):
                return f"-{self._value(operand)}"
            case Binary("/", left, Symbol("TEMP")):
                return f"{self._operand(left)} * inverse_temperature"
            case Binary("/", left, Number(value)) if value and isfinite(1.0 / value):
                return f"{self._operand(left)} * {1.0 / value!r}"
            case Binary("^", base, exponent):
                return self._power(base, exponent)
            case Binary(operator, left, right):
                return f"{self._operand(left)} {operator} {self._operand(right)}"
            case Call(name, arguments) if name == PHOTO:
                a, b = (self._value(argument) for argument in arguments)
                return f"light * {a} * vexp(-{b} * secant)"
            case Call("POW", (base, exponent)):
                return self._power(base, exponent)
            case Call(name, arguments):
                first, *others = (self._value(argument) for argument in arguments)
                function = _FUNCTIONS[name]
                if not others:
                    return f"{function}({first})"
                return reduce(lambda text, other: f"{function}({text}, {other})", others, first)
        raise TypeError(f"not an operation: {expression!r}")

    def _operand(self, expression: Expression) -> str:
        """A plain number may stand beside a pack as it is."""
        return f"({expression.value!r})" if isinstance(expression, Number) else self._value(expression)

    def _power(self, base: Expression, exponent: Expression) -> str:
        value = self._value(base)
        if isinstance(exponent, Number):
            power = exponent.value
            if power == int(power) and 1 <= abs(power) <= _LARGEST_INTEGER_POWER:
                product = " * ".join([value] * int(abs(power)))
                return product if power > 0 else f"1.0 / ({product})"
            return f"vexp({power!r} * {self._keep(f'vlog({value})')})"
        return f"vexp({self._value(exponent)} * {self._keep(f'vlog({value})')})"
