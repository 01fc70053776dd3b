"""``docs/how-to/assimilation.md``: its example runs, and it names every column of the netCDF files."""

import re
from pathlib import Path

import pytest

from airshed.observations.column_file import REQUIRED

TEXT = (Path(__file__).parents[3] / "docs" / "how-to" / "assimilation.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_the_example_runs(example: str) -> None:
    exec(compile(example, "docs/how-to/assimilation.md", "exec"), {})


def test_every_column_is_named() -> None:
    assert set(REQUIRED) <= set(re.findall(r"`(\w+)`", TEXT))
