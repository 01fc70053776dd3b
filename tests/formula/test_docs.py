"""The page on formulas: its example runs, and its table lists all files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "formulas.md").read_text(encoding="utf-8")


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(compile(example, "docs/explanation/formulas.md", "exec"), {})
    first, statement, results, sensitivity = capsys.readouterr().out.splitlines()
    assert first == "('coefficient', 'rain') where(rain > 0.0, coefficient*(rain*3600.0)**0.79, 0.0)"
    assert statement.startswith("const pack e0 = (rain[z] > real(0.0) ? a * ")
    assert results == "['e0']"
    assert sensitivity.startswith("where(rain > 0.0, ")


def test_the_table_has_every_file() -> None:
    named = set(re.findall(r"`(\w+\.py)`", PAGE))
    assert named == {path.name for path in (ROOT / "src/airshed/formula").glob("*.py")} - {"__init__.py"}
