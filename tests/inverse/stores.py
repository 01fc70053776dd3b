"""Stores of every kind, arrays for them, and a comparison of their bits."""

import numpy as np

from airshed.inverse.checkpoints.stores import FileStore, GroupStore, MemoryStore, SharedStore, rank_folder
from airshed.io.block_file import BlockFile
from airshed.parallel.communicator import SingleRank

PLAIN = {
    "memory": lambda folder: MemoryStore(),
    "files": lambda folder: FileStore(rank_folder(folder, 3)),
    "mpiio": lambda folder: SharedStore(BlockFile(folder / "checkpoints", SingleRank(), block=512)),
    "zarr": lambda folder: GroupStore(rank_folder(folder, 3)),
}


def level(number):
    return {"q": np.random.default_rng(number).random((3, 5, 4)), "air": np.arange(4) + number, "when": np.array(1.5)}


def same(one, other):
    return one.keys() == other.keys() and all(
        one[name].tobytes() == other[name].tobytes() and one[name].dtype == other[name].dtype for name in one
    )
