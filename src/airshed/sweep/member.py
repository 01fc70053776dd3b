"""Start, monitoring and end of the process of one member of a sweep, on this machine or on a Dask worker.

The process is `python -m airshed.sweep.member`. The end of its standard input stops the run within a few steps, with
valid files, even if this process is killed.

Its task is a line of JSON on standard input. The exit code is 0 for a finished run and 130 for a stopped one; otherwise
standard output has a line of JSON with the error message.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal

from airshed.core.errors import AirshedError

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
        [sys.executable, "-P", "-m", "airshed.sweep.member"],
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
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return Outcome(task.number, "failed", f"it was ended by {name}{advice}", seconds)
    with suppress(ValueError, TypeError, KeyError):
        report: dict[str, Any] = json.loads(answer)
        return Outcome(task.number, "failed", str(report["message"]), seconds)
    return Outcome(task.number, "failed", f"it ended with exit code {code}; see {task.log}", seconds)


class StopMonitor:
    """Monitor of standard input on a thread; its end stops the run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._simulation: Any = None
        self.ended = False

    def watch(self, file: int) -> None:
        """Wait for the end of a file, then stop the run; before the run has begun, exit at once."""
        while os.read(file, 1024):
            pass
        with self._lock:
            self.ended = True
            if self._simulation is None:
                os._exit(STOPPED)
            self._simulation.request_stop()

    def register(self, simulation: Any) -> None:
        """Set the simulation to stop in place of the process."""
        with self._lock:
            self._simulation = simulation


def run(task: dict[str, Any], monitor: StopMonitor) -> bool:
    """Run a member, or only build its model; return whether it is finished."""
    from airshed import Simulation, load_case
    from airshed.io.run_state import FinishedRunError

    case = load_case(task["case"], task["overrides"])
    case = case.allowing_code() if task["allow_code"] else case
    if task["folder"] is None:
        Simulation(case).close()
        return True
    folder = Path(task["folder"])
    try:
        with Simulation(
            case, output=folder, resume=folder.exists(), accept_changed_inputs=task["accept_changed_inputs"]
        ) as simulation:
            monitor.register(simulation)
            simulation.run()
            return simulation.seconds >= simulation.end
    except FinishedRunError:
        return True


def main() -> int:
    """Run the task on standard input; return the exit code."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):  # the first line alone, without reading ahead
        line += byte
    if not line:
        return STOPPED
    logging.basicConfig(format="%(message)s", force=True)  # notices go to the log, whatever this process has imported
    monitor = StopMonitor()
    threading.Thread(target=monitor.watch, args=(0,), daemon=True).start()
    try:
        return 0 if run(json.loads(line), monitor) else STOPPED
    except Exception as error:  # any error becomes the message of this member
        print(error, file=sys.stderr) if isinstance(error, AirshedError) else traceback.print_exc()
        message = str(error) or type(error).__name__
        print(json.dumps({"message": message}), flush=True)
        return 1


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
