"""Supervision of a worker: sends it trials, ends it where one hangs, and starts a new one."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

HANGS: Final = 20.0
"""Processor time [s] of a trial that counts as a hang; only trials with compilation need more than a tenth of it."""

_WAITS: Final = 8.0
"""Factor of the wall time, for a trial that waits without computing, or on a busy machine."""

_RENEWED: Final = 300
"""Trials after which a worker is replaced, so that leaks do not accumulate."""


@dataclass
class Pool:
    """Single worker at a time, in ``folder``; ``command`` starts one, with the folder as last argument."""

    folder: Path
    command: list[str] = field(default_factory=lambda: [sys.executable, "-m", "validation.fuzz.worker"])
    limit: float = HANGS

    def __post_init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._made = 0

    def __enter__(self) -> "Pool":
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def ask(self, seed: int, index: int) -> dict[str, Any]:
        """Return the worker's reply; for a trial that ends it or hangs, the corresponding outcome."""
        if self._process is None or self._made >= _RENEWED:
            self._end()
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        self._made += 1
        begun, used = time.monotonic(), _processor_time(process.pid)
        process.stdin.write(f"{seed} {index}\n".encode())
        process.stdin.flush()
        while not select.select([process.stdout], [], [], 0.2)[0]:
            spent = _processor_time(process.pid) - used
            if spent > self.limit or time.monotonic() - begun > _WAITS * self.limit:
                return self._hangs(process, spent)
        line = process.stdout.readline()
        if line:
            reply: dict[str, Any] = json.loads(line)
            return reply
        code = process.wait()
        self._end()
        if "validation/fuzz" in (errors := (self.folder / "errors").read_text(errors="replace")):
            return {"outcome": "broken", "detail": errors[-1500:], "mutation": "unknown"}
        ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return {"outcome": "killed", "detail": ended, "group": _inner(self._stack(process.pid)) or ended}

    def _hangs(self, process: "subprocess.Popen[bytes]", spent: float) -> dict[str, Any]:
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        stack = self._stack(process.pid)
        self._end()
        return {
            "outcome": "hang",
            "detail": f"after {spent:.0f} s of processor time: {stack.rsplit('Current thread', 1)[-1][:300]}",
            "group": _inner(stack),
        }

    def _stack(self, pid: int) -> str:
        path = self.folder / f"stack-{pid}"
        return path.read_text(errors="replace") if path.exists() else ""

    def _start(self) -> None:
        self._made = 0
        with (self.folder / "errors").open("wb") as errors:
            self._process = subprocess.Popen(
                [*self.command, str(self.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                start_new_session=True, env=environment(),
            )  # fmt: skip

    def _end(self) -> None:
        if (process := self._process) is not None:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with suppress(BrokenPipeError):
                    pipe.close()
            process.wait()
            self._process = None


def environment() -> dict[str, str]:
    """Return the environment of an ordinary shell, with the kernel cache of the tests."""
    checkout = Path(__file__).parents[2]
    variables = {key: value for key, value in os.environ.items() if key not in ("AIRSHED_DEBUG", "COLUMNS")}
    paths = [os.environ.get("PYTHONPATH", ""), str(checkout)]
    variables |= {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    return {"AIRSHED_CACHE": str(checkout / ".kernel_cache")} | variables


def _processor_time(pid: int) -> float:
    """Return the processor time [s] of a process and of its finished children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _inner(stack: str) -> str:
    """Return the innermost location in the model in a stack written by faulthandler."""
    current = stack.rsplit("Current thread", 1)[-1]
    found = re.search(r'/airshed/([\w/]+\.py)", line \d+ in (\S+)', current)
    return f"{found[1]}:{found[2]}" if found else ""
