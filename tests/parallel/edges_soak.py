"""Exchanges edges over and over between four ranks of which some are late by turns, and looks at every number.

    mpiexec -n 4 python edges_soak.py [TURNS]

Prints how many exchanges brought another number than that of the exchange and the neighbour, over all ranks. With room
for one exchange only, a rank that is early writes over what a late one still reads.
"""

import sys
import time

import numpy as np
from mpi4py import MPI

from airshed.kernels.flags import CompiledFlags
from airshed.kernels.layout import Layout
from airshed.kernels.pieces import REACH
from airshed.kernels.pipeline import compile_mechanism
from airshed.mechanism import load_mechanism
from airshed.parallel import halo, shared_edges
from airshed.parallel.communicator import MpiRanks
from airshed.parallel.decomposition import Decomposition

SPECIES, LEVELS, WIDTH = 3, 2, 8


def looked_at(side, edges):
    """What the kernel looks at of the packs on a side."""
    if side in ("south", "north"):
        return edges
    return edges[..., -REACH:] if side == "west" else edges[..., :REACH]


def main(turns=shared_edges.TURNS):
    shared_edges.TURNS = halo.TURNS = turns
    ranks = MpiRanks(MPI.COMM_WORLD)
    cut = Decomposition.of(7, 36, WIDTH, 4, (2, 2))
    layout = Layout(*cut.tile(ranks.rank).window.shape, WIDTH, np.float64)
    kernel = compile_mechanism(load_mechanism("tracer"), LEVELS)
    edges = halo.Halo(ranks, cut, layout, SPECIES, LEVELS, CompiledFlags(kernel))
    assert edges.shared == 2
    neighbours = {side: cut.neighbour(ranks.rank, side) for side in edges.beyond}
    random, wrong = np.random.default_rng(ranks.rank), 0
    state = [layout.zeros(SPECIES, LEVELS) for _ in range(2)]
    for number in range(1, 401):
        q = state[number % 2]
        q[...] = 1000 * ranks.rank + number
        edges.start(q)
        edges.progress()
        edges.finish()
        if random.random() < 0.1:
            time.sleep(1e-3)
        for side, rank in neighbours.items():
            newest = edges.beyond[side][edges.turn % len(edges.beyond[side])]
            wrong += bool((looked_at(side, newest) != 1000 * rank + number).any())
    total = ranks.total(np.array([wrong]))
    edges.close()
    if ranks.rank == 0:
        print(int(total[0]))


main(*map(int, sys.argv[1:]))
