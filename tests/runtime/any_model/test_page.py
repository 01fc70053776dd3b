"""docs/how-to/models.md shows a model that the tests run, and names every member of the protocol."""

import re
from pathlib import Path

from airshed.runtime.model import Model

MODELS = Path(__file__).with_name("models")


def test_the_page_on_models_shows_this_very_model() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "models.md").read_text(encoding="utf-8")
    assert f"```python\n{(MODELS / 'lorenz.py').read_text(encoding='utf-8')}```\n" in page
    asked = {name for name in vars(Model) if not name.startswith("_")}
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)", row.split("|")[1])} == asked
