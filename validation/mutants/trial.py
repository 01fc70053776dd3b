"""Runs of the tests of a checkout on a mutant."""

import argparse
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from validation.mutants.python_mutants import Mutant
from validation.mutants.selection import Coverage, batches, read_seconds, runs_at_import

TIMEOUT = 4.0
"""Wall time of a batch of tests relative to the limit of their seconds. A mutant that takes longer counts as caught."""

PASSED, NOTHING_SELECTED = 0, 5
"""Exit codes of pytest for tests that pass."""

_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """Exit code and output of pytest."""

    code: int
    text: str


class Trials:
    """Trials in a checkout, whose files are restored after each.

    Raises SystemExit where another run uses the checkout, or where it has changes, such as a mutant of a killed run. It
    also does so where tests cannot be collected or test files do not exist.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self._checkout = options.checkout.resolve()
        self._lock = os.open(self._checkout, os.O_RDONLY)
        self._markers = ["-m", options.markers] if options.markers else []
        self._cpp_tests: Collection[str] = options.cpp_tests
        self._limit: float = options.limit
        self._coverage = Coverage(options.coverage) if options.coverage else None
        self._seconds = read_seconds(options.seconds.read_text(encoding="utf-8")) if options.seconds else {}
        self._require_no_other_run()
        self._require_no_changes()
        if missing := [name for name in self._cpp_tests if not (self._checkout / name.partition("::")[0]).exists()]:
            sys.exit(f"{self._checkout}: there is no {', '.join(missing)}")
        self.known = self._collected()

    def __del__(self) -> None:
        os.close(self._lock)

    def outcome(self, mutant: Mutant) -> dict[str, object]:
        """Return whether the tests caught a mutant, which test did, and after how many seconds."""
        began, by = time.monotonic(), ""
        with self._changed(mutant), tempfile.TemporaryDirectory() as cache:
            variables = {} if mutant.file.endswith(".py") else {"AIRSHED_CACHE": cache}
            for batch in self._batches(mutant):
                by = self._failure(batch, variables)
                if by:
                    break
        return {"caught": bool(by), "by": by, "seconds": round(time.monotonic() - began, 1)}

    def failures(self, tests: Collection[str]) -> set[str]:
        """Return the tests among some that fail in the unchanged checkout."""
        if not tests:
            return set()
        answer = self._pytest("-q", "-rfE", *self._markers, *tests)
        if answer.code not in (PASSED, NOTHING_SELECTED, 1):
            return set(tests)
        return {_longest_start(line, tests) for line in _FAILED.findall(answer.text)}

    def _batches(self, mutant: Mutant) -> list[list[str]]:
        """Return the tests to run on a mutant, in their order."""
        if not mutant.file.endswith(".py"):
            return [[each] for each in self._cpp_tests]
        near = f"tests/{Path(mutant.file).parts[2]}/"
        tests: set[str] = set()
        if self._coverage:
            text = (self._checkout / mutant.file).read_text(encoding="utf-8")
            line = None if runs_at_import(text, mutant.line) else mutant.line
            tests = self._coverage.tests_of(mutant.file, line) & self.known
        tests = tests or {name for name in self.known if name.startswith(near)}
        return batches(tests, self._seconds, near, self._limit)

    def _failure(self, tests: list[str], variables: Mapping[str, str]) -> str:
        """Return the first test that fails, or the expiry of the time limit; empty if all pass."""
        try:
            arguments = ("-x", "-q", "-rfE", *self._markers, *tests)
            answer = self._pytest(*arguments, timeout=TIMEOUT * self._limit, variables=variables)
        except subprocess.TimeoutExpired:
            return "time ran out"
        if answer.code in (PASSED, NOTHING_SELECTED):
            return ""
        if found := _FAILED.search(answer.text):
            return _longest_start(found[1], self.known)
        # A mutant may rename the parameters of a test, which a run of all tests does not detect.
        if "ERROR: not found: " in answer.text:
            present = self._collected(*{name.partition("::")[0] for name in tests})
            left = [name for name in tests if name in present]
            if len(left) < len(tests):
                return self._failure(left, variables) if left else ""
        return f"exit code {answer.code}"

    def _collected(self, *files: str) -> set[str]:
        """Return the node ids of the tests of some files, or of all; tests that cannot be collected are left out."""
        answer = self._pytest("--collect-only", "-q", *self._markers, *files)
        if answer.code not in (PASSED, NOTHING_SELECTED) and not files:
            sys.exit(f"{self._checkout}: pytest cannot collect the tests:\n{answer.text[-2000:]}")
        return {line for line in answer.text.splitlines() if "::" in line}

    def _require_no_other_run(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until this object or process ends
        except BlockingIOError:
            sys.exit(f"{self._checkout}: another run plants mutants there")

    def _require_no_changes(self) -> None:
        command = ["git", "-C", str(self._checkout), "status", "--porcelain", "--untracked-files=no", "src"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or done.stdout:
            sys.exit(f"{self._checkout}: src has uncommitted changes, so tests would not run on a single mutant:\n"
                     f"{done.stdout}{done.stderr}")  # fmt: skip

    def _pytest(
        self, *arguments: str, timeout: float | None = None, variables: Mapping[str, str] | None = None
    ) -> Answer:
        """Run pytest in the checkout; node ids are passed in a file, since a command line cannot hold a thousand."""
        command = [str(self._checkout / ".venv/bin/python"), "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider"]
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AIRSHED_", "PYTEST_", "PYTHONPATH"))
        }
        with (
            tempfile.NamedTemporaryFile("w", suffix=".txt") as names,
            tempfile.TemporaryFile("w+", errors="replace") as output,
        ):
            names.write("\n".join(each for each in arguments if "::" in each))
            names.flush()
            command += [each for each in arguments if "::" not in each]
            command += [f"@{names.name}"] if any("::" in each for each in arguments) else []
            code = _run(command, self._checkout, {**inherited, **(variables or {})}, output, timeout)
            output.seek(0)
            return Answer(code, output.read())

    @contextmanager
    def _changed(self, mutant: Mutant) -> Iterator[None]:
        path = self._checkout / mutant.file
        text = path.read_bytes()
        try:
            path.write_bytes(mutant.apply(text.decode()).encode())
            shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)  # Python overlooks a change within a second
            yield
        finally:
            path.write_bytes(text)
            shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)


def _run(
    command: list[str], folder: Path, environment: Mapping[str, str], output: object, timeout: float | None
) -> int:
    """Run a program and return its exit code; end it with its children on timeout or at the end of this run."""
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(timeout)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def _longest_start(text: str, names: Collection[str]) -> str:
    """Return the longest name that a line of pytest starts with, or the part before " - ", which names may contain."""
    return max((name for name in names if text.startswith(name)), key=len, default=text.partition(" - ")[0])
