"""Messages about the faults of a case: one line for each fault, and a list of several faults."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from airshed.case.renamed import present_key
from airshed.core.settings import KEY, KeywordUnion, Section, section_inside, settings_of
from airshed.core.text import nearest, printable, quoted, shortened

Locate = Callable[[tuple[int | str, ...]], str]
"""Returns the origin of a key, such as ``case.toml:12``, "--set" or "given"; empty when it was not."""

MOST_FAULTS = 5
_LOOKED_AT = 100
"""Faults that are put into words, as to look for the name that was meant takes a millisecond for each."""

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


def explain(
    error: ValidationError,
    section: type[Section],
    data: Mapping[str, Any],
    locate: Locate,
    file: Path | None,
    label: str = "the case",
) -> str:
    """Return the message about the faults of a case ``data``: file and line, key, problem and remedy.

    A misspelt required key is one fault, and so is one value that is expanded to several, such as
    ``spacing = "0.25 deg"``.
    """
    order = {name: number for number, name in enumerate(section.model_fields)}
    details = sorted(
        error.errors(include_url=False), key=lambda each: order.get(str(next(iter(each["loc"]), "")), len(order))
    )
    details, unseen = details[:_LOOKED_AT], max(len(details) - _LOOKED_AT, 0)
    meant = {_meant(detail["loc"], section) for detail in details if detail["type"] == "extra_forbidden"}
    faults = []
    for detail in details:
        if detail["type"] == "missing":
            if detail["loc"] not in meant:
                faults.append((locate(detail["loc"]), _missing(detail["loc"], section)))
        else:
            key = _written(data, detail["loc"])
            faults.append((locate(key), _message(detail, key, section)))
    return faults_in_words(sorted(dict.fromkeys(faults), key=_line), file, label, unseen)


def faults_in_words(
    faults: Sequence[tuple[str, str]], file: Path | None, label: str = "the case", unseen: int = 0
) -> str:
    """Return faults, given as origin and problem: one as a line, several as a list under a heading.

    A single fault names the full path of the case file; in a list the heading names it. The list ends with the number
    of further faults, including the ``unseen`` ones.
    """
    if len(faults) == 1:
        place, fault = faults[0]
        in_file = file is not None and place.startswith(file.name)
        return _placed(f"{file}{place.removeprefix(file.name)}" if file and in_file else place, fault)
    count = len(faults) + unseen
    rest = [f"and {count - MOST_FAULTS} more"] if count > MOST_FAULTS else []
    heading = f"{count} faults in {label}{f' {file}' if file else ''}:"
    return "\n  ".join([heading, *(_placed(*fault) for fault in faults[:MOST_FAULTS]), *rest])


def dotted(path: Sequence[int | str]) -> str:
    """Return a key path as it is written: ``output.0.every``."""
    return ".".join(shortened(printable(str(part)), 100) for part in path)


def _written(data: Any, path: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return the part of a key path that was given."""
    for depth, part in enumerate(path):
        known = range(len(data)) if isinstance(data, list | tuple) else data if isinstance(data, Mapping) else ()
        if part not in known:
            return path[:depth]
        data = data[part]
    return path


def _line(fault: tuple[str, str]) -> int:
    """Return the line of a fault in the file; 0 for a fault outside of the file."""
    number = fault[0].rpartition(":")[2]
    return int(number) if number.isdecimal() else 0


def _placed(place: str, fault: str) -> str:
    return fault if place in ("", "given", "default") else f"{place}: {fault}"


def _message(detail: ErrorDetails, path: tuple[int | str, ...], section: type[Section]) -> str:
    kind, key, value = detail["type"], dotted(path), _toml(detail["input"])
    context: Mapping[str, Any] = detail.get("ctx", {})
    if kind == "refused":
        return detail["msg"].replace(KEY, key)
    if kind == "extra_forbidden":
        return _unknown(path, section)
    if kind == "tuple_type" and isinstance(detail["input"], str) and detail["input"].startswith("["):
        return f"{key} must be a list in [ ] with quotes around its texts, not {value}; a shell takes quotes away"
    if kind in _WANTED:
        return f"{key} must be {_WANTED[kind]}{_or_words(path, section)}, not {value}"
    if kind in _BOUNDS:
        word, name = _BOUNDS[kind]
        return f"{key} = {value} must be {word} {context[name]:g}"
    if kind == "literal_error":
        return f"{key} = {value} is not known; expected {context['expected'].replace(chr(39), chr(34))}"
    if kind in ("too_short", "too_long"):
        return f"{key} = {value} must have {context.get('max_length', context.get('min_length'))} numbers"
    return f"{key} = {value}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


def _unknown(path: tuple[int | str, ...], section: type[Section]) -> str:
    """Return the message for an unknown key: its present name, the nearest sibling, or a key of another section."""
    if (present := present_key(path, _section_of(path, section).model_fields)) is not None:
        return f"{dotted(path)} was renamed to {dotted(present)}"
    meant = _meant(path, section)
    elsewhere = sorted(s.key for s in settings_of(section) if s.key.rsplit(".", 1)[-1] == str(path[-1]))
    known = f"known here are {', '.join(_section_of(path, section).model_fields)}"
    if meant:
        hint = f"did you mean {dotted(meant)}?"
    elif elsewhere:
        hint = f"did you mean {elsewhere[0]}?" + (f" Or {known}" if len(path) > 1 else "")
    else:
        hint = known
    return f"{dotted(path)} is not a setting; {hint}"


def _meant(path: tuple[int | str, ...], section: type[Section]) -> tuple[int | str, ...] | None:
    """Return the key of the same section whose name is closest to an unknown key."""
    match = nearest(str(path[-1]), _section_of(path, section).model_fields)
    return None if match is None else (*path[:-1], match)


def _section_of(path: tuple[int | str, ...], section: type[Section]) -> type[Section]:
    """Return the section of a key."""
    for part in path[:-1]:
        if isinstance(part, str):
            section = section_inside(section.model_fields[part].annotation)[0] or section
    return section


def _or_words(path: tuple[int | str, ...], section: type[Section]) -> str:
    """Return the keywords that a setting accepts: ``, or "auto"``; empty where there are none."""
    field = _section_of(path, section).model_fields.get(str(path[-1])) if path else None
    words = [f'"{word}"' for a in (field.metadata if field else ()) if isinstance(a, KeywordUnion) for word in a.words]
    return f", or {' or '.join(words)}" if words else ""


def _missing(path: tuple[int | str, ...], section: type[Section]) -> str:
    key = dotted(path)
    general = dotted(["N" if isinstance(part, int) else part for part in path])
    needed = [s for s in settings_of(section) if s.key == general or s.key.startswith(general + ".")]
    if needed and needed[0].key == general:
        return f"{key} is missing: {needed[0].text[0].lower()}{needed[0].text[1:]}"
    if not needed:  # an item of a list that is too short
        return f"{dotted(path[:-1])} is too short: {key} is missing"
    inner = section_inside(_section_of(path, section).model_fields[str(path[-1])].annotation)[0]
    usual = [f"{key}.{name}" for name in inner.usual] if inner else []
    names = ", ".join([s.key for s in needed if s.required] or usual)
    return f"{key} is missing: the case needs {names}"


def _toml(value: object) -> str:
    """Return a value as in a case file, shortened."""
    text = quoted(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else _text(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _text(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # a whole number of more digits than Python prints
        return "a number of thousands of digits"
