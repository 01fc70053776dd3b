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


def test_text_is_less_than_100_columns_wide() -> None:
    """Long words are wrapped in their column, and a table with many columns continues below its first part."""
    words = " ".join(["citation"] * 60)
    wide = Table("Wide", ("species", *(f"process {i}" for i in range(20))), [("O3", *(1.5 * i for i in range(20)))])
    report = Report("r", [Table("Input", ("part", "origin"), [("air", words)], words), wide], {"advice": words})
    lines = report.to_text().splitlines()
    assert max(map(len, lines)) < 100
    assert sum(line.split().count("citation") for line in lines) == 180
    heads = [index for index, line in enumerate(lines) if line.startswith("species")]
    assert [lines[index + 2][:2] for index in heads] == ["O3"] * 3
    shown = [cell for index in range(len(lines)) for cell in lines[index].split() if lines[index].startswith("O3")]
    assert [float(cell) for cell in shown if cell != "O3"] == [1.5 * i for i in range(20)]


def test_a_wrapped_cell_stays_in_its_column() -> None:
    table = Table("t", ("name", "text"), [("a", "word " * 30), ("b", "short")])
    lines = table.to_text().splitlines()
    assert [line[:4].strip() for line in lines[3:]] == ["a", "", "b"]
    assert all(line[6:].startswith(("word", "short")) for line in lines[3:])


def test_a_report_is_shown_as_its_text_and_as_html() -> None:
    table = Table("Ozone <O3>", ("place", "ppb"), [("Köln & Bonn", 40.0)], note="at 14 h")
    report = Report("Summary", [table], {"steps": 3})
    assert repr(report) == str(report) == report.to_text()
    html = report._repr_html_()
    assert "<b>Ozone &lt;O3&gt;</b><table><tr><th>place</th><th>ppb</th></tr>" in html
    assert "<tr><td>Köln &amp; Bonn</td><td>40</td></tr></table><p>at 14 h</p>" in html
    assert "<td>steps</td><td>3</td>" in html
    assert "<O3>" not in html
