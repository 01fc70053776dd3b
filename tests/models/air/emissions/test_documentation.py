import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[4] / "docs" / "how-to" / "emissions.md"


def test_the_examples_of_the_document_run(capsys):
    examples = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, str(DOCUMENT), "exec"), names)
    assert examples
    assert names["noon"].shape[0] == 12
    told = capsys.readouterr().out
    assert "NL NOx 194.5" in told
    assert "LU,2023,F_RoadTransport,NOx,Gg,6.5\n\n" in told
    assert "UY NOx 30.0 30.0" in told


def test_its_table_is_that_of_the_shipped_inventory():
    shipped = Path(__file__).parents[4] / "cases" / "west-europe" / "emissions" / "sector_proxies.csv"
    text = DOCUMENT.read_text(encoding="utf-8")
    for line in shipped.read_text().splitlines()[1:]:
        sector, proxy, share = line.split(",")
        (row,) = [row for row in text.splitlines() if row.startswith(f"| {sector} ")]
        assert (f"`{proxy}`" if share == "1" else f"{share} `{proxy}`") in row
