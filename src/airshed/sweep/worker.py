"""The process of one member of a sweep: `python -m airshed.sweep.worker`, with its task as a line of JSON on stdin.

It ends with 0 when the run is finished, with 130 when it was stopped, else with a line of JSON on stdout that holds the
message. The end of stdin stops it: the run then writes a restart, and can be resumed.
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


class Lifeline:
    """Watches standard input in a thread, and stops the run at its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._simulation: Any = None
        self.ended = False

    def watch(self, file: int) -> None:
        """Wait for the end of a file; before the run has begun, end the process at once."""
        while os.read(file, 1024):
            pass
        with self._lock:
            self.ended = True
            if self._simulation is None:
                os._exit(STOPPED)
            self._simulation.request_stop()

    def hold(self, simulation: Any) -> None:
        """Stop this simulation, rather than the process, from now on."""
        with self._lock:
            self._simulation = simulation


def read_line(file: int) -> str:
    """Return the first line of a file, and read no further."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(file, 1)):
        line += byte
    return line.decode()


def run(task: dict[str, Any], lifeline: Lifeline) -> bool:
    """Run a member, or build its model alone; return whether it is finished."""
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
            lifeline.hold(simulation)
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
    lifeline = Lifeline()
    threading.Thread(target=lifeline.watch, args=(0,), daemon=True).start()
    try:
        return 0 if run(json.loads(line), lifeline) else STOPPED
    except Exception as error:  # whatever it is, it is the message of this member
        print(error, file=sys.stderr) if isinstance(error, AirshedError) else traceback.print_exc()
        message = str(error) or type(error).__name__
        print(json.dumps({"message": message}), flush=True)
        return 1


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
