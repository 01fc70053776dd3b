"""Statements of a reaction file before name resolution, each with its location in the file.

An `offset` counts characters from the start of a file; `airshed.mechanism.kpp.source.SourceFile` converts it to a line.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from airshed.formula.tree import Arithmetic, Number


class MisplacedError(Exception):
    """Fault at an offset; the reader converts it into a MechanismError with file, line and column."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


@dataclass(frozen=True, slots=True)
class WholeNumber(Number):
    """Number written without a point or an exponent, such as the index of an element."""


@dataclass(frozen=True, slots=True)
class Name:
    """Name in a formula, as written."""

    offset: int
    name: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """``name(arguments)`` in a formula: a function's value, or an element of a list."""

    offset: int
    name: str
    arguments: tuple["Formula", ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """``-operand``."""

    operand: "Formula"


@dataclass(frozen=True, slots=True)
class BinaryOperation:
    """``left operator right``."""

    operator: Arithmetic
    left: "Formula"
    right: "Formula"


Formula = Number | Name | FunctionCall | Negation | BinaryOperation
"""Rate as written: names are resolved after all files are read."""


def operands(formula: Formula) -> tuple[Formula, ...]:
    """Return the operands of a formula."""
    match formula:
        case Negation(operand):
            return (operand,)
        case BinaryOperation(_, left, right):
            return (left, right)
        case FunctionCall(_, _, arguments):
            return arguments
    return ()


def names_in(formula: Formula) -> Iterator[Name | FunctionCall]:
    """Yield the names and calls of a formula, left to right."""
    stack = [formula]
    while stack:
        node = stack.pop()
        if isinstance(node, Name | FunctionCall):
            yield node
        stack.extend(reversed(operands(node)))


def depth(formula: Formula) -> int:
    """Return the number of levels of a formula."""
    level, deepest = [formula], 0
    while level:
        deepest += 1
        level = [part for node in level for part in operands(node)]
    return deepest


@dataclass(frozen=True, slots=True)
class Amount:
    """Coefficient and name: ``2 O`` in a composition, ``0.5 NO2`` in an equation."""

    offset: int
    name: str
    coefficient: float


@dataclass(frozen=True, slots=True)
class NameStatement:
    """``N;`` of a list of atoms or species."""

    offset: int
    name: str


@dataclass(frozen=True, slots=True)
class SpeciesStatement:
    """``NO2 = N + 2O;``; the composition is empty for IGNORE."""

    offset: int
    name: str
    composition: tuple[Amount, ...]


@dataclass(frozen=True, slots=True)
class EquationStatement:
    """``<label> reactants = products : rate;`` from `offset` to `end`; no label is None."""

    offset: int
    end: int
    label: str | None
    reactants: tuple[Amount, ...]
    products: tuple[Amount, ...]
    rate: Formula


@dataclass(frozen=True, slots=True)
class ValueStatement:
    """``NO2 = 1.0e9;`` under #INITVALUES."""

    offset: int
    name: str
    value: Formula


Statement = NameStatement | SpeciesStatement | EquationStatement | ValueStatement
