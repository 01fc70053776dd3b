"""``docs/reference/observations.md`` has a row for each layout, and names every column of our own tables."""

import math
import re
from pathlib import Path

import pytest

from airshed.observations.layouts import LAYOUTS, Layout
from airshed.observations.layouts.long import COLUMNS
from airshed.observations.station import Station

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "observations.md").read_text(encoding="utf-8")


def row(layout: Layout) -> str:
    """The row of a layout as the page has it."""
    time = f"{layout.time.zone}, {layout.time.label}" if layout.time else "to be given"
    period = "distance of its times" if math.isnan(layout.averaging) else f"{layout.averaging / 3600:g} h"
    flags = ", ".join(f"`{flag}`" for flag in sorted(layout.flags) if flag) if layout.flags else "those of the rules"
    return f"| {layout.name} | {layout.columns} | {time} | {layout.source} | {period} | {layout.units} | {flags} |"


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_each_layout_has_its_row(layout: Layout) -> None:
    assert row(layout) in TEXT.splitlines(), f"docs/reference/observations.md lacks the row\n{row(layout)}"


def test_every_column_is_named() -> None:
    words = set(re.findall(r"`(\w+)`", TEXT))
    assert set(COLUMNS) <= words
    assert {"id", "name", "lon", "lat", "altitude", "area", "type", "inlet", "network", "zone"} <= words
    assert set(Station.__dataclass_fields__) <= words


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_the_example_runs(example: str) -> None:
    exec(compile(example, "docs/reference/observations.md", "exec"), {})
