"""``docs/how-to/meteorology.md``: its example runs, and it names every field that a Dataset or a file can give."""

import re
from pathlib import Path

import pytest

from airshed.io.era5_fields import FIELDS
from airshed.models.air.weather.fields import FIELDS as WEATHER
from airshed.models.air.weather.fields import era5_names, fields_table, of_use

TEXT = (Path(__file__).parents[4] / "docs" / "how-to" / "meteorology.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_the_example_runs(example: str) -> None:
    exec(compile(example, "docs/how-to/meteorology.md", "exec"), {})


def test_the_table_of_fields_is_that_of_the_code() -> None:
    assert fields_table() in TEXT


def test_every_field_is_named() -> None:
    names = set(re.findall(r"`([a-z0-9_]+)`", TEXT))
    assert {each.cf_name for each in WEATHER if each.cf_name} <= names
    assert {name for each in WEATHER for name in each.era5} - {"zs"} <= names


def test_what_is_read_of_era5_is_used() -> None:
    assert set(FIELDS) <= {*era5_names(), *(name for each in of_use("optional") for name in each.era5)}
