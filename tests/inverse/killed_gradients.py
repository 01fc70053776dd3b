"""Gradients that are killed, each in a process of its own, and those that go on from them.

    python killed_gradients.py FOLDER

Prints as JSON for each kill by SIGKILL where it was, where the next process went on and what it told of that, and what
of the result differs from that of one that nobody disturbed. Processes are forked: none has to import and compile.
"""

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.inverse.small import IN_TIME, RECEPTOR, hashes, small

from airshed.inverse import Options, sensitivity
from airshed.inverse.checkpoints.trajectory import budget_of
from airshed.inverse.gradient import Watcher

LITTLE = {"memory": "1 MiB"}
"""Stands for a budget with which steps are made again, and restarts are dropped."""

STRANG = {"integrator": "strang"}
RUNS = (
    ({}, "forward 0.4"), ({}, "backward 0.5"), ({"store": "mpiio", "disk": "1 GB"}, "backward 0.9"),
    (LITTLE, "forward 0.9"), (LITTLE, "backward 0.3"), (LITTLE, "inside 5"), (LITTLE, "before 9"),
    (LITTLE, "after 12"), (LITTLE, "unsynced 40"), (STRANG, "backward 0.4"),
)  # fmt: skip
"""Settings of [adjoint], and where the process is killed: at a part of the way, or as files are written."""

sys.modules["airshed.inverse.gradient"].budget_of = lambda section, sizes: little_budget(section, sizes)


def little_budget(section, sizes):
    budget = budget_of(section, sizes)
    return replace(budget, memory=7 * sizes.restart) if budget.memory == 2**20 else budget


class Told(Watcher):
    """Keeps the lines that it is told."""

    def __init__(self):
        self.lines = []

    def on_notice(self, line):
        self.lines.append(line)


def find(folder, settings, **options):
    kept = {name: each for name, each in settings.items() if name != "integrator"}
    more = {"receptor": IN_TIME, "adjoint": {"commit": "0 s", **kept}}
    if "integrator" in settings:
        more["chemistry"] = {"integrator": settings["integrator"]}
    case = small(folder, **more)
    return sensitivity(case, RECEPTOR, **options)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def dying(where):
    """Let this process die at a moment of the commits, or return the progress that dies."""
    part, place = where.split()
    if part in ("forward", "backward"):
        return lambda now, done: die() if now == part and done >= float(place) else None
    if part == "unsynced":
        os.fsync = counted(os.fsync, int(place), lambda number: True)
    elif part == "inside":
        os.fsync = counted(os.fsync, int(place), lambda number: "manifest" in os.readlink(f"/proc/self/fd/{number}"))
    else:
        os.replace = counted(os.replace, int(place), lambda old, new: "manifest" in str(new), after=part == "after")
    return lambda now, done: None


def counted(function, number, counts, *, after=False):
    seen = iter(range(1, 10**9))

    def call(*arguments):
        last = counts(*arguments) and next(seen) == number
        if last and not after:
            die()
        result = function(*arguments)
        if last:
            die()
        return result

    return call


def in_another(work):
    """Do something in a process of its own; return how it ended."""
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1]


def main(folder):
    found, whole = [], {}
    for settings, where in RUNS:
        key = json.dumps(settings)
        if key not in whole:
            whole[key] = find(folder, settings)
        commits, begins = folder / "commits", []
        told = Told()
        options = Options(resume=commits, watcher=told)
        ended = in_another(lambda: find(folder, settings, options=options, progress=dying(where)))  # noqa: B023
        assert ended == signal.SIGKILL, (where, ended)
        again = find(folder, settings, options=options, progress=lambda *now: begins.append(now))  # noqa: B023
        expected, got = hashes(whole[key]), hashes(again)
        wrong = [name for name in expected if got[name] != expected[name]]
        found.append(
            {"where": where, "begins": begins[0], "told": told.lines, "wrong": wrong, "left": commits.exists()}
        )
    print(json.dumps(found))


main(Path(sys.argv[1]))
