"""Starts a worker on some ranks, and returns what it measured; and what each of these does."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from airshed.core.errors import AirshedError
from airshed.parallel.communicator import Communicator, world
from airshed.parallel.environment import ASKED_FOR
from airshed.parallel.failure import failing_together
from airshed.parallel.mpiexec import find_mpiexec


def answer_of(worker: str, request: Mapping[str, Any], ranks: int) -> Any:
    """Return what a module prints as JSON that is run on so many ranks with a request as its argument.

    Raises AirshedError where that fails.
    """
    command = [sys.executable, "-m", worker, json.dumps(request)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if ranks > 1:
        mpiexec = find_mpiexec()
        command = [*mpiexec.command(ranks), *command]
        environment |= {**mpiexec.environment(), ASKED_FOR: str(ranks)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        said = [line for line in lines if not line.startswith("Abort(")]  # MPI, after a rank
        raise AirshedError(f"the ranks that measure failed: {(said or lines)[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def work(measure: Callable[[Mapping[str, Any], Communicator], Any]) -> None:
    """Do in a worker what its argument asks for; the first rank prints it as JSON. An error of one rank ends all."""
    request, ranks = json.loads(sys.argv[1]), world()
    with failing_together(ranks, lambda error: (str(error) or type(error).__name__, 1)):
        try:
            found = measure(request, ranks)
        except AirshedError as error:
            sys.exit(str(error))
    if ranks.rank == 0:
        print(json.dumps(found), flush=True)
