"""Compares two resolved cases."""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any


def first_difference(saved: str, given: str, may_differ: Collection[str] = ()) -> str | None:
    """Return the first setting that differs between two cases in TOML, as ``time.step was 120 s, now is 60 s``.

    ``may_differ`` names settings, or tables of them, that are left out; ``*`` stands for any part of a name. Returns
    None when nothing else differs.
    """
    before = dict(_settings(tomllib.loads(saved)))
    now = dict(_settings(tomllib.loads(given)))
    for name in [*now, *(name for name in before if name not in now)]:
        allowed = any(fnmatchcase(name, pattern) for free in may_differ for pattern in (free, f"{free}.*"))
        if not allowed and (name not in before or name not in now or before[name] != now[name]):
            return f"{name} was {_shown(before, name)}, now is {_shown(now, name)}"
    return None


def _settings(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _settings(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            for index, item in enumerate(value):
                yield from _settings(item, f"{name}.{index}.")
        else:
            yield name, value


def _shown(settings: Mapping[str, Any], name: str) -> str:
    return repr(settings[name]) if name in settings else "not set"
