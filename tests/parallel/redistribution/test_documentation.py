"""``docs/explanation/redistribution.md``: its examples run, alone and on three ranks."""

import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[3] / "docs" / "explanation" / "redistribution.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_run():
    names = {}
    for example in EXAMPLES:
        exec(compile(example, "docs/explanation/redistribution.md", "exec"), names)


def test_the_first_example_runs_on_three_ranks(world):
    assert world(3, EXAMPLES[0] + "\nprint('done')").count("done") == 3
