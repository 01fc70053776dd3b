"""Real ranks: every strategy and transport, forward and back, on the same and on different groups."""

import pytest

PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI
from airshed.parallel.communicator import MpiRanks
from airshed.parallel.redistribution import Distribution, Redistribution, possible_plans
from airshed.parallel.redistribution.shared_memory import SharedMemory

handle = MPI.COMM_WORLD
rank, size = handle.Get_rank(), handle.Get_size()
half = size // 2
shape = (6, 5, 7, 40)
whole = np.random.default_rng(1).random(shape)
GROUPS = {"same": (range(size),) * 2, "disjoint": (range(half), range(half, size)), "overlap": (range(size), [0])}
moves = 0
for transport in (MpiRanks(handle), SharedMemory(handle)):
    for sources, targets in GROUPS.values():
        planes = Distribution.spread(shape, sources, axes=(0, 1), dtype=">f8")
        columns = Distribution.spread(shape, targets, axes=(2, 3), dtype="f8", order=(2, 3, 1, 0))
        turns = np.arange(shape[3]) // 3 % len(targets)
        parts = {each: [*map(slice, shape[:3]), np.flatnonzero(turns == n).tolist()] for n, each in enumerate(targets)}
        in_turn = Distribution(shape, parts, "f4", (3, 0, 1, 2))
        for target in (columns, in_turn):
            for plan in list(possible_plans(planes, target))[:: int(sys.argv[1])]:
                with Redistribution(transport, plan) as there:
                    local = planes.take(whole, rank) if rank in planes.ranks else None
                    for _ in range(2):
                        arrived = there(local)
                    if rank in target.ranks:
                        np.testing.assert_array_equal(arrived, target.take(whole, rank))
                    with Redistribution(transport, plan.inverse()) as back:
                        returned = back(arrived)
                        if rank in planes.ranks:
                            rounded = planes.take(whole.astype(target.dtype), rank)
                            np.testing.assert_array_equal(returned, rounded)
                moves += 1
handle.Barrier()
if rank == 0:
    print("moves", moves)
"""


@pytest.mark.parametrize(
    ("ranks", "every"),
    [(2, 1), pytest.param(4, 1, marks=pytest.mark.thorough), pytest.param(6, 3, marks=pytest.mark.thorough)],
)
def test_strategies_and_transports_there_and_back(world, ranks, every):
    assert int(world(ranks, PROGRAM, str(every)).split()[-1]) >= 12
