"""The JSON Schema of case files: all shipped cases satisfy it, and it finds the faults of a wrong case."""

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from typer.testing import CliRunner

import airshed
from airshed.case.schema import editor_schema
from airshed.cli.program import app
from airshed.core.files import resource
from airshed.core.settings import settings_of
from airshed.runtime.registry import model_kind

CASES = sorted(
    path
    for path in resource("cases").rglob("*.toml")
    if path.name in ("case.toml", "conditions.toml")  # others are stations and species maps
)


def plain(value: Any) -> Any:
    """Return TOML as JSON has it: dates are texts."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def faults(document: dict[str, Any]) -> list[str]:
    schema = editor_schema(model_kind(document.get("model")).case)
    return [each.message for each in jsonschema_rs.validator_for(schema).iter_errors(plain(document))]


def test_there_are_cases_of_every_model() -> None:
    assert {tomllib.loads(path.read_text()).get("model", "air") for path in CASES} == {"air", "box", "pasture"}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_a_shipped_case_satisfies_the_schema(path: Path) -> None:
    assert faults(tomllib.loads(path.read_text(encoding="utf-8"))) == []


WRONG = {
    "an unknown setting": ('time.lenght = "6 h"', "'lenght' was unexpected"),
    "an unknown section": ('timing.length = "6 h"', "'timing' was unexpected"),
    "a missing unit": ('time.length = "6"', "does not match"),
    "a number without a unit": ("time.length = 6", 'is not of type "string"'),
    "an unknown word": ('chemistry.integrator = "euler"', '"euler" is not one of'),
    "a number out of range": ("time.courant = 0.9", "greater than the maximum"),
    "a text in place of a number": ('time.courant = "0.1"', 'is not of type "number"'),
    "an angle in place of an area": ("grid.area.lon = 5", "is not valid under any of the"),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_case_is_found(change: tuple[str, str]) -> None:
    text, message = change
    document = tomllib.loads((resource("cases") / "tracer-rotation" / "case.toml").read_text())
    (key, value), *_ = tomllib.loads(text).items()
    document[key] = _merged(document.get(key, {}), value)
    assert any(message in each for each in faults(document)), faults(document)


def _merged(old: Any, new: Any) -> Any:
    return (
        {**old, **{key: _merged(old.get(key, {}), each) for key, each in new.items()}} if isinstance(new, dict) else new
    )


def test_a_setting_has_its_text_unit_range_default_and_words() -> None:
    schema = editor_schema(airshed.Case)
    time = schema["$defs"]["TimeSection"]["properties"]
    assert time["length"]["description"] == "Length of the simulation. Unit: s. Range: 1 s to 100 year."
    assert time["courant"]["default"] == 0.4
    assert "imex" in schema["$defs"]["ChemistrySection"]["properties"]["integrator"]["enum"]
    assert schema["properties"]["title"]["type"] == "string"


@pytest.mark.parametrize("model", ["air", "box", "pasture"])
def test_every_setting_is_described(model: str) -> None:
    case = model_kind(model).case
    schema = editor_schema(case)
    for setting in settings_of(case):
        node: Any = schema
        for part in setting.key.split("."):
            node = node["items"] if part == "N" else node["properties"][part]
            node = schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
            if not setting.key.endswith(part) and "anyOf" in node:  # a section that one value can stand for
                node = schema["$defs"][node["anyOf"][0]["$ref"].rpartition("/")[2]]
        assert node["description"].startswith(setting.text), setting.key


def test_the_command_prints_the_schema_and_writes_it(tmp_path: Path) -> None:
    run = CliRunner().invoke
    printed = run(app, ["schema", "pasture"])
    assert json.loads(printed.output) == json.loads(json.dumps(editor_schema(model_kind("pasture").case)))
    written = run(app, ["schema", "--output", str(tmp_path / "case.schema.json")])
    assert "#:schema case.schema.json" in written.output
    assert json.loads((tmp_path / "case.schema.json").read_text())["properties"]["grid"]
    refused = run(app, ["schema", "airr"])
    assert refused.exit_code != 0
