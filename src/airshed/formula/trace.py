"""Tracing: a plain Python function is called with values that record operations, and so becomes a formula.

    def settling(radius, density):
        return 2.0 / 9.0 * density * radius**2

    traced = trace(settling)      # traced.inputs == ("radius", "density"), traced.outputs[0] is the tree

The same function works on NumPy arrays: it uses arithmetic and the functions of ``airshed.formula`` (which are those of
NumPy). It must not use ``if`` on its arguments: where() selects.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from airshed.core.errors import FormulaError
from airshed.formula.tree import Binary, Call, Compare, Expression, Logic, Negate, Number, Symbol

_Make = Callable[..., Expression]


def _binary(operator: Any) -> _Make:
    return lambda left, right: Binary(operator, left, right)


def _compare(operator: Any) -> _Make:
    return lambda left, right: Compare(operator, left, right)


def _call(name: str) -> _Make:
    return lambda *arguments: Call(name, arguments)


def _logic(connective: Any) -> _Make:
    return lambda *operands: Logic(connective, operands)


_UFUNCS: Final[Mapping[np.ufunc, _Make]] = {
    np.add: _binary("+"), np.subtract: _binary("-"), np.multiply: _binary("*"), np.divide: _binary("/"),
    np.remainder: _binary("%"), np.power: _binary("^"), np.float_power: _binary("^"),
    np.negative: Negate, np.positive: lambda operand: operand, np.square: lambda x: Binary("*", x, x),
    np.less: _compare("<"), np.less_equal: _compare("<="), np.greater: _compare(">"),
    np.greater_equal: _compare(">="), np.equal: _compare("=="), np.not_equal: _compare("!="),
    np.absolute: _call("abs"), np.exp: _call("exp"), np.log: _call("log"), np.log10: _call("log10"),
    np.sqrt: _call("sqrt"), np.sin: _call("sin"), np.cos: _call("cos"), np.tan: _call("tan"),
    np.minimum: _call("min"), np.maximum: _call("max"),
    np.logical_and: _logic("and"), np.logical_or: _logic("or"), np.logical_not: _logic("not"),
    np.bitwise_and: _logic("and"), np.bitwise_or: _logic("or"), np.invert: _logic("not"),
}  # fmt: skip
"""NumPy operations as formulas; & | ~ are for conditions."""

_FUNCTIONS: Final[Mapping[Callable[..., Any], _Make]] = {
    np.where: _call("where"),
    np.clip: lambda value, least, most: Call("min", (Call("max", (value, least)), most)),
}


class Tracer(NDArrayOperatorsMixin):
    """A value that records the operations on it."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(each, TracedArray) for each in inputs):
            return NotImplemented
        if ufunc not in _UFUNCS or method != "__call__" or options:
            raise FormulaError(f"a formula cannot have {ufunc.__name__}{'' if method == '__call__' else f'.{method}'}")
        return Tracer(_UFUNCS[ufunc](*map(expression_of, inputs)))

    def __array_function__(self, function: Callable[..., Any], types: Any, inputs: Any, options: Any) -> Any:
        if TracedArray in types:
            return NotImplemented
        if function not in _FUNCTIONS or options:
            raise FormulaError(f"a formula cannot have {function.__name__}")
        return Tracer(_FUNCTIONS[function](*map(expression_of, inputs)))

    def __bool__(self) -> NoReturn:
        raise FormulaError(
            "a formula does not know yet which way an `if`, `and`, `or`, `min` or `max` goes: write where(condition, "
            "a, b), & and |, minimum and maximum of airshed.formula in their place"
        )

    def __float__(self) -> NoReturn:
        raise FormulaError("a formula has no number yet: use the functions of airshed.formula, not those of math")

    __int__ = __index__ = __complex__ = __float__

    def __getitem__(self, index: object) -> NoReturn:
        raise NoAxisError("a formula takes an element of a value that has no axis")

    def __len__(self) -> NoReturn:
        raise NoAxisError("a formula takes the length of a value that has no axis")


class NoAxisError(FormulaError):
    """A function indexes, unpacks or loops over a value without an axis."""


class TracedArray(NDArrayOperatorsMixin):
    """Traced values along an axis, such as soil layers: arithmetic acts element by element, a loop is unrolled.

    elements  Tracers or numbers. Arithmetic combines it with arrays of the same length and with single values.
    """

    def __init__(self, elements: Sequence[Any]) -> None:
        self._elements = list(elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._elements)

    def __getitem__(self, index: Any) -> Any:
        """Return an element, or the array of a slice."""
        found = self._elements[index]
        return TracedArray(found) if isinstance(index, slice) else found

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> "TracedArray":
        if method != "__call__" or options:
            raise FormulaError(f"a formula cannot have {ufunc.__name__}.{method}")
        return _element_by_element(ufunc, inputs)

    def __array_function__(self, function: Callable[..., Any], types: Any, inputs: Any, options: Any) -> "TracedArray":
        if function not in _FUNCTIONS or options:
            raise FormulaError(f"a formula cannot have {function.__name__}; write a loop over the elements")
        return _element_by_element(function, inputs)

    def __bool__(self) -> NoReturn:
        raise FormulaError("a formula does not know yet which way an `if` goes: write where(condition, a, b)")


def _element_by_element(function: Callable[..., Any], inputs: Sequence[Any]) -> TracedArray:
    lengths = {len(each) for each in inputs if isinstance(each, TracedArray | list | tuple)}
    if len(lengths) > 1:
        raise FormulaError(f"a formula combines arrays of {' and '.join(map(str, sorted(lengths)))} elements")
    rows = [each if isinstance(each, TracedArray | list | tuple) else [each] * next(iter(lengths)) for each in inputs]
    return TracedArray([function(*values) for values in zip(*rows, strict=True)])


def expression_of(value: Any) -> Expression:
    """Return a value of a traced function, or a plain number, as a tree."""
    if isinstance(value, Tracer):
        return value.expression
    if isinstance(value, np.ndarray) and value.ndim:
        raise FormulaError("a formula has an array that is not an argument; make it an argument")
    if np.asarray(value).dtype.kind not in "biuf":
        raise FormulaError(f"a formula has a {type(value).__name__} where a number is expected")
    return Number(float(value))


@dataclass(frozen=True)
class TracedFunction:
    """A traced function: its formulas.

    inputs   names of its arguments
    outputs  its results, as a tuple also for a single result
    """

    inputs: tuple[str, ...]
    outputs: tuple[Expression, ...]


def trace(function: Callable[..., Any], inputs: Sequence[str] | None = None) -> TracedFunction:
    """Return the formulas of a function of numbers; inputs: names of its arguments, by default their own.

    Raises FormulaError for an operation that formulas do not support.
    """
    names = tuple(inspect.signature(function).parameters if inputs is None else inputs)
    result = function(*(Tracer(Symbol(name)) for name in names))
    results = result if isinstance(result, tuple | list) else (result,)
    return TracedFunction(names, tuple(map(expression_of, results)))
