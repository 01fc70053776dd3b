"""A gradient on several ranks that is killed or resumed.

    mpiexec -n 2 python -m mpi4py resumed_on_ranks.py FOLDER [die]

With `die` the last rank is killed in the middle of the backward pass. Otherwise the first rank prints JSON: hashes of
the results of all ranks, and the notices about the commit.
"""

import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.inverse.small import IN_TIME, RECEPTOR, hashes, small

from airshed import inverse
from airshed.inverse.gradient import Watcher
from airshed.parallel.communicator import world

LINES = []


class NoticeRecorder(Watcher):
    def on_notice(self, line):
        LINES.append(line)


def main(folder, *, dies):
    ranks = world()

    def progress(part, done):
        if dies and part == "backward" and done >= 0.5 and ranks.rank == ranks.size - 1:
            os.kill(os.getpid(), signal.SIGKILL)

    case = small(folder, receptor=IN_TIME, adjoint={"commit": "0 s"})
    options = inverse.Options(resume=folder / "commits", watcher=NoticeRecorder(), read=False)
    found = hashes(inverse.sensitivity(case, RECEPTOR, options=options, progress=progress))
    told = ranks.gather([found, LINES])
    if told is not None:
        print(json.dumps(told))


main(Path(sys.argv[1]), dies=len(sys.argv) > 2)
