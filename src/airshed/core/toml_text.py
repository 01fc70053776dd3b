"""Reads TOML that others wrote: what takes endless time or memory is refused before it is parsed.

Time and memory of ``tomllib`` are quadratic in the parts of a dotted key: one key of 80 kB takes gigabytes.
"""

import tomllib
from collections.abc import Iterator
from typing import Any, Final

DEEPEST: Final = 30
"""Most parts of a dotted key, and most tables in each other: more than any file needs."""

_BARE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class LongKeyError(tomllib.TOMLDecodeError):
    """A dotted key of too many parts; its message names line and column."""

    def __init__(self, message: str) -> None:
        ValueError.__init__(self, message)  # from Python 3.14 on, TOMLDecodeError takes a text and a position


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text.

    Raises tomllib.TOMLDecodeError with line and column, of the class LongKeyError for a key of too many parts;
    RecursionError and ValueError as ``tomllib.loads`` does for brackets in brackets and numbers of thousands of digits.
    """
    for line, column, parts in _long_keys(text):
        raise LongKeyError(
            f"A key has {parts} parts or more, and {DEEPEST} are allowed (at line {line}, column {column})"
        )
    return tomllib.loads(text)


def _long_keys(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield line and column, counted from 1, where words that dots join become too many, and how many they are."""
    if not any(each.count(".") >= DEEPEST for each in text.split("\n")):
        return
    at, line, begin, dots = 0, 1, 0, 0
    while at < len(text):
        each = text[at]
        if each in "\"'":
            end = _end_of_string(text, at)
            line += text.count("\n", at, end)
            at = end
            continue
        if each == "#":
            at = _found(text, "\n", at)
            continue
        if each == ".":
            dots += 1
            if dots >= DEEPEST:
                yield line, at - begin + 1, dots + 1
        elif each not in _BARE and each not in " \t":
            dots = 0
        if each == "\n":
            line, begin = line + 1, at + 1
        at += 1


def _end_of_string(text: str, at: int) -> int:
    """Return where a string ends that begins with a quote; at the end of its line, or of the text, if it does not."""
    quote = text[at]
    if text.startswith(quote * 3, at):
        end, mark = at + 3, quote * 3
    else:
        end, mark = at + 1, quote
    stop = len(text) if len(mark) == 3 else _found(text, "\n", at)
    while end < stop:
        if quote == '"' and text[end] == "\\":
            end += 2
        elif text.startswith(mark, end):
            return end + len(mark)
        else:
            end += 1
    return min(end, stop)


def _found(text: str, what: str, at: int) -> int:
    """Return where something is found; the end of the text where it is not."""
    found = text.find(what, at)
    return len(text) if found < 0 else found
