"""Parser of one section of a reaction file into statements, with messages in terms of the grammar."""

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from math import isfinite
from typing import Any, Final

from lark import Lark, TextSlice, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, v_args

from airshed.core.errors import MechanismError
from airshed.formula.tree import Call, Expression, Number, walk
from airshed.mechanism.expressions import PHOTO
from airshed.mechanism.kpp.statements import (
    Amount,
    BinaryOperation,
    EquationStatement,
    Formula,
    FunctionCall,
    MisplacedError,
    Name,
    NameStatement,
    Negation,
    SpeciesStatement,
    Statement,
    ValueStatement,
    WholeNumber,
    depth,
)
from airshed.mechanism.location import check_label

_WORDS: Final = {
    "_SEMICOLON": "';'",
    "SEMICOLON": "';'",
    "_PLUS": "'+'",
    "_EQUALS": "'='",
    "_COLON": "':'",
    "_COMMA": "','",
    "_CLOSE": "')'",
    "LABEL": "a label <...>",
    "NAME": "a name",
    "QUOTED": "a name",
    "COEFFICIENT": "a number",
    "NUMBER": "a number",
    "LOGICAL": "a number",
    "_OPEN": "'('",
    "SIGN": "'+'",
    "OPERATOR": "an operator",
    "$END": "the end of the section",
}
"""Terminal -> words, in the order in which they are listed; a '-' is not offered where a '+' is."""


def complaint(error: UnexpectedInput, text: str, start: int, end: int) -> MisplacedError:
    """Return the message ``expected ..., but ... follows`` for a syntax error in a section of `text`.

    If the unexpected text is on a later line than the unfinished statement, the location is the end of the
    statement: a ';' may be missing.
    """
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return MisplacedError(_behind(text, end), f"expected {_expected(error)}, but the section ends after it")
    offset = error.pos_in_stream or 0
    before, expected, found = _behind(text, offset), _expected(error), _found(error, text)
    unfinished = before > start and text[before - 1] != ";"
    if unfinished and "\n" in text[before:offset]:
        return MisplacedError(before, f"expected {expected}, but {found} after it")
    return MisplacedError(offset, f"expected {expected}, but {found}")


def _behind(text: str, offset: int) -> int:
    """Return the end of the last non-blank text before `offset`."""
    while offset > 0 and text[offset - 1].isspace():
        offset -= 1
    return offset


def _expected(error: UnexpectedInput) -> str:
    if isinstance(error, UnexpectedCharacters):
        names = set(error.allowed or ())
    else:
        assert isinstance(error, UnexpectedToken)
        names = set(error.accepts or error.expected)
    if "$END" in names:
        names = names - {"_COMMA"}  # optional between statements
    if "COEFFICIENT" in names and not names & {"LABEL", "_COLON", "_EQUALS"}:
        names = names - {"SIGN"}  # a second sign before a term is accepted, but seldom intended
    if "TIMES" in names:
        names = names - {"TIMES", "POWER", "SIGN"} | {"OPERATOR"}
    words = list(dict.fromkeys(words for name, words in _WORDS.items() if name in names))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _found(error: UnexpectedInput, text: str) -> str:
    token = error.token if isinstance(error, UnexpectedToken) else None
    found = str(token) if isinstance(token, Token) else text[error.pos_in_stream or 0 :][:1]
    return f"{found[:40]!r} follows"


# Parsing.


DEEPEST: Final = 100
"""Limit of the levels of a formula: more would be a mistake, and a danger to every recursive function."""

LARGEST: Final = 5000
"""Limit of the nodes of a rate after substitution of all definitions."""

SECTIONS: Final = {
    "ATOMS": "names",
    "CHECK": "names",
    "DEFVAR": "species",
    "DEFFIX": "species",
    "DEFRAD": "species",
    "EQUATIONS": "equations",
    "INITVALUES": "values",
    "LOOKAT": "names",
    "MONITOR": "names",
    "SETFIX": "names",
    "SETRAD": "names",
    "SETVAR": "names",
    "TRANSPORT": "names",
}
"""Section command -> start rule of the grammar."""


@lru_cache(maxsize=64)  # a process with several runs reads the same files repeatedly
def parse_section(command: str, text: str, start: int, end: int) -> tuple[Statement, ...]:
    """Return the statements between two offsets of a text; raise MisplacedError."""
    return tuple(_parse(SECTIONS[command], text, start, end))


def parse_formula(text: str) -> Formula:
    """Return the formula of a whole text; raise MisplacedError."""
    formula: Formula = _parse("formula", text, 0, len(text))
    return formula


def _parse(rule: str, text: str, start: int, end: int) -> Any:
    try:
        return _parser().parse(TextSlice(text, start, end), start=rule)
    except UnexpectedInput as error:
        raise complaint(error, text, start, end) from None


@cache
def _parser() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    # The statements are built during the parse, so that no input can nest deeper than Python's stack.
    return Lark(grammar, parser="lalr", start=["formula", *sorted(set(SECTIONS.values()))], transformer=_Statements())


def _number(token: Token) -> float:
    """Return a literal, always in double precision: Fortran's 1.0D-3 and 1.0_dp too, and a fraction 1/3."""
    text, _, below = token.lower().partition("/")
    value = float(text.partition("_")[0].replace("d", "e"))
    if below and not float(below):
        raise MisplacedError(_offset(token), f"the number {short(token)} divides by zero")
    value = value / float(below) if below else value
    if not isfinite(value):
        raise MisplacedError(_offset(token), f"the number {short(token)} is too large")
    return value


