"""Process of one member of a sweep: `python -m airshed.sweep.worker`, with its task as a line of JSON on stdin.

The exit code is 0 for a finished run and 130 for a stopped one; otherwise stdout has a line of JSON with the error
message. The end of stdin stops the run, which then writes a restart and can be resumed.
"""

import json
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from airshed.core.errors import AirshedError
from airshed.sweep.member import STOPPED


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


def read_line(file: int) -> str:
    """Return the first line of a file without reading ahead."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(file, 1)):
        line += byte
    return line.decode()


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
            for notice in simulation.notices:
                print(notice, file=sys.stderr)
            simulation.run()
            return simulation.seconds >= simulation.end
    except FinishedRunError:
        return True


def main() -> int:
    """Run the task on standard input; return the exit code."""
    line = read_line(0)
    if not line:
        return STOPPED
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
