"""Reads TOML that others wrote: what takes endless time or memory is refused before it is parsed.

Time and memory of ``tomllib`` are quadratic in the parts of a dotted key: one key of 80 kB takes gigabytes.
"""

import re
import tomllib
from typing import Any, Final

DEEPEST: Final = 30
"""Most parts of a dotted key, and most tables in each other: more than any file needs."""

_TOKEN: Final = re.compile(
    r""""{3}(?:\\.|.)*?(?:"{3}|\Z) | '{3}.*?(?:'{3}|\Z) | "(?:\\[^\n]|[^\\"\n])*"? | '[^'\n]*'? | \#[^\n]*"""
    r"| (?P<dot>\.) | (?P<end>[^A-Za-z0-9_\ \t-])",
    re.DOTALL | re.VERBOSE,
)
"""Strings and comments, the dots between the parts of a key, and what ends a key."""


class LongKeyError(tomllib.TOMLDecodeError):
    """A dotted key of too many parts; its message names line and column."""

    def __init__(self, message: str) -> None:
        ValueError.__init__(self, message)  # from Python 3.14 on, TOMLDecodeError takes a text and a position


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text.

    Raises tomllib.TOMLDecodeError with line and column, of the class LongKeyError for a key of too many parts;
    RecursionError and ValueError as ``tomllib.loads`` does for brackets in brackets and numbers of thousands of digits.
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
