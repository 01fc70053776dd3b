"""Names of scenarios; web/tests/scenario.test.ts checks that the page makes the same ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from airshed.runtime.registry import Lever
from airshed.serve.scenarios.branches import without
from airshed.serve.scenarios.names import LONGEST, scenario_name, unique_name

HERE = Path(__file__).parent
SAMPLES: list[dict[str, Any]] = json.loads((HERE / "scenario_names.json").read_text(encoding="utf-8"))
LEVERS = {
    path: Lever(each["text"], {key: (kind, words) for key, (kind, words) in each.get("keys", {}).items()})
    for path, each in json.loads((HERE / "levers.json").read_text(encoding="utf-8")).items()
}


@pytest.mark.parametrize("sample", SAMPLES, ids=[each["name"] for each in SAMPLES])
def test_a_name_has_the_words_of_its_changes(sample: dict[str, Any]) -> None:
    name = scenario_name(sample["changes"], LEVERS, sample.get("before", {}))
    assert name == sample["name"]
    assert len(name) <= LONGEST


def test_a_name_depends_on_each_part_of_a_change() -> None:
    change = {"emissions.scale.DE/F_RoadTransport": 0.2}
    others = (
        {"emissions.scale.FR/F_RoadTransport": 0.2},
        {"emissions.scale.DE/F_RoadTransport": 0.3},
        {"emissions.scale.DE": 0.2},
    )
    names = {scenario_name(each, LEVERS, {}) for each in (change, *others)}
    assert len(names) == 4


def test_names_are_unique() -> None:
    assert unique_name("a", []) == "a"
    assert unique_name("a", ["a"]) == "a (2)"
    assert unique_name("a", ["a", "a (2)"]) == "a (3)"
    assert unique_name("", ["", ""]) == ""
    long = "x" * 200
    assert len(unique_name(long, [unique_name(long, [])])) == LONGEST


def test_an_undone_change_has_a_name() -> None:
    set_ = {"kind": "set", "changes": {"emissions.scale.NOx": 0.5}}
    assert without(set_, LEVERS, {}) == "Without Nitrogen oxides −50 %"
    assert without({"kind": "release", "species": "SO2"}, LEVERS, {}) == "Without the release of SO2"
    assert without({"kind": "paint", "variable": "O3"}, LEVERS, {}) == "Without the painting of O3"
