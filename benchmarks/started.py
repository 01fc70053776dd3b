"""Starts ranks that measure, and returns what they found: ``python -m benchmarks.started MODULE REQUEST`` is one."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from airshed.core.errors import AirshedError
from airshed.parallel.communicator import world
from airshed.parallel.environment import REQUESTED_RANKS
from airshed.parallel.failure import failing_together
from airshed.parallel.mpiexec import find_mpiexec


def answer_of(module: str, request: Mapping[str, Any], ranks: int) -> Any:
    """Return what the function ``measured`` of a module finds on so many ranks for a request, as JSON has it.

    Raises AirshedError where that fails.
    """
    command = [sys.executable, "-m", "benchmarks.started", module, json.dumps(request)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if ranks > 1:
        mpiexec = find_mpiexec()
        command = [*mpiexec.command(ranks), *command]
        environment |= {**mpiexec.environment(), REQUESTED_RANKS: str(ranks)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        said = [line for line in lines if not line.startswith("Abort(")]  # MPI, after a rank
        raise AirshedError(f"the ranks that measure failed: {(said or lines)[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def main(module: str, request: str) -> None:
    """Measure on one of these ranks; the first one prints what was found as JSON. An error of one rank ends all."""
    measured, ranks = import_module(module).measured, world()
    with failing_together(ranks, lambda error: (str(error) or type(error).__name__, 1)):
        try:
            found = measured(json.loads(request), ranks)
        except AirshedError as error:
            sys.exit(str(error))
    if ranks.rank == 0:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
