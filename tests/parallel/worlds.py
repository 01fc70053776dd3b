"""What the programs of several ranks share: the first ranks of all as a world, waiting asleep, and hashes."""

import hashlib
import time

import numpy as np
from mpi4py import MPI

from airshed.parallel.communicator import Alone, MpiRanks


def group(size):
    """The first ranks of all, to those that are among them."""
    part = MPI.COMM_WORLD.Split(0 if MPI.COMM_WORLD.rank < size else MPI.UNDEFINED)
    if part == MPI.COMM_NULL:
        return None
    return Alone() if size == 1 else MpiRanks(part)


def wait_for_all():
    """A barrier in which ranks sleep: those of MPI spin, and take the cores of the ranks that work."""
    arrived = MPI.COMM_WORLD.Ibarrier()
    while not arrived.Test():
        time.sleep(0.01)


def digest(*arrays):
    """A hash of the bits of arrays."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).hexdigest()[:16]
