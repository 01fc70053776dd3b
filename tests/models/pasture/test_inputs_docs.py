"""The examples and tables of docs/how-to/pasture-inputs.md are correct."""

import re
from pathlib import Path

import numpy as np

from airshed.grid.box import Box
from airshed.models.pasture.inputs import open_inputs
from airshed.models.pasture.inputs.stations import Recipe, StationEntry, read_recipe
from airshed.models.pasture.weather.checks import RULES

TEXT = (Path(__file__).parents[3] / "docs" / "how-to" / "pasture-inputs.md").read_text(encoding="utf-8")


def block(after: str) -> list[str]:
    """Return the lines of the first indented block after a text."""
    found = re.search(r"\n\n((?:    .*\n|\n)+)", TEXT[TEXT.index(after) :])
    assert found is not None
    return [line[4:] for line in found.group(1).splitlines() if line.strip()]


def test_python_of_the_page_runs():
    first, *rest = block("## Read inputs in Python")
    names = {"open_inputs": open_inputs, "Box": Box}
    exec(first, names)
    told, rain, soil = (eval(line, names) for line in rest)
    assert (str(told[0]), *told[1:]) == ("2020-01-01", 15219, "vapour_pressure")
    assert rain.shape == (28, 100)
    assert soil.shape == (186, 156)
    assert np.isnan(soil).sum() == 186 * 156 - 15219


def test_declaration_of_the_page_has_all_settings_of_a_station(tmp_path):
    lines = block("declares values that the files do not have")
    (tmp_path / "stations.toml").write_text("\n".join(lines))
    recipe = read_recipe(tmp_path / "stations.toml")
    assert recipe.area == Recipe().area
    shown = {line.split(" = ")[0] for line in lines[4:]}
    assert shown == set(StationEntry.model_fields) - {"latitude"}


def test_table_of_the_page_has_all_rules():
    rows = TEXT[TEXT.index("| rule |") :].split("\n\n")[0].splitlines()[2:]
    assert len(rows) == len(RULES) + 1  # `possible` has two rows: errors, and saturation
