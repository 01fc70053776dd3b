"""Measure the CUDA backend on the GPU of this machine, in at most eight minutes.

    python -m validation.cuda.measure --out DIR                  measure.json and measure.log
    python -m validation.cuda.measure --out DIR --shim           the same parts, tiny, through the shim on the CPU
    python -m validation.cuda.measure --out DIR --only step day  some parts

Each part is a process of its own with a time limit, so that a failed one does not end the others. The results are
written after each part. The status is 1 if a part fails or results differ from those of the CPU.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

from airshed.core.atomic import write_whole
from airshed.kernels.backends.cuda.device import SHIM_VARIABLE

TOTAL: Final = 465.0
"""Seconds after which nothing runs any longer."""


@dataclass(frozen=True)
class Part:
    """A part of the measurement: a function of ``parts.py``, its time limit [s], and a program that runs it."""

    name: str
    limit: float
    function: str
    under: tuple[str, ...] = ()


def _sanitizer(tool: str) -> tuple[str, ...]:
    return "compute-sanitizer", "--tool", tool, "--error-exitcode", "1"


PARTS: Final = (
    Part("facts", 60.0, "facts"),
    Part("compile", 150.0, "compile"),
    Part("parity", 120.0, "parity"),
    Part("step", 200.0, "step"),
    Part("chemistry", 120.0, "chemistry"),
    Part("day", 120.0, "day"),
    Part("memcheck", 60.0, "small", _sanitizer("memcheck")),
    Part("racecheck", 60.0, "small", _sanitizer("racecheck")),
)


@dataclass
class Measurement:
    """Results so far, written to `measure.json` after each part, and the log."""

    out: Path
    log: TextIO
    shim: bool
    results: dict[str, Any]

    def write(self) -> None:
        """Write all results."""
        with write_whole(self.out / "measure.json") as part:
            part.write_text(json.dumps(self.results, indent=1) + "\n", encoding="utf-8")

    def run(self, part: Part, limit: float) -> bool:
        """Run a part for at most `limit` seconds, and add its results; return whether it succeeded."""
        began = time.monotonic()
        if part.under and not shutil.which(part.under[0]):
            self.results["parts"][part.name] = {"skipped": f"{part.under[0]} is not installed"}
            self.write()
            return True
        command = [*part.under, sys.executable, "-m", "validation.cuda.parts", part.function]
        lines, status = self._output([*command, *(["--tiny"] if self.shim else [])], limit)
        found = [json.loads(line) for line in lines if line.startswith("{")]
        record: dict[str, Any] = {"seconds": round(time.monotonic() - began, 1), "results": found}
        if status:
            record["error"] = f"stopped after {limit:.0f} s" if status == -signal.SIGKILL else lines[-1]
        self.results["parts"][part.name] = record
        self.write()
        return status == 0

    def _output(self, command: Sequence[str], limit: float) -> tuple[list[str], int]:
        """Run a program, and end it after `limit` seconds; log and return its lines, and return its status."""
        print("$", *command, file=self.log, flush=True)
        environment = {**os.environ, **({SHIM_VARIABLE: "1"} if self.shim else {})}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(command, **streams, text=True, start_new_session=True, env=environment) as process:
            try:
                output, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
        print(output, file=self.log, flush=True)
        return output.splitlines() or [f"status {process.returncode}"], process.returncode


def measure(out: Path, parts: Sequence[Part], *, shim: bool) -> bool:
    """Run parts until the time is over; return whether all succeeded."""
    began, good = time.monotonic(), True
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "measure.log", "w", encoding="utf-8") as log:
        start = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "shim": shim, "parts": {}}
        measurement = Measurement(out, log, shim, start)
        for part in parts:
            left = TOTAL - (time.monotonic() - began)
            if left < 5.0:
                measurement.results["parts"][part.name] = {"error": "out of time"}
                measurement.write()
                good = False
                continue
            succeeded = measurement.run(part, min(part.limit, left))
            print(part.name, json.dumps(measurement.results["parts"][part.name]), flush=True)
            good = good and succeeded
    return good


def main() -> int:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of measure.json and measure.log")
    parser.add_argument("--shim", action="store_true", help="tiny sizes on the CPU")
    names = [part.name for part in PARTS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="names of parts")
    options = parser.parse_args()
    chosen = [part for part in PARTS if part.name in options.only]
    return 0 if measure(options.out, chosen, shim=options.shim) else 1


if __name__ == "__main__":
    sys.exit(main())
