"""The page of output agrees with the code: its table is the registry, its examples run."""

import re
from pathlib import Path

import pytest

from airshed.core.fields import FieldRegistry
from airshed.io.restart import RestartStore
from airshed.models.air.fields import WEATHER

DOCS = (Path(__file__).parents[2] / "docs" / "reference" / "output.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)


def test_the_table_of_fields_is_the_registry():
    table = re.search(r"<!-- weather fields: begin -->\n(.*?)\n<!-- weather fields: end -->", DOCS, re.DOTALL)
    assert table is not None
    assert table.group(1) == FieldRegistry(WEATHER).markdown()


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_run(tmp_path, monkeypatch, capsys, start_run, values, example):
    run = start_run(tmp_path / "runs" / "example")
    with run.folder:
        run.writer.write(0, values(0))
        RestartStore(run.folder).save(3600.0, {}, values(3600), {"step": 30})
        run.writer.finish()
        run.folder.finish()
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/reference/output.md", "exec"), {})
    assert re.match(r"mol mol-1 [\d.e-]+\n|\['metadata.json', 'O3'", capsys.readouterr().out)


def test_there_are_examples():
    assert len(EXAMPLES) == 2
