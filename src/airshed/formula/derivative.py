"""Derivatives of formulas, as formulas: tangent (forward) and adjoint (reverse).

For y = f(x) with the matrix J of dy/dx at x

    tangent   dy = J dx       inputs x and `x_tangent`, outputs dy
    adjoint   x* = J^T y*     inputs x and `adjoint_0`, `adjoint_1` ... for each output, outputs x*

Both share common sub-expressions, and are evaluated, printed and written as C++ like any other formula. Source:
Griewank and Walther, Evaluating Derivatives, 2nd edition (2008), chapters 3 and 4.

At points where a formula is not differentiable, the derivative is that of the branch taken. where, min and max of equal
values take the last one; abs at 0 has the derivative 0. x % y is smooth except at its jumps, where it has the
derivative to the right; comparisons are constant. sqrt at 0 has an infinite derivative, or NaN (0/0) if its operand is
constant. A power with a variable exponent is differentiated as exp(y log x), for x > 0.
"""

from collections.abc import Container, Iterator, Sequence
from math import log
from typing import Final

from airshed.core.errors import FormulaError
from airshed.formula.trace import TracedFunction
from airshed.formula.tree import (
    ONE,
    ZERO,
    Binary,
    Call,
    Compare,
    Expression,
    Negate,
    Number,
    Symbol,
    ordered,
)

Partial = tuple[Expression, Expression]
"""An operand, and the derivative with respect to it."""

_MINUS_ONE: Final = Number(-1.0)


def tangent(traced: TracedFunction, wrt: Sequence[str]) -> TracedFunction:
    """Return the tangents of the outputs for tangents of some inputs; the tangent of x is the input ``x_tangent``."""
    _check(traced, wrt)
    changes: dict[Expression, Expression] = {Symbol(name): Symbol(f"{name}_tangent") for name in wrt}
    for node in ordered(traced.outputs):
        terms = [_product(factor, changes[operand]) for operand, factor in _moving(node, changes)]
        if terms:
            changes[node] = _sum(terms)
    names = (*traced.inputs, *(f"{name}_tangent" for name in wrt))
    return TracedFunction(names, tuple(changes.get(output, ZERO) for output in traced.outputs))


def adjoint(traced: TracedFunction, wrt: Sequence[str]) -> TracedFunction:
    """Return the sensitivities to some inputs of the sum of outputs, each weighted with its ``adjoint_n``."""
    _check(traced, wrt)
    nodes = ordered(traced.outputs)
    moving: dict[Expression, Expression] = {Symbol(name): ONE for name in wrt}
    for node in nodes:
        if any(child in moving for child in node.children):
            moving[node] = ONE
    received: dict[Expression, list[Expression]] = {}
    seeds = tuple(f"adjoint_{number}" for number in range(len(traced.outputs)))
    for output, seed in zip(traced.outputs, seeds, strict=True):
        received.setdefault(output, []).append(Symbol(seed))
    for node in reversed(nodes):
        if node in received and node in moving:
            total = _sum(received[node])
            for operand, factor in _moving(node, moving):
                received.setdefault(operand, []).append(_product(factor, total))
    return TracedFunction((*traced.inputs, *seeds), tuple(_sum(received.get(Symbol(name), [])) for name in wrt))


def _check(traced: TracedFunction, wrt: Sequence[str]) -> None:
    unknown = [name for name in wrt if name not in traced.inputs]
    if unknown:
        raise FormulaError(f"the formula has no input {unknown[0]!r}; it has {', '.join(traced.inputs)}")


def _moving(node: Expression, moving: Container[Expression]) -> list[Partial]:
    """Return the partial derivatives with respect to variable operands; an operand that occurs twice has two."""
    if not any(child in moving for child in node.children):
        return []
    return [(operand, factor) for operand, factor in _partials(node, moving) if operand in moving]


