"""Chemistry of independent cells on the CUDA backend: time of intervals, and the greatest difference from the CPU.

The cells have balanced air at noon, each species spread by a factor of two. A call integrates an interval of 30 s, and
starts with the last step of the previous call.
"""

import time
from typing import Any, Final

import numpy as np
from benchmarks.chemistry.problem import Problem
from benchmarks.chemistry.problems import problem

from airshed.kernels.backend import CellKernel
from airshed.kernels.backends.cpu.cells import compile_chemistry as compile_for_cpu
from airshed.kernels.backends.cuda.cells import DeviceCellKernel, compile_chemistry
from airshed.kernels.backends.cuda.device import Device, present_device
from airshed.kernels.cells import CellSteps, Tolerances, list_of_cells, method, pack_cells, stack_inputs, unpack_cells
from airshed.kernels.cells.arguments import Concentrations
from airshed.kernels.host import HOST, aligned_zeros

INTERVAL: Final = 30.0
TOLERANCES: Final = Tolerances(1e-3, 1e4)


def run_cells(
    given: Problem, kernel: CellKernel | DeviceCellKernel, intervals: int, *, tableau: str = "ros3"
) -> dict[str, Any]:
    """Integrate all cells over a number of intervals of 30 s, on one thread of the CPU or on a device.

    Returns concentrations (species, cell), the time of each interval [s], and accepted and rejected steps per cell and
    interval. Raises SystemExit if a cell fails.
    """
    # arrays, in memory of the device
    width, cells = kernel.shape.width, given.cells
    memory = kernel.device.memory if isinstance(kernel, DeviceCellKernel) else HOST
    packed = pack_cells(given.initial, width, kernel.dtype), stack_inputs(kernel, given.inputs, [], cells)
    y, inputs = (aligned_zeros(each.shape, each.dtype, memory) for each in packed)
    y[...], inputs[...] = packed
    steps = CellSteps.zeros(len(y), width, memory)
    state = Concentrations(y, y, list_of_cells(cells, len(given.network.species), width))

    # intervals
    solver = kernel.solver(method(tableau), TOLERANCES)
    seconds, counts = [], np.zeros(2)
    for _ in range(intervals):
        began = time.perf_counter()
        solver.advance(state, inputs, steps, 0.0, INTERVAL)
        seconds.append(time.perf_counter() - began)
        done = [each.reshape(-1)[:cells] for each in (steps.reached, steps.accepted, steps.rejected)]
        if np.any(done[0] < INTERVAL):
            raise SystemExit(f"{np.count_nonzero(done[0] < INTERVAL)} cells fail")
        counts += [each.mean() / intervals for each in done[1:]]
    return {"y": unpack_cells(y, cells), "seconds": seconds, "accepted": counts[0], "rejected": counts[1]}


def compare(
    name: str, cells: int, intervals: int, precision: str, *, device: Device | None = None, tableau: str = "ros3"
) -> dict[str, Any]:
    """Return times on a device and on one core [s], and the greatest difference of a concentration between both.

    The difference is relative to the concentration of the CPU, or to 1e4 molecules cm-3 where it is smaller.
    """
    given, device = problem(name, cells), device or present_device(0)
    began = time.perf_counter()
    kernel = compile_chemistry(given.network, precision, device=device)
    compiled = time.perf_counter() - began
    there = run_cells(given, kernel, intervals, tableau=tableau)
    here = run_cells(given, compile_for_cpu(given.network, precision), intervals, tableau=tableau)
    apart = np.abs(there["y"] - here["y"]) / np.maximum(np.abs(here["y"]), 1e4)
    return {
        "mechanism": name, "cells": cells, "intervals": intervals, "precision": precision, "method": tableau,
        "compile [s]": compiled, "device [s]": sum(there["seconds"]), "core [s]": sum(here["seconds"]),
        "first interval [s]": there["seconds"][0], "difference": float(apart.max()),
        **{f"{kind} steps": {"device": there[kind], "core": here[kind]} for kind in ("accepted", "rejected")},
    }  # fmt: skip
