"""The golden run: 16 x 16 columns of the small case for two hours, with output, restarts, a summary and a gradient.

It runs once, with the libraries of tests/builds.py, and is stored with them until the sources change. Tests that only
read a run use the fixture `golden`; tests that change files copy the folder.
"""

import os
import shutil
from pathlib import Path
from typing import Any, Final

from tests.laws.cases import small_case

SECTIONS: Final[dict[str, Any]] = {
    "title": "A golden run",
    "grid": {"area": {"lon": [-30.0, -22.0], "lat": [38.0, 46.0]}},
    "time": {"length": "2 h", "spinup": "20 min"},
    "meteorology": {"eastward": "6 m/s", "northward": "2 m/s"},
    "output": [
        {"name": "output", "fields": "all", "every": "1 h"},
        {"name": "ground", "fields": ["O3", "NO2"], "every": "20 min", "levels": "ground"},
    ],
    "restart": {"every": "30 min"},
}
RECEPTOR: Final = {"species": "O3", "lon": -27.25, "lat": 41.25, "time": "2 h"}
"""Receptor of the gradient: ozone at the ground, downwind of the chimney."""


def folder() -> Path:
    """Return the folder of the golden run, with ``case/`` (case.toml), ``run/``, and ``sensitivity.nc``."""
    return Path(os.environ["AIRSHED_CACHE"]) / "golden"


def make() -> None:
    """Run the case and its gradient, and replace earlier ones."""
    from typer.testing import CliRunner

    from airshed.case.toml import write_toml
    from airshed.cli.program import app
    from airshed.inverse import sensitivity

    made = folder().with_name("golden.new")
    shutil.rmtree(made, ignore_errors=True)
    (made / "case").mkdir(parents=True)
    case = small_case(made / "case", **SECTIONS)
    (made / "case" / "case.toml").write_text(write_toml(case.to_dict()), encoding="utf-8")
    done = CliRunner().invoke(app, ["run", str(made / "case"), "--allow-code", "-q", "--output", str(made / "run")])
    assert done.exit_code == 0, done.output
    sensitivity(case, RECEPTOR).to_netcdf(made / "sensitivity.nc")
    shutil.rmtree(folder(), ignore_errors=True)
    made.rename(folder())
