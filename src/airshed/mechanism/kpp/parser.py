"""Parses one section of a reaction file into statements."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from math import isfinite
from typing import Any, Final, TypeVar

from lark import Lark, TextSlice, Token, Transformer, UnexpectedInput, v_args

from airshed.core.errors import MechanismError
from airshed.mechanism import expressions
from airshed.mechanism.expressions import (
    PHOTO,
    Binary,
    Call,
    Expression,
    Negate,
    Number,
    Symbol,
    children,
    depth,
    fold,
    walk,
)
from airshed.mechanism.kpp.statements import (
    Amount,
    AtomStatement,
    EquationStatement,
    MisplacedError,
    SpeciesStatement,
    Statement,
    ValueStatement,
)
from airshed.mechanism.kpp.wording import complaint

DEEPEST: Final = 100
"""Levels that a rate expression may have: more would be a mistake, and a danger to every recursive walk."""

SECTIONS: Final = {
    "ATOMS": "atoms",
    "DEFVAR": "species",
    "DEFFIX": "species",
    "EQUATIONS": "equations",
    "INITVALUES": "values",
}
"""Section command -> start rule of the grammar."""

_Node = TypeVar("_Node", Symbol, Call)


def parse_section(command: str, text: str, start: int, end: int) -> tuple[Statement, ...]:
    """Return the statements between two offsets of a text; raise MisplacedError."""
    try:
        statements: Any = _parser().parse(TextSlice(text, start, end), start=SECTIONS[command])
    except UnexpectedInput as error:
        raise complaint(error, text, start, end) from None
    return tuple(statements)


@cache
def _parser() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    # The statements are built during the parse, so that no input can nest deeper than Python's stack.
    return Lark(grammar, parser="lalr", start=sorted(set(SECTIONS.values())), transformer=_Statements())


def _number(token: Token) -> float:
    value = float(token.lower().replace("d", "e"))
    if not isfinite(value):
        raise MisplacedError(_offset(token), f"the number {_short(token)} is too large")
    return value


def _offset(token: Token) -> int:
    assert token.start_pos is not None
    return token.start_pos


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _constant(offset: int, expression: Expression) -> Expression:
    """Return the folded expression, refused where it is too deep or holds a constant that is not a finite number."""
    if depth(expression) > DEEPEST:
        raise MisplacedError(offset, f"the expression has more than {DEEPEST} levels: split the reaction or its rate")
    folded = fold(expression)
    for node in walk(folded):
        operands = children(node)
        left_alone = isinstance(node, Call) and node.name == PHOTO
        if operands and not left_alone and all(isinstance(operand, Number) for operand in operands):
            raise MisplacedError(offset, f"{_short(str(node))} is not a finite number")
    return folded


def _placed(token: Token, build: Callable[[], _Node]) -> _Node:
    try:
        return build()
    except MechanismError as error:
        raise MisplacedError(_offset(token), str(error)) from None


@v_args(inline=True)
class _Statements(Transformer[Token, Any]):
    """Turns the grammar's rules into statements and expressions, bottom up."""

    def atoms(self, *statements: AtomStatement) -> Sequence[Statement]:
        return statements

    species = equations = values = atoms

    def atom(self, name: Token) -> AtomStatement:
        return AtomStatement(_offset(name), str(name))

    def declaration(self, name: Token, composition: tuple[Amount, ...] | Token) -> SpeciesStatement:
        parts = () if isinstance(composition, Token) else composition
        return SpeciesStatement(_offset(name), str(name), parts)

    def composition(self, *parts: Amount) -> tuple[Amount, ...]:
        return parts

    def part(self, *tokens: Token) -> Amount:
        name, number = tokens[-1], _number(tokens[0]) if len(tokens) == 2 else 1.0
        if number != int(number) or not 1 <= number <= 1000:
            raise MisplacedError(_offset(tokens[0]), f"a number of atoms is 1, 2, 3, ..., not {_short(tokens[0])}")
        return Amount(_offset(name), str(name), number)

    def equation(self, *parts: Any) -> EquationStatement:
        label = parts[0] if isinstance(parts[0], Token) else None
        reactants, products, rate, end = parts[-4:]
        start = _offset(label) if label is not None else reactants[0].offset
        if label is not None and not label[1:-1].strip():
            raise MisplacedError(start, "the label <> is empty")
        name = None if label is None else label[1:-1].strip()
        rate = _constant(start, rate)
        if isinstance(rate, Number) and rate.value < 0.0:
            raise MisplacedError(start, f"the rate constant {rate} is negative")
        return EquationStatement(start, end.end_pos, name, reactants, products, rate)

    def side(self, *parts: Amount | Token) -> tuple[Amount, ...]:
        amounts, sign = [], 1.0
        for part in parts:
            if isinstance(part, Token):
                sign = -1.0 if part == "-" else 1.0
            else:
                amounts.append(Amount(part.offset, part.name, sign * part.coefficient))
        return tuple(amounts)

    def term(self, *tokens: Token) -> Amount:
        number = _number(tokens[0]) if len(tokens) == 2 else 1.0
        return Amount(_offset(tokens[0]), str(tokens[-1]), number)

    def value(self, name: Token, expression: Expression, _end: Token) -> ValueStatement:
        constant = _constant(_offset(name), expression)
        if not isinstance(constant, Number) or constant.value < 0.0:
            raise MisplacedError(_offset(name), f"the initial value of {_short(name)} is not a number >= 0")
        return ValueStatement(_offset(name), str(name), constant.value)

    def number(self, token: Token) -> Number:
        return Number(_number(token))

    def symbol(self, name: Token) -> Expression:
        return _placed(name, lambda: expressions.symbol(str(name)))

    def call(self, name: Token, *arguments: Expression) -> Expression:
        return _placed(name, lambda: expressions.call(str(name), arguments))

    def sign(self, sign: Token, operand: Expression) -> Expression:
        return Negate(operand) if sign == "-" else operand

    def binary(self, left: Expression, operator: Token, right: Expression) -> Expression:
        return Binary("^" if operator == "**" else str(operator), left, right)  # type: ignore[arg-type]
