"""``docs/meteorology.md``: its example runs, and it names every field that a Dataset or a file can give."""

import re
from pathlib import Path

import pytest

from airshed.io.era5_fields import FIELDS
from airshed.models.air.weather.fields import CF_FIELDS, ERA5_FIELDS, KNOWN

TEXT = (Path(__file__).parents[4] / "docs" / "meteorology.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_the_example_runs(example: str) -> None:
    exec(compile(example, "docs/meteorology.md", "exec"), {})


def test_every_field_is_named() -> None:
    names = set(re.findall(r"`([a-z0-9_]+)`", TEXT))
    assert set(CF_FIELDS) <= names
    assert set(ERA5_FIELDS) - {"zs"} <= names
    for each in KNOWN:
        assert {each.name, each.cf_name} <= names
        assert not each.era5 or each.era5 in names


def test_what_is_read_of_era5_is_used() -> None:
    assert set(FIELDS) <= set(ERA5_FIELDS) | {each.era5 for each in KNOWN}
