"""What the pages on kernels and processes show and name: examples run, files and functions are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
CHEMISTRY = (ROOT / "docs" / "chemistry-kernels.md").read_text(encoding="utf-8")
PROCESS = (ROOT / "docs" / "adding-a-process.md").read_text(encoding="utf-8")

DIFFS = re.findall(r"```diff\n--- (\S+)\n(.*?)```", PROCESS, re.S)


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", KERNELS, re.S)
    exec(compile(example, "docs/kernels.md", "exec"), {})
    assert float(capsys.readouterr().out) < 1e-13


def test_the_examples_of_chemistry_run(capsys: pytest.CaptureFixture[str]) -> None:
    methods, solver = re.findall(r"```python\n(.*?)```", CHEMISTRY, re.S)
    exec(compile(methods, "docs/chemistry-kernels.md", "exec"), {})
    assert "rodas4 4 6" in capsys.readouterr().out
    exec(compile(solver, "docs/chemistry-kernels.md", "exec"), {})
    assert capsys.readouterr().out.startswith("(66, 100) ")


@pytest.mark.parametrize(
    "text", [KERNELS, CHEMISTRY, PROCESS], ids=["kernels", "chemistry-kernels", "adding-a-process"]
)
def test_files_that_are_named_exist(text: str) -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)+[\w.]*)`", text)) - {"air/washout.py"}
    assert len(named) >= 4
    for name in named:
        folders = (ROOT, ROOT / "src" / "airshed", ROOT / "src" / "airshed" / "kernels")
        assert any((folder / name).exists() for folder in folders), name


@pytest.mark.parametrize(("path", "lines"), DIFFS, ids=[path for path, _ in DIFFS])
def test_lines_that_a_change_starts_from_are_there(path: str, lines: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    for line in lines.splitlines():
        if line.startswith(" "):
            assert line[1:].strip() in text, line


@pytest.mark.parametrize(
    "name",
    [
        "prepare_column",
        "eliminate",
        "substitute",
        "load_fluxes",
        "advance_air",
        "step_block",
        "sweep_species",
        "enum Term",
    ],
)
def test_functions_that_are_named_are_in_the_kernel(name: str) -> None:
    folder = ROOT / "src" / "airshed" / "kernels" / "cpu"
    assert any(name in path.read_text() for path in sorted(folder.iterdir()))
    assert name in KERNELS + PROCESS
