"""The pages on kernels: their examples run, and the files and functions that they name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = (ROOT / "docs" / "explanation" / "kernels.md").read_text(encoding="utf-8")
CHEMISTRY = (ROOT / "docs" / "explanation" / "chemistry-kernels.md").read_text(encoding="utf-8")


@pytest.mark.compiles
def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", KERNELS, re.S)
    exec(compile(example, "docs/explanation/kernels.md", "exec"), {})
    assert float(capsys.readouterr().out) < 1e-13


def test_the_examples_of_chemistry_run(capsys: pytest.CaptureFixture[str]) -> None:
    methods, solver = re.findall(r"```python\n(.*?)```", CHEMISTRY, re.S)
    exec(compile(methods, "docs/explanation/chemistry-kernels.md", "exec"), {})
    assert "rodas4 4 6" in capsys.readouterr().out
    exec(compile(solver, "docs/explanation/chemistry-kernels.md", "exec"), {})
    assert capsys.readouterr().out.startswith("(66, 100) ")


@pytest.mark.parametrize("text", [KERNELS, CHEMISTRY], ids=["kernels", "chemistry-kernels"])
def test_files_that_are_named_exist(text: str) -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)+[\w.]*)`", text))
    assert len(named) >= 4
    for name in named:
        folders = (ROOT, ROOT / "src" / "airshed", ROOT / "src" / "airshed" / "kernels")
        assert any((folder / name).exists() for folder in folders), name


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
    folder = ROOT / "src" / "airshed" / "kernels"
    assert any(name in path.read_text() for path in (*sorted(folder.rglob("*.hpp")), folder / "abi.py"))
    assert name in KERNELS
