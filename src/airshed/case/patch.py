"""Patches of a case document: values of JSON or TOML by the dotted path of a setting.

`--set key=value`, the server, its clients and `Simulation.set` change a case by the same patches.
"""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from airshed.case.toml import KeyPath
from airshed.core.errors import CaseError
from airshed.core.text import shortened, shown
from airshed.core.toml_text import DEEPEST, parse_toml

Changes = Mapping[str, Any] | Sequence[str]
"""A patch, such as ``{"emissions.scale.NOx": 0.5}``, or assignments ``key=value`` of `--set`."""

_LONGEST_NUMBER: Final = 9


def patch_document(data: dict[str, Any], changes: Changes) -> list[KeyPath]:
    """Apply a patch to a case document, and return the changed paths; raises CaseError for an invalid path.

    A path to the item after the last one of a list of tables, such as ``emissions.point.1.rate``, appends an item.
    """
    if isinstance(changes, Mapping):
        parts = [(path, value, f"{shown(path)} = {shown(value)}") for path, value in changes.items()]
    else:
        parts = [(*parse_assignment(each), f"--set {shown(each)}") for each in changes]
    return [_put(data, path, value, origin) for path, value, origin in parts]


def with_sections(changes: Changes, sections: Mapping[str, Any]) -> Changes:
    """Return changes and those of sections, ``{"time": {"length": "6 h"}}``, as one patch by dotted paths."""
    if not sections:
        return changes
    patch = dict(changes) if isinstance(changes, Mapping) else dict(map(parse_assignment, changes))
    for name, value in sections.items():
        patch |= _dotted_paths(name, value)
    return patch


def _dotted_paths(path: str, value: Any) -> dict[str, Any]:
    """Return the leaves of nested tables by dotted paths; a table with dots in its keys, or without keys, is a leaf."""
    if not isinstance(value, Mapping) or not value or any("." in str(key) for key in value):
        return {path: value}
    return {key: leaf for name, each in value.items() for key, leaf in _dotted_paths(f"{path}.{name}", each).items()}


def parse_assignment(text: str) -> tuple[str, Any]:
    """Return the path and the value of ``key=value``; raises CaseError.

    The value is TOML. Any other text is a string, so that time.step=120 s needs no quotes.
    """
    key, equals, value = text.partition("=")
    if not equals or not all(key.strip().split(".")):
        raise CaseError(f'--set {shown(text)} is not understood; write key=value, such as time.step="120 s"')
    try:
        parsed = parse_toml(f"value = {value.strip()}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return key.strip(), value.strip()
    except ValueError:  # a number of thousands of digits
        raise CaseError(f"--set: {shown(value.strip())} has too many digits for a number") from None
    return key.strip(), parsed["value"] if parsed.keys() == {"value"} else value.strip()


def _put(data: dict[str, Any], key: str, value: Any, origin: str) -> KeyPath:
    """Set one value; `origin` names the change in messages."""
    parts = key.split(".")
    if not all(parts):
        raise CaseError(f"{shown(key)} is not the name of a setting; write it as emissions.scale.NOx")
    if len(parts) > DEEPEST:
        raise CaseError(f"{origin}: a key of {len(parts)} parts is not a setting")
    path: KeyPath = tuple(int(part) if part.isdecimal() and len(part) <= _LONGEST_NUMBER else part for part in parts)
    # Descend to the table or list of the setting, and create missing ones.
    node: Any = data
    for depth, part in enumerate(path[:-1]):
        here = path[: depth + 1]
        if isinstance(node, list) and _is_next_item(node, part):
            node.append({})
        elif isinstance(node, dict) and str(part) not in node:
            node[str(part)] = [] if isinstance(path[depth + 1], int) else {}
        if isinstance(node, list):
            if not isinstance(part, int) or part >= len(node):
                raise CaseError(_no_item(origin, here, node))
            node = node[part]
        elif isinstance(node, dict):
            node = node[str(part)]
        else:
            raise CaseError(f"{origin}: {_dotted(here[:-1])} is a single value and has no {shown(part)}")
    # Set the value.
    last = path[-1]
    if isinstance(node, dict):
        node[str(last)] = value
    elif not isinstance(node, list):
        raise CaseError(f"{origin}: {_dotted(path[:-1])} is a single value and has no {shown(last)}")
    elif isinstance(last, int) and last < len(node):
        node[last] = value
    elif _is_next_item(node, last) and (not node or isinstance(value, Mapping)):
        node.append(value)
    else:
        raise CaseError(_no_item(origin, path, node))
    return path


def _is_next_item(items: list[Any], part: int | str) -> bool:
    """Return whether a part of a path names the item after the last one of a list of tables."""
    return part == len(items) and all(isinstance(each, Mapping) for each in items)


def _no_item(origin: str, path: KeyPath, items: Sequence[Any]) -> str:
    key, part = _dotted(path[:-1]), path[-1]
    there = f"its items are numbered 0 to {len(items) - 1}" if items else "it has none"
    if isinstance(part, str) and items and isinstance(items[0], dict):
        there = f"it is a list, so say which item: {key}.0.{shortened(part, 60)}"
    return f"{origin}: {key} has no item {shown(part)}; {there}"


def _dotted(path: KeyPath) -> str:
    return shortened(".".join(map(str, path)), 200)
