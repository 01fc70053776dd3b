"""Trials of mutants in a toy checkout of one module, one header and four tests."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.validation.test_mutants import database
from validation.mutants import __main__ as command
from validation.mutants import trial
from validation.mutants.__main__ import control, run
from validation.mutants.python_mutants import Mutant

pytestmark = pytest.mark.standard

SIGN = "def sign(x: float) -> float:\n    return 1.0 if x > 0.0 else 2.0\n"
TESTS = """
import os
from pathlib import Path

import pytest
from airshed.core.sign import sign


@pytest.mark.parametrize("x", [3.0, -3.0], ids=["up - high", "down"])
def test_sign(x):
    assert sign(x) == (1.0 if x > 0.0 else 2.0)


@pytest.mark.thorough
def test_zero():
    assert sign(0.0) == 2.0


def test_header():
    header = Path("src/airshed/core/sign.hpp").read_text()
    assert header == "a + b\\n" or any(Path(os.environ["AIRSHED_CACHE"]).iterdir())
"""
SETTINGS = "[pytest]\npythonpath = src\naddopts = --import-mode=importlib\nmarkers =\n  thorough\n"
PROGRAM = f'#!/bin/sh\nPYTEST_DISABLE_PLUGIN_AUTOLOAD=1 exec {sys.executable} "$@"\n'
RENAMED = """
import pytest
from airshed.core.sign import sign

