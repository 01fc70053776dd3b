"""Gradients that are killed, each in a separate process, and gradients that resume from them.

    python killed_gradients.py FOLDER

Prints JSON: for each SIGKILL its position, the messages of the process that resumes, and the parts of the result that
differ from an undisturbed gradient. Processes are forked, so that they do not import or compile again.
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
from airshed.inverse.checkpoints.trajectory import storage_budget
from airshed.inverse.gradient import Watcher

LITTLE = {"memory": "1 MiB"}
"""Setting that selects a budget with which steps are repeated and restarts are dropped."""

STRANG = {"integrator": "strang"}
RUNS = (
    ({}, "forward 0.4"), ({}, "backward 0.5"), ({"store": "mpiio", "disk": "1 GB"}, "backward 0.9"),
    (LITTLE, "forward 0.9"), (LITTLE, "backward 0.3"), (LITTLE, "inside 5"), (LITTLE, "before 9"),
    (LITTLE, "after 12"), (LITTLE, "unsynced 40"), (STRANG, "backward 0.4"),
)  # fmt: skip
"""Settings of [adjoint], and the position of the kill: a fraction of the run, or the writing of a file."""

sys.modules["airshed.inverse.gradient"].storage_budget = lambda section, sizes: little_budget(section, sizes)


def little_budget(section, sizes):
    budget = storage_budget(section, sizes)
    return replace(budget, memory=7 * sizes.restart) if budget.memory == 2**20 else budget


class NoticeRecorder(Watcher):
    """Watcher that stores notices."""

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
    """Kill this process at a write of a commit, or return a progress callback that kills it."""
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
    """Run a function in a separate process; return its exit status."""
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
        told = NoticeRecorder()
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
