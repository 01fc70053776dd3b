"""JSON Schema of a case file, for editors that complete and check TOML (Taplo, Even Better TOML, tombi)."""

from collections.abc import Iterator
from copy import deepcopy
from inspect import cleandoc
from typing import Any, Final

from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from airshed.case.case import RunCase
from airshed.core.settings import KeywordUnion, Section, section_inside, settings_of
from airshed.core.version import __version__

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_QUANTITY: Final = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*[^\d\s.].*$"
"""A number and a unit."""

_INTERNAL: Final = ("title", "unit", "keys", "only_for", "x-unit", "x-range")
"""Keys of a setting that the description replaces."""


def editor_schema(case: type[RunCase]) -> dict[str, Any]:
    """Return the JSON Schema of the case file of a model.

    Parameters
    ----------
    case
        Class of the cases of the model.

    Returns
    -------
    dict
        A schema of draft 2020-12. The description of each setting has its unit and its range.

    Examples
    --------
    >>> editor_schema(airshed.Case)["properties"]["time"]
    {'$ref': '#/$defs/TimeSection'}
    """
    schema = deepcopy(case.model_json_schema())
    _annotate(schema, case, "", schema["$defs"], {each.key: each for each in settings_of(case)})
    for node in _nodes(schema):
        _simplify(node)
    words = cleandoc(case.__doc__ or "").partition("\n")[0]
    return {"$schema": _DIALECT, "title": f"Airshed {__version__}: case file", "description": words, **schema}


def _annotate(node: dict[str, Any], section: type[Section], prefix: str, schemas: Any, settings: Any) -> None:
    """Describe the settings of a section, and of those inside it, in place."""
    for name, field in section.model_fields.items():
        described, key = node["properties"][name], f"{prefix}{name}"
        inner, many = section_inside(field.annotation)
        if inner is not None:
            target = schemas[_reference(described["items"] if many else described).rpartition("/")[2]]
            _annotate(target, inner, f"{key}.N." if many else f"{key}.", schemas, settings)
            described.setdefault("description", target.get("description", ""))
        else:
            setting = settings[key]
            unit = f"Unit: {setting.unit}." if setting.unit not in ("", "1") else ""
            text = (setting.text, unit, f"Range: {setting.range}." if setting.range else "")
            described["description"] = " ".join(filter(None, text))
        if _takes_one_value(field):
            node["properties"][name] = _or_one_value(described, schemas)


def _reference(node: dict[str, Any]) -> str:
    """Return the reference to a section, which a list may also accept in a short form."""
    return str(next(each["$ref"] for each in node.get("anyOf", [node]) if "$ref" in each))


def _takes_one_value(field: FieldInfo) -> bool:
    """Return whether a validator expands one value, such as ``spacing = "0.25 deg"``."""
    pending, found = [field.annotation, *field.metadata], False
    while pending and not found:
        each = pending.pop()
        found = isinstance(each, BeforeValidator)
        pending += [*getattr(each, "__metadata__", ()), *getattr(each, "__args__", ())]
        pending += [each.other] if isinstance(each, KeywordUnion) else []
    return found


def _or_one_value(node: dict[str, Any], schemas: Any) -> dict[str, Any]:
    """Return a schema of several values that also accepts one of them; a schema of another kind as it is."""
    described: dict[str, Any] = {key: node[key] for key in ("description", "default") if key in node}
    shape = {key: each for key, each in node.items() if key not in described}
    inside = schemas[shape["$ref"].rpartition("/")[2]]["properties"].values() if "$ref" in shape else ()
    options = [each for each in shape.get("anyOf", [shape]) if each != {"type": "null"}]
    single = [
        *(item for each in options for item in each.get("prefixItems", [])[:1]),
        *({key: value for key, value in each.items() if key != "description"} for each in list(inside)[:1]),
    ]
    return {**described, "anyOf": [*options, *single]} if single else node


def _simplify(node: dict[str, Any]) -> None:
    """Adapt a node to TOML, in place: no null, quantities by their pattern, dates without a time."""
    unit = node.get("x-unit")
    if node.get("format") == "quantity":
        del node["format"]
        if node["type"] == "string":
            node["pattern"] = _QUANTITY
            node.setdefault("description", f"Unit: {unit}.")
    if node.get("format") in ("date-time", "date"):
        del node["format"]
    if {"type": "null"} in node.get("anyOf", ()):
        node["anyOf"] = [each for each in node["anyOf"] if each != {"type": "null"}]
    if "default" in node and node["default"] is None:
        del node["default"]
    for key in _INTERNAL:
        if not isinstance(node.get(key), dict):  # a setting of such a name is a dictionary
            node.pop(key, None)


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Yield each object of a schema, the inner ones first."""
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(each)
    if isinstance(node, dict):
        yield node
