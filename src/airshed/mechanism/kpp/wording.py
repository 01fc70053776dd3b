"""Says in words what the grammar expected."""

from typing import Final

from lark import Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from airshed.mechanism.kpp.statements import MisplacedError

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

    If the unexpected text is on a later line than the unfinished statement, the reported place is the statement's end,
    where something is missing, such as a ';'.
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
    """Return where the last thing before `offset` ends."""
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
        names = names - {"_COMMA"}  # passed over between statements, and not needed there
    if "COEFFICIENT" in names and not names & {"LABEL", "_COLON", "_EQUALS"}:
        names = names - {"SIGN"}  # a second sign before a term is read, but seldom meant
    if "TIMES" in names:
        names = names - {"TIMES", "POWER", "SIGN"} | {"OPERATOR"}
    words = list(dict.fromkeys(words for name, words in _WORDS.items() if name in names))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _found(error: UnexpectedInput, text: str) -> str:
    token = error.token if isinstance(error, UnexpectedToken) else None
    found = str(token) if isinstance(token, Token) else text[error.pos_in_stream or 0 :][:1]
    return f"{found[:40]!r} follows"
