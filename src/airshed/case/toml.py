"""TOML for users: errors with line and column, the line of each key, and the text of tables."""

import json
import re
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from airshed.core.errors import CaseError, DataError
from airshed.core.files import read_text
from airshed.core.text import shown
from airshed.core.toml_text import DEEPEST, parse_toml

KeyPath = tuple[int | str, ...]
"""Path of a setting: the names of its tables and its own name, numbers for items of lists."""

_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_SHORT_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?!:)")
_AT = re.compile(r"\(at line (\d+), column (\d+)\)")


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """Return the content of a TOML file as a dictionary and as text; raises CaseError with line and column."""
    try:
        text = read_text(path)
    except DataError as error:
        raise CaseError(str(error)) from None
    try:
        data = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise CaseError(_syntax(path, text, str(error))) from error
    except (RecursionError, ValueError) as error:  # brackets in brackets, numbers of thousands of digits
        reason = "it nests too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
        raise CaseError(f"{path} cannot be read: {reason}") from None
    if is_too_deep(data):
        raise CaseError(f"{path} cannot be read: tables are nested more than {DEEPEST} levels deep")
    return data, text


def is_too_deep(data: Mapping[str, Any]) -> bool:
    """Return whether tables are nested deeper than any case requires, so that recursion could fail."""
    level: list[Any] = [data]
    for _ in range(DEEPEST):
        level = [each for node in level for each in (node.values() if isinstance(node, dict) else node)]
        level = [each for each in level if isinstance(each, dict | list)]
    return bool(level)


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line on which each table and key of a TOML text is written, counted from 1."""
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    quotes = 0
    for number, line in enumerate(text.splitlines(), start=1):
        inside, quotes = quotes % 2 == 1, quotes + line.count('"""') + line.count("'''")
        if inside:
            continue
        if header := _header(line.strip()):
            name, is_item = header
            table = _parts(name)
            if is_item:
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            lines.setdefault(table, number)
        elif match := _KEY.match(line):
            lines.setdefault((*table, *_parts(match[1])), number)
    return lines


def _header(line: str) -> tuple[str, bool] | None:
    """Return the name of a table header, and whether it is an item of a list; None for another line."""
    if not line.startswith("["):
        return None
    width = 2 if line.startswith("[[") else 1
    name, closing, rest = line[width:].partition("]" * width)
    rest = rest.strip()
    return (name.strip(), width == 2) if closing and name.strip() and (not rest or rest.startswith("#")) else None


def _syntax(path: Path, text: str, message: str) -> str:
    match = _AT.search(message)
    lines = text.splitlines()
    number, column = (int(match[1]), int(match[2])) if match else (len(lines), len(lines[-1]) + 1 if lines else 1)
    problem = _AT.sub("", message).strip().removesuffix("(at end of document)").strip()
    found = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    hint = (
        "; TOML writes times with seconds, 2022-08-31T00:00:00Z"
        if _SHORT_TIME.search(found)
        else f" in {shown(found, 100)}"
    )
    return f"{path}:{number}:{column}: this is not TOML: {problem[0].lower()}{problem[1:]}{hint}"


def _parts(key: str) -> KeyPath:
    return tuple(part.strip().strip("\"'") for part in key.split("."))


def flatten(data: Mapping[str, Any], prefix: KeyPath = ()) -> dict[KeyPath, Any]:
    """Return the leaves of nested tables and of lists of tables by their key paths."""
    leaves: dict[KeyPath, Any] = {}
    for key, value in data.items():
        path = (*prefix, key)
        if isinstance(value, Mapping) and value:
            leaves |= flatten(value, path)
        elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            for index, item in enumerate(value):
                leaves |= flatten(item, (*path, index))
        else:
            leaves[path] = value
    return leaves


def write_toml(data: Mapping[str, Any]) -> str:
    """Return tables, lists of tables and values as TOML text, with one line for each key of a table."""
    blocks = [
        "".join(f"{_name(k)} = {write_value(v)}\n" for k, v in data.items() if not _is_table(v) and not _is_tables(v))
    ]
    for key, value in data.items():
        tables, brackets = ([value], "[{}]") if _is_table(value) else (value if _is_tables(value) else [], "[[{}]]")
        for table in tables:
            rows = "".join(f"{_name(k)} = {write_value(v)}\n" for k, v in table.items())
            blocks.append(f"{brackets.format(_name(key))}\n{rows}")
    return "\n".join(block for block in blocks if block)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def write_value(value: Any) -> str:
    """Return one value as TOML on one line."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_name(key)} = {write_value(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(write_value, value))}]"
    if isinstance(value, date):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, str):  # JSON escapes the same characters as TOML, except for the delete character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else write_value(key)
