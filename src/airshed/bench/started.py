"""Starts a worker on some ranks and returns what it measured."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from airshed.core.errors import AirshedError
from airshed.parallel.environment import ASKED_FOR
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
        raise AirshedError(f"the ranks that measure failed: {lines[-1]}")
    return json.loads(done.stdout.splitlines()[-1])
