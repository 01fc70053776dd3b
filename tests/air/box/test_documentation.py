"""The examples of docs/box.md run as they stand."""

import re
import tomllib
from pathlib import Path

import pytest

from airshed.air.box import BoxConditions, BoxRun
from airshed.mechanism import ReactionNetwork

TEXT = (Path(__file__).parents[3] / "docs" / "box.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


def test_python_example(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block("python"), "docs/box.md", "exec"), {})
    number, unit = capsys.readouterr().out.split()
    assert 20.0 < float(number) < 120.0
    assert unit == "ppb"


def test_conditions_example(emep: ReactionNetwork) -> None:
    run = BoxRun(emep, BoxConditions.from_dict(tomllib.loads(block("toml"))))
    series = run.run()
    assert set(series["daylight"].values) == {0.0, 1.0}
    assert float(series["time"][-1]) == 116 * 3600.0


def test_every_section_is_there() -> None:
    sections = set(BoxConditions.model_fields) - {"title"}
    assert all(f"[{section}]" in TEXT for section in sections)
