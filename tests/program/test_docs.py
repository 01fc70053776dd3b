"""``docs/explanation/integrators.md``: its examples print the results in their comments; it shows every integrator."""

import re
from pathlib import Path

import pytest

from airshed.program.integrators import SPLITTINGS, integrator

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "integrators.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["imex", *SPLITTINGS])
def test_the_page_shows_the_program_and_the_order(name):
    program = integrator(name)
    assert f"```text\n{program}\n```" in PAGE
    assert re.search(rf"^\| `{name}`[^|]*\| {program.order} \|", PAGE, re.MULTILINE)


def test_the_examples_print_what_the_page_says(capsys):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    exec(compile(code, "docs/explanation/integrators.md", "exec"), {})
    printed, said = capsys.readouterr().out, re.findall(r"# (.*)$", code, re.MULTILINE)
    assert len(said) == 3
    assert all(each in printed for each in said)
