"""Cases of models that are not of air, run by the installed program, which finds them as those of another package."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.started import python

from airshed.runtime import registry
from airshed.runtime.registry import ModelKind

MODELS, DYING = Path(__file__).with_name("models"), Path(__file__).parents[2] / "e2e" / "dying"
CASE = """
title = "Not of air"
model = "{model}"
[time]
start = 2022-08-31T00:00:00Z
length = "{length}"
[[output]]
every = "{every}"
[restart]
every = "{every}"
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs `airshed ARGUMENTS` in a folder with lorenz.toml and row.toml; `die` kills it."""
    return run_in(tmp_path)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that returns the folder of a run of a case on one rank, which runs with the first call."""
    folders: dict[tuple[str, ...], Path] = {}

    def folder_of(case: str, *options: str) -> Path:
        key = (case, *options)
        if key not in folders:
            folders[key] = tmp_path_factory.mktemp("undisturbed") / "run"
            done = run_in(folders[key].parent)("run", case, "--output", "run", *options)
            assert (done.returncode, done.stderr) == (0, "")
        return folders[key]

    return folder_of


def run_in(folder: Path) -> Run:
    """Write the cases into a folder, and return a function that runs `airshed ARGUMENTS` there."""
    (folder / "lorenz.toml").write_text(CASE.format(model="lorenz", length="40 s", every="1 s"))
    (folder / "row.toml").write_text(CASE.format(model="row", length="1 h", every="10 min"))

    def airshed(*arguments: str, die: str = "never - 0") -> subprocess.CompletedProcess[str]:
        given = filter(None, [os.environ.get("PYTHONPATH")])
        path = os.pathsep.join(map(str, (MODELS, DYING, *given)))
        environment = {**os.environ, "PYTHONPATH": path, "AIRSHED_DIE": die}
        program = [python(), "-m", "airshed", *arguments]
        return subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return airshed


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModelKind]:
    """Return a function that registers a model of these tests and returns its kind."""
    monkeypatch.syspath_prepend(MODELS)
    monkeypatch.setattr(registry, "_MODELS", dict(registry._MODELS))

    def known(name: str) -> ModelKind:
        registry.register(name, f"{name}:KIND")
        return registry.model_kind(name)

    return known