def _partials(node: Expression, moving: Container[Expression]) -> Iterator[Partial]:
    match node:
        case Negate(operand):
            yield operand, _MINUS_ONE
        case Binary(operator, left, right):
            yield from _of_arithmetic(operator, left, right, node, exponent_moves=right in moving)
        case Call("where", (condition, yes, no)):
            yield yes, Call("where", (condition, ONE, ZERO))
            yield no, Call("where", (condition, ZERO, ONE))
        case Call("min" | "max" as name, (*first, last)):
            before = first[0] if len(first) == 1 else Call(name, tuple(first))
            taken = Compare("<" if name == "min" else ">", before, last)
            for operand, factor in _partials(before, moving) if len(first) > 1 else [(before, ONE)]:
                yield operand, Call("where", (taken, factor, ZERO))
            yield last, Call("where", (taken, ZERO, ONE))
        case Call(name, (operand,)):
            yield operand, _of_function(name, operand, node)
        case Call(name):
            raise FormulaError(f"the derivative of {name} is not known")


def _of_arithmetic(
    operator: str, left: Expression, right: Expression, node: Expression, *, exponent_moves: bool
) -> Iterator[Partial]:
    match operator:
        case "+":
            yield from ((left, ONE), (right, ONE))
        case "-":
            yield from ((left, ONE), (right, _MINUS_ONE))
        case "*":
            yield from ((left, right), (right, left))
        case "/":
            yield left, Binary("/", ONE, right)
            yield right, Negate(Binary("/", node, right))
        case "%":
            yield left, ONE
            yield right, Binary("/", Binary("-", node, left), right)
        case "^":
            lower = Number(right.value - 1.0) if isinstance(right, Number) else Binary("-", right, ONE)
            yield left, _product(right, left if lower is ONE else Binary("^", left, lower))
            if exponent_moves:
                yield right, _product(node, Call("log", (left,)))


def _of_function(name: str, operand: Expression, node: Expression) -> Expression:
    match name:
        case "exp":
            return node
        case "log":
            return Binary("/", ONE, operand)
        case "log10":
            return Binary("/", Number(1.0 / log(10.0)), operand)
        case "sqrt":
            return Binary("/", Number(0.5), node)
        case "sin":
            return Call("cos", (operand,))
        case "cos":
            return Negate(Call("sin", (operand,)))
        case "tan":
            return Binary("+", ONE, Binary("*", node, node))
        case "abs":
            below = Call("where", (Compare("<", operand, ZERO), _MINUS_ONE, ZERO))
            return Call("where", (Compare(">", operand, ZERO), ONE, below))
    raise FormulaError(f"the derivative of {name} is not known")


def _product(factor: Expression, change: Expression) -> Expression:
    """Return factor * change with the fewest operations; a comparison is a selection rather than a product."""
    match factor, change:
        case (Number(0.0), _) | (_, Number(0.0)):
            return ZERO
        case (Number(1.0), _):
            return change
        case (_, Number(1.0)):
            return factor
        case (Number(-1.0), _):
            return Negate(change)
        case (Negate(operand), _):
            return Negate(_product(operand, change))
        case (Binary("/", Number(1.0), divisor), _):
            return Binary("/", change, divisor)
        case (Call("where", (condition, yes, no)), other) if isinstance(yes, Number) or isinstance(no, Number):
            return _choose(condition, _product(yes, other), _product(no, other))
        # a factor that is not finite must not be multiplied by zero where it has no effect
        case (other, Call("where", (condition, yes, no))) if yes is ZERO or no is ZERO:
            return _choose(condition, _product(other, yes), _product(other, no))
    return Binary("*", factor, change)


def _choose(condition: Expression, yes: Expression, no: Expression) -> Expression:
    return yes if yes is no else Call("where", (condition, yes, no))


def _sum(terms: Sequence[Expression]) -> Expression:
    total: Expression = ZERO
    for term in terms:
        total = _plus(total, term)
    return total


def _plus(total: Expression, term: Expression) -> Expression:
    match total, term:
        case (Number(0.0), _):
            return term
        case (_, Number(0.0)):
            return total
        case (Call("where", (condition, *first)), Call("where", (same, *second))) if condition is same:
            return _choose(condition, *map(_plus, first, second))
        case (_, Negate(operand)):
            return Binary("-", total, operand)
    return Binary("+", total, term)
