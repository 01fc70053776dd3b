"""TOML parser for untrusted text: refuses input that would take excessive time or memory.

The time and memory of ``tomllib`` are quadratic in the number of parts of a dotted key: one key of 80 kB takes
gigabytes.
"""

import re
import tomllib
from typing import Any, Final

DEEPEST: Final = 30
"""Limit of the parts of a dotted key and of nested tables, above the need of any file."""

_TOKEN: Final = re.compile(
    r""""{3}(?:\\.|.)*?(?:"{3}|\Z) | '{3}.*?(?:'{3}|\Z) | "(?:\\[^\n]|[^\\"\n])*"? | '[^'\n]*'? | \#[^\n]*"""
    r"| (?P<dot>\.) | (?P<end>[^A-Za-z0-9_\ \t-])",
    re.DOTALL | re.VERBOSE,
)
"""Strings and comments, the dots between parts of a key, and the characters that end a key."""


class LongKeyError(tomllib.TOMLDecodeError):
    """Dotted key with too many parts; the message gives line and column."""

    def __init__(self, message: str) -> None:
        ValueError.__init__(self, message)  # from Python 3.14 on, TOMLDecodeError takes a text and a position


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text.

    Raises tomllib.TOMLDecodeError with line and column, and its subclass LongKeyError for a key with too many parts.
    Deeply nested brackets and numbers of thousands of digits raise RecursionError and ValueError, as in
    ``tomllib.loads``.
    """
    if any(each.count(".") >= DEEPEST for each in text.split("\n")):
        dots = 0
        for token in _TOKEN.finditer(text):
            dots = dots + 1 if token["dot"] else 0 if token["end"] else dots
            if dots == DEEPEST:
                at = token.start()
                line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
                raise LongKeyError(
                    f"A key has {dots + 1} parts or more, and {DEEPEST} are allowed (at line {line}, column {column})"
                )
    return tomllib.loads(text)
