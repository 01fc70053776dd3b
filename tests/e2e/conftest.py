"""Fixtures: the installed command as a separate process, a small part of the real case, and comparisons of results."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from tests.started import python
from typer.testing import CliRunner

from airshed.cli.program import app

PROGRAM = Path(sys.executable).with_name("airshed")
DYING = Path(__file__).with_name("dying")
CASES = Path(__file__).parents[2] / "cases"

CUT = (
    "grid.area.lon=[5.5, 7.5]", "grid.area.lat=[50.5, 52]", "time.length=2 h", "time.spinup=1 h", "time.step=60 s",
    "restart.every=30 min", "output.0.every=20 min",
)  # fmt: skip
"""The Ruhr area, with the chemistry, weather and emissions of the whole case."""


def environment(**extra: str) -> dict[str, str]:
    """Return the environment of an ordinary shell: no debugging, a terminal of usual width."""
    variables = {
        key: value for key, value in os.environ.items() if key not in ("AIRSHED_DEBUG", "COLUMNS", "AIRSHED_DIE")
    }
    return {**variables, **extra}


def command(*arguments: str | Path, overrides: Sequence[str] = ()) -> list[str]:
    """Return the command line of the program."""
    return [python(), "-m", "airshed", *argument_list(*arguments, overrides=overrides)]


def argument_list(*arguments: str | Path, overrides: Sequence[str] = ()) -> list[str]:
    """Return the arguments of the program."""
    return [*map(str, arguments), *(part for override in overrides for part in ("--set", override))]


def airshed(
    *arguments: str | Path,
    overrides: Sequence[str] = (),
    cwd: Path | None = None,
    die: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run the installed program to its end; `die` is the moment of a kill, see dying/sitecustomize.py."""
    return subprocess.run(
        command(*arguments, overrides=overrides), capture_output=True, text=True, cwd=cwd,
        env=environment(**(dying(die) if die else {})), check=False,
    )  # fmt: skip


def dying(moment: str) -> dict[str, str]:
    """Return the variables that end or pause the installed program at a moment, see dying/sitecustomize.py."""
    path = os.pathsep.join([str(DYING), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"AIRSHED_DIE": moment, "PYTHONPATH": path}


def airshed_here(*arguments: str | Path, overrides: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run the program in this process, which avoids the start of Python."""
    line = argument_list(*arguments, overrides=overrides)
    result = CliRunner().invoke(app, line)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return subprocess.CompletedProcess(line, result.exit_code, result.stdout, result.stderr)


def run_here(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the small part of the case in this process."""
    return airshed_here("run", "west-europe", "--output", folder, *arguments, overrides=CUT)


def run(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the small part of the case into a folder."""
    return airshed("run", "west-europe", "--output", folder, *arguments, overrides=CUT, **options)


def contents(path: Path) -> dict[str, bytes]:
    """Return the bits of every variable of a netCDF file."""
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        return {name: np.ascontiguousarray(variable[...]).tobytes() for name, variable in file.variables.items()}


def budgets(folder: Path) -> Mapping[str, Any]:
    """Return the budgets in a run's summary with all digits."""
    tables = json.loads((folder / "summary.json").read_text())["tables"]
    found = {table["title"]: table["rows"] for table in tables if table["title"].startswith("Budgets")}
    assert len(found) == 2
    return found


def difference(folder: Path, reference: Path) -> str:
    """Return the differences of two finished runs: "" where output and budgets have the same bits."""
    result, expected = contents(folder / "output.nc"), contents(reference / "output.nc")
    assert set(result) == set(expected)
    wrong = [name for name in expected if result[name] != expected[name]]
    return ", ".join(wrong) or ("" if budgets(folder) == budgets(reference) else "budgets")


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an undisturbed run on one thread."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    done = run(folder, "--threads", "1")
    assert done.returncode == 0, done.stderr
    return folder
