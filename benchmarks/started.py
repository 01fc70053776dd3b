"""Start ranks that measure, and return their results: ``python -m benchmarks.started MODULE REQUEST`` is one rank."""

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
    """Return the result of the function ``measured`` of a module on a number of ranks, for a request, as JSON.

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
        own = [line for line in lines if not line.startswith("Abort(")]  # without the message of MPI
        raise AirshedError(f"the measuring ranks failed: {(own or lines)[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def main(module: str, request: str) -> None:
    """Measure on one of these ranks; the first one prints the results as JSON. An error of one rank ends all ranks."""
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
