"""The Python of docs/bmi.md runs."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_python_of_the_page_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "bmi.md").read_text(encoding="utf-8"), re.DOTALL)
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert re.fullmatch(r"[\d.]+e-\d+ mol mol-1\n", answer.stdout)
