"""JSON Schema of a running case, and the OpenAPI document of all types: `python -m airshed.serve.protocol.schema`."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from airshed.case.toml import flatten
from airshed.core.settings import Setting, settings_of
from airshed.runtime.changes import settable_field
from airshed.runtime.registry import Lever, model_kind
from airshed.runtime.simulation import Simulation
from airshed.serve.protocol import access, analysis, effect, messages, origin, stations, types

_REFERENCE = "#/components/schemas/{model}"


def case_schema(simulation: Simulation) -> dict[str, Any]:
    """Return the JSON Schema of a simulation's case, without references, with extension keys for each setting.

    x-effect         "in place" or "rebuild"; absent for a fixed setting, and for one that has no effect in this case
    x-unit, x-range  of its values, in words; absent where it has none
    x-keys           possible keys of a table, as far as they are known
    x-lever          words of a setting that scenarios change: {"text", "hint", "keys": {key: [kind, words]}}
    """
    case = type(simulation.case)
    values = {".".join(map(str, path)): value for path, value in flatten(simulation.case.to_dict()).items()}
    info = model_kind(simulation.case.model).info(simulation.model)
    document = _schema_of(case)  # type: ignore[arg-type]
    settings = {each.key: each for each in settings_of(case)}
    annotator = _Annotator(simulation, settings, values, info.keys, info.levers, document["$defs"])
    return annotator.annotated(document, "")


@lru_cache(8)
def _schema_of(case: Callable[..., Any]) -> dict[str, Any]:
    schema: dict[str, Any] = case.model_json_schema()  # type: ignore[attr-defined]
    return schema


@dataclass(frozen=True)
class _Annotator:
    """Resolves the references of a schema, and adds extension keys.

    settings  all settings of the case, by key
    values    present values of the settings, by key
    keys      possible keys of tables, by the key of the table
    levers    settings that scenarios change, by key
    schemas   that references name
    """

    simulation: Simulation
    settings: Mapping[str, Setting]
    values: Mapping[str, Any]
    keys: Mapping[str, Any]
    levers: Mapping[str, Lever]
    schemas: Mapping[str, Any]

    def annotated(self, node: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Return a part of the schema, with the setting or section of a path described."""
        name = node.get("$ref", "").rpartition("/")[2]
        found = {**(self.schemas[name] if name else {}), **node}
        for key in ("$ref", "$defs", "title", "unit", "only_for"):
            found.pop(key, None)
        if "properties" in found:
            before = f"{path}." if path else ""
            inside = {key: self.annotated(each, f"{before}{key}") for key, each in found["properties"].items()}
            return {**found, "properties": inside}
        if "$ref" in found.get("items", {}):
            return {**found, "items": self.annotated(found["items"], f"{path}.N"), **self._effect(path)}
        setting = self.settings.get(path)
        about = {"x-unit": setting.unit, "x-range": setting.range} if setting else {}
        return {**found, **{key: each for key, each in about.items() if each}, **self._effect(path)}

    def _effect(self, path: str) -> dict[str, Any]:
        simulation, setting = self.simulation, self.settings.get(path)
        table = f"{path.replace('.', '_')}_"
        fields = [name for name in simulation if name.startswith(table) and settable_field(simulation.model, name)]
        effect = "in place" if fields else simulation.effect(path)
        if effect == "fixed" or (setting is not None and not self._has_effect(setting)):
            return {}
        keys = list(self.keys.get(path, [name.removeprefix(table) for name in fields]))
        lever = self.levers.get(path)
        words = {} if lever is None else {"x-lever": {"text": lever.text, "hint": lever.hint, "keys": dict(lever.keys)}}
        return {"x-effect": effect, **({"x-keys": keys} if keys else {}), **words}

    def _has_effect(self, setting: Setting) -> bool:
        """Return whether a setting has an effect: one that belongs to a choice has it where that choice is set."""
        words = setting.only_for
        choices = [each for each in self.settings.values() if any(f'"{word}"' in each.kind for word in words)]
        return not words or any(self.values.get(each.key) in words for each in choices)


def values_of(simulation: Simulation) -> dict[str, Any]:
    """Return the settings of a simulation as nested tables, with the present numbers of the model."""
    document: dict[str, Any] = simulation.case.to_dict()
    for table, key in list(_numbers(document)):
        name = settable_field(simulation.model, ".".join(map(str, (*table, key))))
        if name is not None:
            number, node = float(simulation.values(name)), cast("Any", document)
            for part in table:
                node = node[part]
            node[key] = f"{number!r} {simulation.model.fields[name].unit}" if isinstance(node[key], str) else number
    return document


def _numbers(document: Mapping[str, Any]) -> Iterator[tuple[tuple[int | str, ...], int | str]]:
    """Yield the tables and keys of settings that may be numbers of the model."""
    for path, value in flatten(document).items():
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            yield path[:-1], path[-1]


def schemas() -> dict[str, object]:
    """Return the JSON schemas of all documents and messages by name, including those of the WebSocket alone."""
    named: dict[str, Any] = {}
    for module in (types, access, stations, analysis, effect, origin, messages):
        named |= vars(module)
    documents = [each for each in named.values() if isinstance(each, type) and issubclass(each, types.Document)]
    made = models_json_schema([(each, "validation") for each in documents], ref_template=_REFERENCE)[1]
    found: dict[str, object] = dict(made["$defs"])
    for name in ("Command", "ClientMessage", "ServerMessage"):
        schema = TypeAdapter(named[name]).json_schema(ref_template=_REFERENCE)
        found[name] = {key: value for key, value in schema.items() if key != "$defs"}
    return found


def main() -> None:
    """Print the OpenAPI document."""
    from airshed.core.version import __version__

    about = {"title": "Airshed live", "version": __version__}
    document = {"openapi": "3.1.0", "info": about, "paths": {}, "components": {"schemas": schemas()}}
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
