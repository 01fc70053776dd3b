"""The import contracts of pyproject.toml hold, can fail, and ``import airshed`` stays light."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.architecture import PAGE, drawing, page_with_drawing

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
CONTRACTS = {contract["name"] for contract in SETTINGS["contracts"]}

TRESPASSES = {
    "core/bad.py": "import airshed.grid\n",
    "process/bad.py": "import ctypes\n",
    "runtime/bad.py": "from rich.progress import Progress\n",
    "models/air/bad.py": "import lark\nimport pint\nimport mpi4py\nimport airshed.kernels.backends.cpu.stepper\n",
    "core/worse.py": "import validation.fuzz\n",
    "grid/bad.py": "import netCDF4\nimport matplotlib.pyplot\n",
    "inverse/bad.py": "import torch\nimport airshed.parallel.redistribution.tcp\n",
    "models/air/species_map/bad.py": "import airshed.models.air.processes\n",
    "models/points/bad.py": "import airshed.models.pasture\n",
}


def broken_contracts(source: Path, folder: Path) -> set[str]:
    """Run import-linter on a source folder; return the names of the contracts that are broken."""
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--config", ROOT / "pyproject.toml"]
    environment = {**os.environ, "PYTHONPATH": str(source), "NO_COLOR": "1", "COLUMNS": "200"}
    answer = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    verdicts = dict(re.findall(r"^(.+) ([A-Z]{4,})\b", answer.stdout, re.MULTILINE))
    print(answer.stdout, answer.stderr)  # pytest shows it when a test fails
    assert set(verdicts) == CONTRACTS
    return {name for name, verdict in verdicts.items() if verdict == "BROKEN"}


def test_the_packages_keep_the_import_contracts(tmp_path: Path) -> None:
    assert broken_contracts(ROOT / "src", tmp_path) == set()


def test_each_contract_is_broken_by_an_import_that_it_forbids(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "data"))
    for name, text in TRESPASSES.items():
        (tmp_path / "src/airshed" / name).write_text(text)
    assert broken_contracts(tmp_path / "src", tmp_path) == CONTRACTS


def modules_after(statement: str) -> set[str]:
    """Return the modules that a fresh interpreter holds after a statement."""
    command = [sys.executable, "-c", f"{statement}; import sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(("statement", "light"), [("import airshed", True), ("import airshed, numpy", False)])
def test_import_airshed_is_light(statement: str, light: bool) -> None:
    heavy = {"numpy", "xarray", "matplotlib", "pydantic", "netCDF4", "pint", "rich"}
    assert heavy.isdisjoint(modules_after(statement)) == light


def test_packages_for_users_are_imported_on_request() -> None:
    names = "airshed.inverse.sensitivity, airshed.evaluate, airshed.mechanism.load_mechanism"
    assert "airshed.inverse.receptors.sensitivity" in modules_after(f"import airshed; {names}")


def test_a_run_without_files_imports_nothing_for_datasets_and_pictures(tmp_path: Path) -> None:
    heavy = {"xarray", "pandas", "matplotlib"}
    line = ["run", "tracer-rotation", "--quiet", "--output", str(tmp_path / "run"), "--set", "time.length=10 min"]
    run = f"from typer.testing import CliRunner; from airshed.cli.program import app; CliRunner().invoke(app, {line})"
    found = modules_after(run)
    assert (tmp_path / "run" / "summary.txt").is_file()
    assert heavy.isdisjoint(found)
    assert "xarray" in modules_after("import airshed; airshed.open_run"), "the search finds an import"


def test_the_page_on_architecture_is_drawn_from_the_contract(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == page_with_drawing(page, drawing()), "run: python -m tests.architecture"
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "data", "web"))
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(contract.replace('"grid", "formula", "core"', '"formula", "grid", "core"'))
    assert page != page_with_drawing(page, drawing(tmp_path))
