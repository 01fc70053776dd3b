"""What the programs of several ranks share: the first ranks of all as a world, waiting asleep, and hashes."""

import copy
import gc
import hashlib
import pickle
import time

import numpy as np
from mpi4py import MPI

import airshed
from airshed.kernels.backends.cpu.backend import BACKEND
from airshed.models.air import landcover
from airshed.models.air.case import case
from airshed.models.air.emissions import builder
from airshed.models.air.weather import era5_data
from airshed.parallel.communicator import MpiRanks, SingleRank

gc.set_threshold(100_000, 20, 20)  # a sixth of a short run looks for garbage, of which there is little


def as_it_is(answer):
    """Return an answer that nobody changes."""
    return answer


def remember(module, name, again=copy.deepcopy):
    """Let a function answer an equal question once more as it did; runs of one program share what it made or read.

    again  what is done with an answer before it is given away: nothing need be where nobody changes it
    """
    plain, answers = getattr(module, name), {}

    def remembered(*given, **named):
        question = pickle.dumps((given, named))
        if question not in answers:
            answers[question] = plain(*given, **named)
        return again(answers[question])

    setattr(module, name, remembered)


remember(builder, "build_inventory")
remember(case, "load_mechanism", as_it_is)
remember(BACKEND, "compile_mechanism", as_it_is)
remember(BACKEND, "compile_chemistry", as_it_is)
remember(landcover, "_land_map", as_it_is)
remember(era5_data, "open_era5", lambda dataset: dataset.copy())  # which does not close the files


def group(size):
    """The first ranks of all, to those that are among them."""
    part = MPI.COMM_WORLD.Split(0 if MPI.COMM_WORLD.rank < size else MPI.UNDEFINED)
    if part == MPI.COMM_NULL:
        return None
    return SingleRank() if size == 1 else MpiRanks(part)


def wait_for_all():
    """A barrier in which ranks sleep: those of MPI spin, and take the cores of the ranks that work."""
    arrived = MPI.COMM_WORLD.Ibarrier()
    while not arrived.Test():
        time.sleep(0.01)


def digest(*arrays):
    """A hash of the bits of arrays."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).hexdigest()[:16]


def run_in_groups(case, folder, ranks, found, *, until=None, resume=False):
    """What `found` finds of a simulation at its end; None of one that is left before, and on ranks that only move."""
    if airshed.only_transports(case, ranks):
        airshed.transport_for_others(case, ranks=ranks)
        return None
    with airshed.Simulation(case, output=folder, resume=resume, ranks=ranks) as simulation:
        simulation.run(until=until)
        return None if until is not None else found(simulation)


def bits(simulation):
    """Hashes of the whole state and of the budgets."""
    model = simulation.model
    return {
        "state": digest(model.subdomain.whole(model.mixing_ratios())),
        "budget": digest(model.budget.amounts, model.budget.imbalance, model.amounts()),
    }


def residual(simulation):
    """The greatest residual of a budget over what went through it."""
    budget = simulation.budget()
    return float(np.abs(budget["residual"] / budget["throughput"]).max())
