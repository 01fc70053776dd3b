"""Worker: runs trials in this process, one after another, and replies to each with a line of JSON.

`pool` starts it, and ends it where it hangs. Its replies use the descriptor of its original output; the output of
trials goes to files.
"""

import ctypes
import faulthandler
import json
import os
import resource
import shutil
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from validation.fuzz.areas import base_of, trial_of
from validation.fuzz.judge import judge
from validation.fuzz.trial import Answer, Trial, Verdict

ADDRESS_SPACE: Final = 8 << 30
"""Limit of address space [bytes], larger than a trial needs; larger requests get a MemoryError."""


class Worker:
    """Runner of trials in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bases: dict[str, str] = {}

    def make(self, seed: int, index: int, keep: bool = False) -> tuple[Trial, Answer, Verdict]:
        """Run and judge the trial of a seed and a number; its files are removed unless `keep`."""
        place = self._folder / f"{seed}-{index}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        trial = trial_of(seed, index, place)
        answer = perform(trial, place)
        verdict, _ = judge(trial, answer, self._digest(trial.base))
        if not keep:
            shutil.rmtree(place, ignore_errors=True)
        return trial, answer, verdict

    def _digest(self, name: str) -> str:
        """Return the fingerprint of a sound input's results, computed on first use."""
        if name and name not in self._bases:
            place = self._folder / f"base-{name}-{os.getpid()}"
            place.mkdir(parents=True)
            trial = base_of(name, place)
            verdict, results = judge(trial, answer := perform(trial, place))
            if verdict.outcome != "accepted":
                raise RuntimeError(f"the sound input {name} is not accepted: {verdict} {answer.stderr}")
            self._bases[name] = results.digest()
            shutil.rmtree(place, ignore_errors=True)
        return self._bases.get(name, "")


def perform(trial: Trial, place: Path) -> Answer:
    """Perform a trial as a user would, and return the response."""
    action: Callable[[], Any] = trial.call or (lambda: _command(trial.arguments))
    arrays, code, defect, where = None, 0, "", ""
    before = _reset_peak()
    home = Path.cwd()
    os.chdir(trial.folder)
    try:
        with _OutputCapture(place) as captured:
            try:
                found = action()
                arrays = found if isinstance(found, dict) else None
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException as error:
                if trial.call is not None and _is_refusal(error):
                    code = 2
                    print(f"airshed: error: {error}", file=sys.stderr)
                else:
                    code, defect, where = 1, _defect(error), _place(error)
    finally:
        os.chdir(home)
    return Answer(code, captured.stdout, captured.stderr, defect, where, max(0, _peak() - before), arrays)


def _command(arguments: list[str]) -> None:
    from airshed.cli.program import app

    app(prog_name="airshed", args=arguments)


def _is_refusal(error: BaseException) -> bool:
    from airshed.core.errors import AirshedError

    return isinstance(error, AirshedError)


def _defect(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()[:500]


def _place(error: BaseException) -> str:
    """Return the type of an error and its innermost location in the model."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/airshed/" in frame.filename]
    inner = frames[-1] if frames else None
    where = f"{inner.filename.rsplit('/airshed/', 1)[1]}:{inner.name}" if inner else "?"
    return f"{type(error).__name__} in {where}"


class _OutputCapture:
    """Redirects descriptors 1 and 2 to files, including output of C libraries."""

    def __init__(self, place: Path) -> None:
        self._paths = [place / ".stdout", place / ".stderr"]
        self.stdout = self.stderr = ""

    def __enter__(self) -> "_OutputCapture":
        self._saved = [os.dup(1), os.dup(2)]
        for number, path in enumerate(self._paths, 1):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
            os.close(file)
        return self

    def __exit__(self, *error: object) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for number, saved in enumerate(self._saved, 1):
            os.dup2(saved, number)
            os.close(saved)
        self.stdout, self.stderr = (
            path.read_bytes()[:200_000].decode("utf-8", "replace") if path.exists() else "" for path in self._paths
        )


def _reset_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _peak() -> int:
    return _memory("VmHWM")


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def main() -> None:
    """Read lines of `seed index`, and reply to each."""
    folder = Path(sys.argv[1])
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: the worker ends with the harness, even in a hang
    answers = os.fdopen(os.dup(1), "w")
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    stacks = (folder / f"stack-{os.getpid()}").open("w")
    faulthandler.register(signal.SIGUSR1, file=stacks)
    faulthandler.enable(stacks)
    sys.stdout.reconfigure(encoding="utf-8", errors="strict")  # type: ignore[union-attr]
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)
    for category in (RuntimeWarning, UserWarning, FutureWarning, SyntaxWarning):
        warnings.simplefilter("always", category)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    worker = Worker(folder)
    for line in sys.stdin:
        seed, index = map(int, line.split())
        trial, _, verdict = worker.make(seed, index)
        reply = {
            "outcome": verdict.outcome, "detail": verdict.detail[:600], "group": verdict.group,
            "mutation": trial.mutation[:300], "kind": trial.kind,
        }  # fmt: skip
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