@pytest.mark.parametrize("x", [sign(3)])
def test_x(x): pass
"""
"""A test whose name depends on its imports."""

DOUBLED = Mutant("src/airshed/core/sign.py", 2, 40, 43, "1.0", "2.0")
EQUAL = Mutant("src/airshed/core/sign.py", 2, 49, 50, ">", ">=")
HEADER = Mutant("src/airshed/core/sign.hpp", 1, 1, 4, " + ", " - ")
CAUGHT_BY = "tests/core/test_sign.py::test_sign[up - high]"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    for name, text in {
        "src/airshed/core/sign.py": SIGN, "src/airshed/core/sign.hpp": "a + b\n", "tests/core/test_sign.py": TESTS,
        "tests/core/test_renamed.py": RENAMED, ".venv/bin/python": PROGRAM,
        "pytest.ini": SETTINGS, "src/airshed/__init__.py": "", "src/airshed/core/__init__.py": "",
    }.items():  # fmt: skip
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / ".venv/bin/python").chmod(0o755)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "toy"]):
        subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)
    return root


def options(place: Path, mutants: list[Mutant], **more: Any) -> argparse.Namespace:
    """Return the options of a run, and write its mutants."""
    lines = [json.dumps(vars(each)) for each in mutants]
    (place.parent / "mutants.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = {
        "mutants": place.parent / "mutants.jsonl", "results": place.parent / "results.jsonl", "markers": "",
        "checkout": place, "coverage": None, "seconds": None, "cpp_tests": (), "limit": 60.0, **more,
    }  # fmt: skip
    return argparse.Namespace(**given)


def results(checkout: Path) -> list[tuple[object, ...]]:
    lines = map(json.loads, (checkout.parent / "results.jsonl").read_text(encoding="utf-8").splitlines())
    return [(line["line"], line["new"], line["caught"], line["by"]) for line in lines]


def test_a_run_reports_the_test_of_each_mutant_restores_the_files_and_continues(checkout: Path) -> None:
    before = {path: path.read_bytes() for path in (checkout / "src").rglob("*.?p*")}
    more = {"markers": "not thorough", "cpp_tests": ["tests/core/test_sign.py"]}
    run(options(checkout, [DOUBLED, EQUAL, HEADER], **more))
    expected = [
        (2, "2.0", True, CAUGHT_BY), (2, ">=", False, ""), (1, " - ", True, "tests/core/test_sign.py::test_header"),
    ]  # fmt: skip
    # EQUAL is caught by the thorough test alone. DOUBLED renames test_x, which does not count as caught.
    assert results(checkout) == expected
    assert {path: path.read_bytes() for path in before} == before
    run(options(checkout, [DOUBLED, EQUAL, HEADER], **more))
    assert results(checkout) == expected


def test_tests_that_a_mutant_renames_are_left_out(checkout: Path, tmp_path: Path) -> None:
    renamed = "tests/core/test_renamed.py::test_x[1.0]"
    coverage = database(tmp_path / "coverage", {DOUBLED.file: {f"{renamed}|run": {2}}})
    run(options(checkout, [DOUBLED], coverage=coverage))
    assert results(checkout) == [(2, "2.0", False, "")]


def test_a_control_finds_tests_that_fail_without_a_mutant(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    caught = [{**vars(DOUBLED), "caught": True, "by": by} for by in (CAUGHT_BY, "exit code 4")]
    path = checkout.parent / "results.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in caught), encoding="utf-8")
    control(options(checkout, []))
    assert capsys.readouterr().out.splitlines() == [
        "1 tests that caught a mutant ran without it, 0 of them failed",
        "not a test of this checkout: exit code 4 (1 mutants)",
    ]
    tests = checkout / "tests/core/test_sign.py"
    tests.write_text(TESTS.replace("== (1.0", "== (3.0"), encoding="utf-8")
    with pytest.raises(SystemExit) as refusal:
        control(options(checkout, []))
    assert refusal.value.code == (
        f"{CAUGHT_BY} fails without a mutant, and caught src/airshed/core/sign.py:2 `1.0` -> `2.0`"
    )


def test_files_are_restored_where_the_time_or_the_run_ends(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def endless(*arguments: object, **_: object) -> None:
        seen.append((checkout / DOUBLED.file).read_text() != SIGN)
        raise subprocess.TimeoutExpired("pytest", 1.0) if len(seen) == 1 else KeyboardInterrupt

    trials = trial.Trials(options(checkout, []))
    monkeypatch.setattr(trials, "_pytest", endless)
    assert trials.outcome(DOUBLED)["by"] == "time ran out"
    with pytest.raises(KeyboardInterrupt):
        trials.outcome(DOUBLED)
    assert seen == [True, True]
    assert (checkout / DOUBLED.file).read_text() == SIGN


def test_a_program_ends_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()

    class Impatient(subprocess.Popen):  # type: ignore[type-arg]
        def wait(self, timeout: float | None = None) -> int:
            if timeout is None:
                return super().wait()
            os.close(write)
            assert os.read(read, 8) == b"started\n"
            raise subprocess.TimeoutExpired("sh", timeout)

    monkeypatch.setattr(trial.subprocess, "Popen", Impatient)
    script = "(echo started; sleep 20; echo still there) & wait"
    with pytest.raises(subprocess.TimeoutExpired):
        trial._run(["sh", "-c", script], tmp_path, os.environ, write, 1.0)
    assert os.read(read, 1) == b""  # nothing that could write is left
    os.close(read)


def test_checkouts_whose_files_are_changed_or_in_use_or_that_have_no_tests_are_refused(checkout: Path) -> None:
    with pytest.raises(SystemExit, match="clone it"):
        run(options(checkout, [], checkout=command.ROOT))
    trials = trial.Trials(options(checkout, []))
    with pytest.raises(SystemExit, match="another run"):
        run(options(checkout, []))
    del trials
    with pytest.raises(SystemExit, match=r"there is no tests/core/test_cpp\.py::test_a$"):
        run(options(checkout, [], cpp_tests=["tests/core", "tests/core/test_cpp.py::test_a"]))
    (checkout / "pytest.ini").write_text("[pytest]\nno-such option", encoding="utf-8")
    with pytest.raises(SystemExit, match="cannot collect"):
        run(options(checkout, []))
    (checkout / DOUBLED.file).write_text(DOUBLED.apply(SIGN), encoding="utf-8")
    with pytest.raises(SystemExit, match="src has uncommitted changes"):
        run(options(checkout, []))


def test_a_run_restores_the_file_where_it_is_terminated(checkout: Path) -> None:
    (checkout / "tests/core/test_sign.py").write_text(
        "import os, signal\nfrom airshed.core.sign import sign\ndef test_a():\n"
        "    if sign(1) == 2.0: os.kill(int(os.environ['STARTER']), signal.SIGTERM); signal.pause()\n"
    )
    options(checkout, [DOUBLED])
    mutants, results = (checkout.parent / name for name in ("mutants.jsonl", "results.jsonl"))
    arguments = ["run", mutants, "--checkout", checkout, "--results", results]
    shell = 'export STARTER=$$; exec "$@"'  # the shell becomes the run
    program = ["sh", "-c", shell, "sh", sys.executable, "-m", "validation.mutants", *arguments]
    done = subprocess.run(program, cwd=command.ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "terminated\n")
    assert (checkout / DOUBLED.file).read_text() == SIGN
    assert not results.exists()