def _offset(token: Token) -> int:
    assert token.start_pos is not None
    return token.start_pos


def short(text: str) -> str:
    """Return a text shortened for a message."""
    return text if len(text) <= 40 else f"{text[:37]}..."


def _limited(offset: int, formula: Formula) -> Formula:
    if depth(formula) > DEEPEST:
        raise MisplacedError(offset, f"the formula has more than {DEEPEST} levels: split it")
    return formula


def finite(expression: Expression, offset: int) -> Expression:
    """Return a folded expression whose constant parts are all finite numbers; raise MisplacedError."""
    for node in walk(expression):
        operands = node.children
        left_alone = isinstance(node, Call) and node.name == PHOTO
        if operands and not left_alone and all(isinstance(operand, Number) for operand in operands):
            raise MisplacedError(offset, f"{short(str(node))} is not a finite number")
    return expression


def limited(expression: Expression, offset: int) -> Expression:
    """Return an expression of acceptable size and depth; raise MisplacedError."""
    level, nodes, levels = [expression], 0, 0
    while level:
        nodes, levels = nodes + len(level), levels + 1
        if nodes > LARGEST or levels > 200:
            raise MisplacedError(offset, "the rate is too large after substitution of all names")
        level = [child for node in level for child in node.children]
    return expression


@v_args(inline=True)
class _Statements(Transformer[Token, Any]):
    """Transformer of the grammar's rules into statements and formulas, bottom up."""

    def names(self, *statements: Statement) -> Sequence[Statement]:
        return statements

    equations = values = names

    def species(self, *statements: Statement | None) -> Sequence[Statement]:
        return tuple(statement for statement in statements if statement is not None)

    def listed(self, name: Token) -> NameStatement:
        return NameStatement(_offset(name), str(name))

    def nameless(self, equals: Token, composition: tuple[Amount, ...]) -> None:
        if [part.name.casefold() for part in composition] != ["ignore"]:
            raise MisplacedError(_offset(equals), "expected a name of a species before this '='")

    def declaration(self, name: Token | None, composition: tuple[Amount, ...] = ()) -> SpeciesStatement | None:
        if name is None:
            return None
        known = all(part.name.casefold() != "ignore" for part in composition)
        return SpeciesStatement(_offset(name), str(name), composition if known else ())

    def composition(self, *parts: Amount) -> tuple[Amount, ...]:
        return parts

    def part(self, *tokens: Token) -> Amount:
        name, number = tokens[-1], _number(tokens[0]) if len(tokens) == 2 else 1.0
        if number != int(number) or not 1 <= number <= 1000:
            raise MisplacedError(_offset(tokens[0]), f"a number of atoms is 1, 2, 3, ..., not {short(tokens[0])}")
        return Amount(_offset(name), str(name), number)

    def equation(self, *parts: Any) -> EquationStatement:
        label = parts[0] if isinstance(parts[0], Token) else None
        reactants, products, rate, end = parts[-4:]
        start = _offset(label) if label is not None else reactants[0].offset
        if label is not None and not label[1:-1].strip():
            raise MisplacedError(start, "the label <> is empty")
        name = None if label is None else label[1:-1].replace("\t", " ").strip()
        return EquationStatement(start, end.end_pos, name, reactants, products, _limited(start, rate))

    def side(self, *parts: Amount | Token) -> tuple[Amount, ...]:
        amounts, sign = [], 1.0
        for part in parts:
            if isinstance(part, Token):
                sign = -sign if part == "-" else sign
            else:
                amounts.append(Amount(part.offset, part.name, sign * part.coefficient))
                sign = 1.0
        return tuple(amounts)

    def products(self, *sides: tuple[Amount, ...]) -> tuple[Amount, ...]:
        return sides[0] if sides else ()

    def term(self, *tokens: Token) -> Amount:
        number = _number(tokens[0]) if len(tokens) == 2 else 1.0
        return Amount(_offset(tokens[0]), str(tokens[-1]), number)

    def value(self, name: Token, formula: Formula, _end: Token) -> ValueStatement:
        return ValueStatement(_offset(name), str(name), _limited(_offset(name), formula))

    def formula(self, formula: Formula) -> Formula:
        return _limited(0, formula)

    def number(self, token: Token) -> Number:
        return WholeNumber(_number(token)) if token.isdigit() else Number(_number(token))

    def logical(self, token: Token) -> Number:
        return Number(1.0 if token.lower() == ".true." else 0.0)

    def symbol(self, name: Token) -> Name:
        spelled = name.strip('"')
        try:
            check_label("the open parameter", spelled)
        except MechanismError as error:
            raise MisplacedError(_offset(name), str(error)) from None
        return Name(_offset(name), spelled)

    def call(self, name: Token, *arguments: Formula | Token) -> FunctionCall:
        """Return a call; a text among its arguments, as f('B', x), becomes part of the name, f_B(x)."""
        texts = [argument.strip("'") for argument in arguments if isinstance(argument, Token)]
        values = tuple(argument for argument in arguments if not isinstance(argument, Token))
        return FunctionCall(_offset(name), "_".join([str(name), *texts]), values)

    def sign(self, sign: Token, operand: Formula) -> Formula:
        return Negation(operand) if sign == "-" else operand

    def binary(self, left: Formula, operator: Token, right: Formula) -> BinaryOperation:
        return BinaryOperation("^" if operator == "**" else str(operator), left, right)  # type: ignore[arg-type]
