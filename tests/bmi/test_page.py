"""The Python code of docs/how-to/bmi.md runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_python_of_the_page_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "how-to" / "bmi.md").read_text(encoding="utf-8"), re.DOTALL
    )
    monkeypatch.chdir(ROOT)
    exec(code, {"__name__": "__main__"})
    assert re.fullmatch(r"[\d.]+e-\d+ mol mol-1\n", capsys.readouterr().out)
