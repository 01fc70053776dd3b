"""The page of settings is up to date, and `airshed show` prints the source of every parameter."""

from collections.abc import Callable
from pathlib import Path

import airshed
from airshed.models.pasture.case import case_file_document
from airshed.models.pasture.fields import PASTURE, SOIL
from airshed.runtime.registry import case_report

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_of_settings_is_up_to_date() -> None:
    written = (DOCS / "reference" / "pasture-case-file.md").read_text(encoding="utf-8")
    assert written == case_file_document(), (
        "run: python -m airshed.models.pasture.case > docs/reference/pasture-case-file.md"
    )
    for key in ("fire.N.date", "method", "stocking_rate", "strategy"):
        assert f"| `{key}` |" in written


def test_show_prints_classes_and_the_sources_of_their_numbers(case: Callable[..., Path]) -> None:
    report = case_report(airshed.load_case(case()))
    assert report.facts["grid"] == "6 x 8 cells, 40 of them on land"
    soils, soil_numbers, pastures, pasture_numbers = report.tables[2:]
    assert report.tables[1].rows == [("cells", "0 to 1", "q -> q", "", "")]
    assert [row[3] for row in soils.rows] == [20, 20]
    assert all("GRASP" in row[2] for row in (*soils.rows, *pastures.rows))
    assert {spec.name for spec in SOIL} <= {row[0] for row in soil_numbers.rows}
    assert {spec.name for spec in PASTURE} <= {row[0] for row in pasture_numbers.rows}
