"""Ranks that make several runs of the toy model in succession, as their start takes most of the time of a run."""

import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from tests.started import python

MPIEXEC = Path(sys.executable).with_name("mpiexec")
SCRIPT = Path(__file__).with_name("ranks_run.py")
SIZE = 4
LONGEST = 120.0
"""A run that takes longer [s] counts as a deadlock."""


class Team:
    """Ranks that wait for requests, each at one end of a connection."""

    def __init__(self, folder):
        self._told = folder / "errors"
        line = [MPIEXEC, "-n", str(SIZE), python(), "-m", "mpi4py", SCRIPT, "--serve", folder]
        with socket.socket(socket.AF_UNIX) as door, self._told.open("a") as told:
            door.bind(str(folder / "socket"))
            door.listen(SIZE)
            door.settimeout(LONGEST)
            self._process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stderr=told)
            ends = [Connection(door.accept()[0].detach()) for _ in range(SIZE)]
        self._ends = [end for _, end in sorted(((end.recv(), end) for end in ends), key=lambda each: each[0])]

    def run(self, count, folder, *options):
        """Run the toy model on the given number of ranks."""
        before, ends = self._told.stat().st_size, self._ends[:count]
        for end in ends:
            end.send((count, [str(folder), *options]))
        codes = [end.recv() if end.poll(LONGEST) else None for end in ends]
        told = self._told.read_text()[before:]
        assert None not in codes, f"exit codes of a run that does not end: {codes}; {told}"
        return subprocess.CompletedProcess(options, max(codes), stderr=told)

    def disband(self):
        """End the ranks."""
        for end in self._ends:
            end.close()
        try:
            assert self._process.wait(LONGEST) == 0, self._told.read_text()
        finally:
            self._process.kill()
