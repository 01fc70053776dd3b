"""Reports as text and as JSON."""

import json

import pytest

from airshed.core.report import Report, Table, markdown_table

TABLE = Table(
    "Speed", ("process", "share [%]", "exact"), [("chemistry", 70.25, True), ("wind", None, False)], "one core"
)


def test_a_report_as_text_has_columns_one_below_the_other() -> None:
    text = str(Report("Bench", [TABLE], {"cores": 2, "processor": "fast"}))
    assert text.splitlines() == [
        "Bench",
        "cores      2",
        "processor  fast",
        "",
        "Speed",
        "process    share [%]  exact",
        "---------------------------",
        "chemistry      70.25    yes",
        "wind                     no",
        "one core",
    ]


def test_a_report_as_json_has_no_infinity() -> None:
    report = Report("r", [Table("t", ("x",), [(float("inf"),), (1.0,)])], {"y": float("nan")})
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["tables"][0]["rows"] == [{"x": None}, {"x": 1.0}]


def test_a_row_of_another_length_is_a_defect() -> None:
    with pytest.raises(ValueError, match="2 columns, but a row of 1"):
        Table("t", ("a", "b"), [(1,)])


def test_a_table_in_markdown_puts_numbers_to_the_right() -> None:
    assert markdown_table(("name", "n"), [("a", 1)]) == "| name | n |\n|---|---|\n| a | 1 |"
    assert markdown_table(("name", "n"), [], 1) == "| name | n |\n|---|---:|"
