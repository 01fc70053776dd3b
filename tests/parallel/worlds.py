"""Helpers of the programs of several ranks: the first ranks as a world, sleeping waits, and hashes."""

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

gc.set_threshold(100_000, 20, 20)  # otherwise a sixth of a short run is garbage collection


def as_it_is(answer):
    """Return an answer unchanged."""
    return answer


def remember(module, name, again=copy.deepcopy):
    """Cache a function's results; runs of one program share data that they have computed or read.

    again  applied to a cached result before it is returned, unless results are never changed
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
remember(landcover, "plain_values", as_it_is)
remember(era5_data, "open_era5", lambda dataset: dataset.copy())  # a copy is closed without effect on the files


def group(size):
    """Return the communicator of the first ranks, on its members."""
    part = MPI.COMM_WORLD.Split(0 if MPI.COMM_WORLD.rank < size else MPI.UNDEFINED)
    if part == MPI.COMM_NULL:
        return None
    return SingleRank() if size == 1 else MpiRanks(part)


def wait_for_all():
    """Wait in a barrier in which ranks sleep: those of MPI poll, and occupy the cores of working ranks."""
    arrived = MPI.COMM_WORLD.Ibarrier()
    while not arrived.Test():
        time.sleep(0.01)


def digest(*arrays):
    """Return a hash of the bits of arrays."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).hexdigest()[:16]


def run_in_groups(case, folder, ranks, found, *, until=None, resume=False):
    """Return `found` of a simulation at its end; None if it is stopped early, and on ranks that only move."""
    if airshed.only_transports(case, ranks):
        airshed.transport_for_others(case, ranks=ranks)
        return None
    with airshed.Simulation(case, output=folder, resume=resume, ranks=ranks) as simulation:
        simulation.run(until=until)
        return None if until is not None else found(simulation)


def bits(simulation):
    """Return hashes of the whole state and of the budgets."""
    model = simulation.model
    return {
        "state": digest(model.subdomain.whole(model.mixing_ratios())),
        "budget": digest(model.budget.amounts, model.budget.imbalance, model.amounts()),
    }


def residual(simulation):
    """Return the largest relative residual of a budget."""
    budget = simulation.budget()
    return float(np.abs(budget["residual"] / budget["throughput"]).max())
