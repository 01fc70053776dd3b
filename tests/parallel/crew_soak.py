"""Makes a run over and over on four ranks of one machine, of which some are late by turns or do not wait.

    mpiexec -n 4 python crew_soak.py

Prints of each run, as JSON: a hash of its result, and by rank which part of its pieces were a neighbour's, the newest
step in which others could help it, and whether they see its memory elsewhere.
"""

import json
import mmap
import random
import time

import numpy as np
from mpi4py import MPI
from worlds import digest

from airshed.air import stepping
from airshed.air.case import Case
from airshed.air.model import AirModel
from airshed.parallel.communicator import Alone, MpiRanks
from airshed.runtime.clock import Clock

RANK = MPI.COMM_WORLD.rank
STEPS, STEP, FEW = 400, 300.0, 24
CASE = {
    "grid": {"area": {"lon": [0, 10], "lat": [0, 6]}, "spacing": "0.5 deg", "layers": ["500 m", "1000 m"]},
    "time": {"start": "2022-01-01T00:00:00Z", "length": f"{STEPS * STEP:g} s", "step": f"{STEP:g} s"},
    "meteorology": {"kind": "uniform", "eastward": "9 m/s", "northward": "-7 m/s", "rotation": "24 h",
                    "diffusivity": "10 m2/s"},
    "chemistry": {"mechanism": "tracer"},
    "deposition": {"scheme": "none"},
}  # fmt: skip


def made(ranks, threads):
    """The model of this rank, with mixing ratios that differ from cell to cell."""
    tiles = {"parallel": {"tiles": [2, 2] if ranks.size == 4 else "auto"}}
    model = AirModel(Case.from_dict(CASE | tiles), threads=threads, ranks=ranks)
    _, rows, columns = model.whole.shape
    q = np.random.default_rng(0).uniform(0.0, 1e-7, (*model.mixing_ratios().shape[:2], rows, columns))
    state = model.stepper.state
    state.q[...] = state.q_other[...] = model.layout.pack(model.share.window.of(q))
    model.begin_budget()
    return model


def run(model, steps, after=lambda: None):
    """Step by stretches; something else is done after the first."""
    clock = Clock(model, (), STEPS * STEP)
    model.step_through(clock.next_steps(steps * STEP, model.at_once))
    after()
    while model.steps < steps:
        model.step_through(clock.next_steps(steps * STEP, model.at_once))
    budget, crew = model.budget, model.stepper.crew
    state = model.share.whole(model.mixing_ratios())
    found = digest(state, budget.amounts, model.amounts())
    elsewhere = any(crew._crew.shift[: crew._crew.near_count])
    model.close()
    return [found, *zip(*model.share.ranks.gather_all((crew.helped, crew._slot.open, elsewhere)), strict=True)]


def beforehand(crew, name, action):
    """Let something happen each time before a crew does what it is asked for."""
    asked = getattr(crew, name)

    def act(*given):
        action()
        return asked(*given)

    setattr(crew, name, act)


def late(ranks, threads):
    """Ranks sleep by turns: before they let a stretch begin, and then, when others may compute it."""
    model, dice = made(ranks, threads), random.Random(RANK)

    def sleep():
        if RANK in (1, 2) and dice.random() < 0.2:
            time.sleep(dice.uniform(0.0, 3e-3))

    beforehand(model.stepper.crew, "publish", sleep)
    beforehand(model.stepper.crew, "work", sleep)
    return run(model, STEPS)


def first_by_neighbours(ranks):
    """Rank 1 begins to compute once others have done its first stretch."""
    model = made(ranks, 1)
    if RANK == 1:
        beforehand(model.stepper.crew, "work", once(lambda: MPI.COMM_WORLD.recv(source=0)))

    def done():
        if RANK == 0:
            model.stepper.leave()
            MPI.COMM_WORLD.send(None, 1)

    return run(model, FEW, done)


def room_for_states_alone(ranks):
    """Nothing else lies where others see it."""
    room, stepping._STATES, stepping._MORE = (stepping._STATES, stepping._MORE), 6, 8192
    try:
        return run(made(ranks, 1), FEW)
    finally:
        stepping._STATES, stepping._MORE = room


def one_does_not_wait(ranks):
    """Rank 0 makes its first stretch before rank 1 lets its own begin, with whatever lies there."""
    model = made(ranks, 1)
    if RANK == 0:
        model.stepper.crew._slot.near_count = 0
    if RANK == 1:
        beforehand(model.stepper.crew, "publish", once(lambda: MPI.COMM_WORLD.recv(source=0)))
    return run(model, FEW, lambda: MPI.COMM_WORLD.send(None, 1) if RANK == 0 else None)


def once(action):
    """The action at the first call, nothing at later ones."""
    left = [action]
    return lambda: left.pop()() if left else None


def main():
    aside = mmap.mmap(-1, (1 + RANK) << 22)  # so that what comes next lies elsewhere on each rank
    ranks, found = MpiRanks(MPI.COMM_WORLD), {}
    if RANK == 0:
        found["all"], found["few"] = (run(made(Alone(), 1), steps) for steps in (STEPS, FEW))
    for threads in (1, 2):
        found[f"late, {threads}"] = late(ranks, threads)
    found["first by neighbours"] = first_by_neighbours(ranks)
    found["room for states alone"] = room_for_states_alone(ranks)
    found["one does not wait"] = one_does_not_wait(ranks)
    aside.close()
    if RANK == 0:
        print(json.dumps(found))


main()
