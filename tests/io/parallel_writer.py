"""Write a file by several ranks: `python parallel_writer.py STRATEGY FILE`, under an mpiexec."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import OutputError
from airshed.io.libraries import FILES, Variable
from airshed.parallel.communicator import world

ROWS, COLUMNS = 5, 7
KINDS = ("i1", "i2", "i4", "i8", "f4", "f8")


def field(kind: str, record: int) -> NDArray[Any]:
    values = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    return (values + 100 * (record + 1) / 3 if kind[0] == "f" else values + record).astype(kind)


def main(name: str, path: Path) -> None:
    ranks = world()
    fields = {kind: Variable(("time", "lat", "lon"), kind, {"units": "µg m-3", "factor": 0.5}) for kind in KINDS}
    file = FILES[name](path, ranks.handle)
    dims = {"time": None, "lat": ROWS, "lon": COLUMNS}
    file.define(dims, {**fields, "lat": Variable(("lat",), "f8")}, {"title": "A test", "levels": np.array([1, 2])})
    file.write("lat", [0], [ROWS if ranks.rank == 0 else 0], np.linspace(45, 55, ROWS) if ranks.rank == 0 else [])
    for record in range(2):
        if record == 1:  # the second is appended to the closed file
            file.close()
            file = FILES[name](path, ranks.handle, append=True)
        for kind in KINDS:
            mine = field(kind, record)[ranks.rank :: ranks.size]
            for row in range(-(-ROWS // ranks.size)):  # the same number of writes by every rank, some of them empty
                block = mine[row : row + 1].copy()
                start = [record, min(ranks.rank + row * ranks.size, ROWS - 1), 0]
                file.write(kind, start, [1 if len(block) else 0, len(block), COLUMNS if len(block) else 0], block)
                block[:] = 0  # the written data must not be this
        file.commit()
    refused = False
    try:
        file.write("f4", [0, 0, 0], [1, 1, 1], [1.0, 2.0])
    except OutputError as error:
        refused = "does not fit" in str(error)
    assert refused
    file.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
