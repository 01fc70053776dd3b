"""Run rows of the table of ways on ranks, one after the other, in one MPI job of four.

    mpiexec -n 4 python -m mpi4py -m tests.laws.ranks CASES FOLDER

Reads a JSON list of rows, each with the name of a planted error or "", from FOLDER/rows.json, and prints their digests.
Ranks that a row does not need sleep, so that each start of Python serves all rows.
"""

import faulthandler
import json
import sys
import time
from pathlib import Path

from mpi4py import MPI
from tests.laws.faults import FAULTS
from tests.laws.ways import NO_FAULT, found_in

from airshed.parallel.communicator import Communicator, MpiRanks, SingleRank

LONGEST = 240.0
"""Seconds that all rows may take."""


def first_ranks(size: int) -> Communicator | None:
    """Return the first ranks of all as a communicator, None on the others; all wait for each other first."""
    wait_for_all()
    part = MPI.COMM_WORLD.Split(0 if MPI.COMM_WORLD.rank < size else MPI.UNDEFINED)
    if part == MPI.COMM_NULL:
        return None
    return SingleRank() if size == 1 else MpiRanks(part)


def wait_for_all() -> None:
    """Wait asleep until all ranks have arrived: an MPI barrier would take the cores of ranks that work."""
    arrived = MPI.COMM_WORLD.Ibarrier()
    while not arrived.Test():
        time.sleep(0.005)


def main(cases: Path, folder: Path) -> None:
    """Run all rows, each with its planted error if it has one; a hang ends with the stacks of all ranks."""
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    found = []
    for number, (row, fault) in enumerate(json.loads((folder / "rows.json").read_text())):
        planted = FAULTS[fault] if fault else NO_FAULT
        found.append(found_in(row, cases, folder / str(number), first_ranks, planted))
        wait_for_all()
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
