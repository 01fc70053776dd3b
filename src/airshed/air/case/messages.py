"""Turns what is wrong with a case into messages of a line each."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from airshed.core.nearest import nearest
from airshed.core.settings import KEY, Section, section_inside, settings_of

Locate = Callable[[tuple[int | str, ...]], str]
"""Returns where a key was set, such as ``case.toml:12``; empty when it was not."""

MOST_ERRORS = 4

_WANTED = {
    "string_type": "a text in quotes",
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list in [ ]",
    "mapping_type": "a table in { }",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}

_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


def explain(error: ValidationError, section: type[Section], locate: Locate) -> str:
    """Return one line for each of the first few errors: file and line, key, what is wrong, what to do."""
    details = error.errors(include_url=False)
    lines = [_line(detail, section, locate) for detail in details[:MOST_ERRORS]]
    if len(details) > MOST_ERRORS:
        lines.append(f"and {len(details) - MOST_ERRORS} more")
    return "\n".join(lines)


def dotted(path: Sequence[int | str]) -> str:
    """Return a key path as it is written: ``output.0.every``."""
    return ".".join(map(str, path))


def _line(detail: ErrorDetails, section: type[Section], locate: Locate) -> str:
    path = tuple(detail["loc"])
    place = locate(path)
    return (f"{place}: " if place else "") + _message(detail, path, section)


def _message(detail: ErrorDetails, path: tuple[int | str, ...], section: type[Section]) -> str:
    kind, key, value = detail["type"], dotted(path), _toml(detail["input"])
    context: Mapping[str, Any] = detail.get("ctx", {})
    if kind == "refused":
        return detail["msg"].replace(KEY, key)
    if kind == "extra_forbidden":
        return _unknown(path, section)
    if kind == "missing":
        return _missing(path, section)
    if kind in _WANTED:
        return f"{key} must be {_WANTED[kind]}, not {value}"
    if kind in _BOUNDS:
        word, name = _BOUNDS[kind]
        return f"{key} = {value} must be {word} {context[name]:g}"
    if kind == "literal_error":
        return f"{key} = {value} is not known; expected {context['expected'].replace(chr(39), chr(34))}"
    if kind in ("too_short", "too_long"):
        return f"{key} = {value} must have {context.get('max_length', context.get('min_length'))} numbers"
    return f"{key} = {value}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


def _unknown(path: tuple[int | str, ...], section: type[Section]) -> str:
    """Return the message for an unknown key: the nearest one beside it, or the same name in another section."""
    here = section
    for part in path[:-1]:
        if isinstance(part, str):
            here = section_inside(here.model_fields[part].annotation)[0] or here
    name, parent = str(path[-1]), dotted(path[:-1])
    match = nearest(name, here.model_fields)
    elsewhere = sorted(s.key for s in settings_of(section) if s.key.rsplit(".", 1)[-1] == name)
    if match is not None:
        hint = f"did you mean {parent + '.' if parent else ''}{match}?"
    elif elsewhere:
        hint = f"did you mean {elsewhere[0]}?"
    else:
        hint = f"known here are {', '.join(here.model_fields)}"
    return f"{dotted(path)} is not a setting; {hint}"


def _missing(path: tuple[int | str, ...], section: type[Section]) -> str:
    key = dotted(path)
    general = dotted(["N" if isinstance(part, int) else part for part in path])
    needed = [s for s in settings_of(section) if s.key == general or s.key.startswith(general + ".")]
    if needed and needed[0].key == general:
        return f"{key} is missing: {needed[0].text[0].lower()}{needed[0].text[1:]}"
    names = ", ".join(s.key for s in needed if s.required)
    return f"{key} is missing: the case needs {names}"


def _toml(value: object) -> str:
    """Return a value as the case file would show it, in short."""
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
