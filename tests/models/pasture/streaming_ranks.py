"""Read an undamaged and a damaged store on 3, 2 and 1 ranks by both strategies, and print the results."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from airshed.core.errors import DataError
from airshed.models.pasture.inputs import open_inputs
from airshed.parallel.communicator import MpiRanks, SingleRank
from airshed.parallel.domain import Domain

DAYS = (0, 1, 70, 69, 149, 3)


def streamed(folder, ranks, reading) -> str:
    """Return, on the first rank, the checksum of all weather of some days, with the cells in order."""
    inputs = open_inputs(folder)
    domain = Domain.even(inputs.grid.axes, ranks)
    told = hashlib.sha256()
    with inputs.stream(domain.box, ranks, reading=reading) as stream:
        for number in DAYS:
            day = stream.day(number)
            several = {name: np.asarray(values) for name, values in stream.days(min(number, 140), 9).items()}
            for part in (day, several):
                for name, values in part.items():
                    whole = ranks.gather_all(values)
                    joined = np.concatenate(whole, axis=-1) if len(several[name].shape) == 2 else whole[0]
                    told.update(name.encode() + np.ascontiguousarray(joined).tobytes())
    return told.hexdigest()


def damaged(folder, ranks, reading) -> str:
    """Return the error of this rank when it reads a damaged store."""
    try:
        return streamed(folder, ranks, reading)
    except DataError as error:
        return str(error)


def main() -> None:
    sound, spoilt = Path(sys.argv[1]), Path(sys.argv[2])
    answers = {}
    for size in (3, 2, 1):
        part = MPI.COMM_WORLD.Split(0 if MPI.COMM_WORLD.rank < size else 1)
        if MPI.COMM_WORLD.rank < size:
            ranks = MpiRanks(part) if size > 1 else SingleRank()
            for reading in ("every", "root"):
                answers[f"{size} {reading}"] = streamed(sound, ranks, reading)
    answers["spoilt"] = MPI.COMM_WORLD.gather(damaged(spoilt, MpiRanks(MPI.COMM_WORLD), "root"))
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(answers))


if __name__ == "__main__":
    main()
