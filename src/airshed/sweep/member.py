"""Start, monitoring and end of the process of one member of a sweep, on this machine or on a Dask worker.

The process is `python -m airshed.sweep.worker`. The end of its standard input stops the run within a few steps, with
valid files, even if this process is killed.
"""

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal

State = Literal["finished", "failed", "stopped"]

STOPPED: Final = 130
"""Exit code of a member that was stopped."""

_POLL: Final = 0.05
"""Seconds between two polls of a process; a run takes at least seconds."""


@dataclass(frozen=True)
class Task:
    """Description of one member run, which can be sent to another machine with the same file system.

    number             of the member
    case, overrides    the case and all its settings; paths are relative to ``directory``
    folder             run folder; None only builds the model, which compiles its kernels
    log                file to which messages are appended
    stop               file that stops the member when it appears
    """

    number: int
    case: str
    overrides: tuple[str, ...]
    directory: str
    folder: str | None
    log: str
    stop: str
    allow_code: bool = False
    accept_changed_inputs: bool = False


@dataclass(frozen=True)
class Outcome:
    """Outcome of a member; ``message`` is the reason of a failure."""

    number: int
    state: State
    message: str = ""
    seconds: float = 0.0


def run_member(task: Task) -> Outcome:
    """Run a member in a process of its own, and return how it ended."""
    began = time.monotonic()
    if Path(task.stop).exists():
        return Outcome(task.number, "stopped")
    with Path(task.log).open("ab") as log:
        process = _start(task, log)
        try:
            answer = _wait(process, Path(task.stop))
        except BaseException:
            process.kill()
            process.wait()
            raise
    return _outcome(task, process.returncode, answer, time.monotonic() - began)


def _start(task: Task, log: IO[bytes]) -> "subprocess.Popen[bytes]":
    """Start the process in a process group of its own, so that Ctrl-C does not signal it directly."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "airshed.sweep.worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=task.directory, process_group=0,
    )  # fmt: skip
    assert process.stdin is not None
    text = json.dumps({key: value for key, value in vars(task).items() if key not in ("log", "stop", "directory")})
    with suppress(BrokenPipeError):
        process.stdin.write(text.encode() + b"\n")
        process.stdin.flush()
    return process


def _wait(process: "subprocess.Popen[bytes]", stop: Path) -> str:
    """Wait for the end of a process, and stop it when the file ``stop`` appears; return its last line."""
    assert process.stdin is not None
    assert process.stdout is not None
    while process.poll() is None:
        if stop.exists():
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL)
    lines = process.stdout.read().decode(errors="replace").splitlines()
    for stream in (process.stdin, process.stdout):
        with suppress(BrokenPipeError):
            stream.close()
    return lines[-1] if lines else ""


def _outcome(task: Task, code: int, answer: str, seconds: float) -> Outcome:
    """Return how a member ended, from the exit code and the last line of its process."""
    if code == 0:
        return Outcome(task.number, "finished", "", seconds)
    if code == STOPPED:
        return Outcome(task.number, "stopped", "", seconds)
    if code < 0:
        advice = "; there may not be enough memory" if code == -signal.SIGKILL else ""
        return Outcome(task.number, "failed", f"it was ended by {_name(-code)}{advice}", seconds)
    with suppress(ValueError, TypeError, KeyError):
        report: dict[str, Any] = json.loads(answer)
        return Outcome(task.number, "failed", str(report["message"]), seconds)
    return Outcome(task.number, "failed", f"it ended with exit code {code}; see {task.log}", seconds)


def _name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
