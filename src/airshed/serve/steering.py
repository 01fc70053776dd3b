"""Settings of a case that change while its model runs: the model is made anew under them, and takes over the state."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from airshed.case.case import RunCase
from airshed.case.toml import flatten, override
from airshed.core.errors import CaseError
from airshed.core.settings import Setting, settings_of
from airshed.runtime.registry import model_kind
from airshed.runtime.simulation import Simulation
from airshed.serve import types
from airshed.serve.allowed import check_text, texts

_FIXED: Final = (
    "title", "description", "model", "grid", "time.start", "time.spinup", "time.length", "output", "restart", "run",
    "parallel", "initial", "meteorology.kind", "meteorology.files", "chemistry.mechanism", "chemistry.species_map",
    "chemistry.precision", "precision", "inputs", "adjoint", "receptor", "assimilation",
)  # fmt: skip
"""Settings on which depends what the state consists of, which time it belongs to, or what is written."""


def can_change(key: str) -> bool:
    """Whether a setting may change while a model runs."""
    return not any(key == fixed or key.startswith(f"{fixed}.") for fixed in _FIXED)


def changed(simulation: Simulation, setting: str) -> Simulation:
    """Return a simulation that goes on under a case with another setting, key=value; raises CaseError where none can.

    All ranks call this together.
    """
    case: RunCase = simulation.case
    data = case.to_dict()
    key = setting.partition("=")[0].strip()
    if not can_change(key):
        raise CaseError(f"{key} cannot change while the model runs; open a session of a case with another {key}")
    _begin_item(data, key)
    override(data, setting)
    for text in texts(data):
        check_text(text, case.base, known=set(texts(case.to_dict())))
    other = type(case).from_dict(data, case.base, name=case.name)
    return simulation.branch(case=other.allowing_code() if case.allow_code else other)


def _begin_item(data: Mapping[str, Any], key: str) -> None:
    """Where a key names the item behind the last one of a list of tables, such as another fire, begin that item."""
    if match := re.fullmatch(r"([^.]+(?:\.[^.]+)*?)\.(\d{1,6})\..+", key):
        node: Any = data
        for part in match[1].split("."):
            node = node.get(part) if isinstance(node, Mapping) else None
        if isinstance(node, list) and int(match[2]) == len(node):
            node.append({})


def release_setting(simulation: Simulation, command: types.Release) -> str:
    """Return the setting of a case that is a release from now on; raises CaseError for a model that emits nothing."""
    data = simulation.case.to_dict()
    if "emissions" not in data:
        raise CaseError(f"nothing can be released into a model of {simulation.case.model}")
    point = {
        "species": command.species, "lon": command.lon, "lat": command.lat, "height": f"{command.height!r} m",
        "rate": f"{command.rate!r} {command.unit}", "begin": f"{simulation.seconds!r} s",
        "duration": f"{command.duration!r} s",
    }  # fmt: skip
    points = [*data["emissions"].get("point", []), point]
    return f"emissions.point={_toml(points)}"


def _toml(value: Any) -> str:
    """Return a value as TOML in a line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def settings_info(simulation: Simulation) -> Iterator[types.SettingInfo]:
    """Yield the settings that may change while the model runs, with their values, in the order of a case file.

    Those that change nothing as the case is are left out.
    """
    case = simulation.case
    data = case.to_dict()
    values = {".".join(map(str, path)): value for path, value in flatten(data).items()}
    tables = model_kind(case.model).info(simulation.model).keys
    settings = list(settings_of(type(case)))
    for setting in settings:
        if can_change(setting.key) and _acts(setting, settings, values):
            for key in _items(setting.key, data):
                yield _info(replace(setting, key=key), values, tables.get(setting.key, ()))


def _acts(setting: Setting, settings: Sequence[Setting], values: Mapping[str, Any]) -> bool:
    """Whether a setting changes anything: one that is for a word alone where that word is chosen."""
    words = setting.only_for
    choices = [each for each in settings if any(f'"{word}"' in each.kind for word in words)]
    return not words or any(values.get(each.key) in words for each in choices)


def _items(key: str, data: Mapping[str, Any]) -> Iterator[str]:
    """Yield a key; of one within a list of tables that of each item there is: emissions.point.0.rate."""
    before, within, after = key.partition(".N.")
    if not within:
        yield key
        return
    held: Any = data
    for part in before.split("."):
        held = held[int(part)] if isinstance(held, list) else held.get(part, [])
    for number in range(len(held)):
        yield from _items(f"{before}.{number}.{after}", data)


def _info(setting: Setting, values: Mapping[str, Any], keys: Sequence[str]) -> types.SettingInfo:
    prefix = f"{setting.key}."
    table = {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
    return types.SettingInfo(
        key=setting.key, kind=setting.kind, unit=setting.unit, range=setting.range, text=setting.text,
        value=values.get(setting.key, table or setting.default), keys=list(keys),
    )  # fmt: skip
