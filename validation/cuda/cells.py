"""Rosenbrock steps of independent cells on a device: source, reference, and times."""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from validation.cuda.device import Launch, Memory, arguments, median_and_spread
from validation.cuda.source import FOLDER, SHIM_END, macro, structure

from airshed.kernels.cells import CellSteps, Tolerances, list_of_cells, pack_cells, stack_inputs
from airshed.kernels.cells.arguments import Concentrations, initial
from airshed.kernels.cells.emit import _Writer
from airshed.kernels.cells.reference import Cell, StepControl, integrate, take
from airshed.kernels.cells.sparsity import Elimination, eliminate, pattern_of
from airshed.kernels.cells.tableau import ROS3
from airshed.kernels.schedule import noon
from airshed.mechanism.expressions import Environment
from airshed.mechanism.network import ReactionNetwork

STEP: Final = 30.0
STEPS: Final = 4
DISTINCT: Final = 8
"""Number of cells with different temperature and concentrations."""


def order(network: ReactionNetwork) -> Elimination:
    """Return the order of elimination, which is the order of vectors."""
    return eliminate(pattern_of(network))


def cell_source(network: ReactionNetwork, real: str, threads: int, *, shim: bool) -> str:
    """Return the translation unit of the kernel."""
    elimination = order(network)
    writer, count = _Writer(network, elimination), ROS3.stages
    parts = {
        "TENDENCY": writer.tendency(), "FACTOR": writer.factor(),
        "FORWARD": writer.forward(), "BACKWARD": writer.backward(),
    }  # fmt: skip
    numbers = writer.coefficients.values

    def plain(statements: Iterable[str]) -> list[str]:
        def number(match: re.Match[str]) -> str:
            return f"real({numbers[int(match[1])]!r})"

        return [re.sub(r"\bc\[(\d+)\]", number, each.split("   //")[0]) for each in statements]

    def table(name: str, kind: str, values: Iterable[object]) -> str:
        return f"CONSTANTS({kind}) {name}[] = {{{', '.join(map(str, values))}}};"

    square = {"A": ROS3.a, "C": ROS3.c}
    sizes = {"NS": len(network.species), "NR": len(network.reactions), "NA": elimination.size, "STAGES": count}
    return "\n".join([
        f"#define CELL_THREADS {threads}", f"typedef {real} real;",
        (FOLDER / ("shim.hpp" if shim else "device.hpp")).read_text(), structure(),
        *(f"constexpr int {name} = {size};" for name, size in sizes.items()),
        f"constexpr double GAMMA = {ROS3.gamma!r};",
        table("M", "double", ROS3.m), table("EVALUATES", "int", map(int, ROS3.evaluates)),
        *(
            table(name, "double", (value for row in rows for value in (*row, *[0.0] * (count - len(row)))))
            for name, rows in square.items()
        ),
        "DEVICE real most(real a, real b) { return a > b ? a : b; }",
        *(macro(name, plain(each)) for name, each in parts.items()), (FOLDER / "rosenbrock.hpp").read_text(),
        SHIM_END if shim else "",
    ])  # fmt: skip


def environments(network: ReactionNetwork) -> list[Environment]:
    """Return the air of the different cells: noon at several temperatures."""
    return [{**noon(network), "TEMP": float(each)} for each in np.linspace(270.0, 305.0, DISTINCT)]


@dataclass(frozen=True)
class Cells:
    """The different cells: concentrations (species, cell) [molecules cm-3] at the beginning and at the end."""

    network: ReactionNetwork
    initial: np.ndarray
    final: np.ndarray


def prepare(network: ReactionNetwork) -> Cells:
    """Return cells after ten minutes of chemistry, and the result of the NumPy reference for them."""
    begin, end = [], []
    for air in environments(network):
        cell, y = Cell.still(network, air), initial(network)[:, 0]
        for step in integrate(cell, ROS3, y, 0.0, 600.0, StepControl(Tolerances())):
            y = step.y
        begin.append(y)
        for number in range(STEPS):
            y = take(cell, ROS3, number * STEP, STEP, y)
        end.append(y)
    return Cells(network, np.stack(begin, axis=-1), np.stack(end, axis=-1))


def run_cells(
    device: Any, module: Any, given: Cells, dtype: Any, count: int, threads: int, slots: int, repeats: int
) -> dict[str, Any]:
    """Return the difference from the reference, times and attributes of a launch of `count` cells."""
    network, elimination = given.network, order(given.network)
    begin = given.initial[list(elimination.order)]
    rates = np.stack([Cell.still(network, each).rates(0.0) for each in environments(network)], axis=-1)
    copies, slots = count // DISTINCT, min(slots, count)
    size = 3 * len(begin) + len(rates) + elimination.size + ROS3.stages * len(begin)
    arrays: dict[str, Memory] = {
        "q": device.upload(np.tile(begin, (1, copies)).astype(dtype)),
        "rate": device.upload(np.tile(rates, (1, copies)).astype(dtype)),
        "other": device.empty((len(begin), count), dtype), "rhs": device.empty((slots * size,), dtype),
    }  # fmt: skip
    step = arguments({**arrays, "g": STEP, "sweeps": STEPS, "nx": count, "outer": slots})
    launch = Launch("rosenbrock", (slots // threads, 1, 1), (threads, 1, 1))
    seconds, spread = median_and_spread(device.seconds(lambda: device.run(module, launch, step), repeats))
    found = device.download(arrays["other"])[:, -DISTINCT:]
    for each in arrays.values():
        device.free(each)
    natural = np.empty(found.shape)
    natural[list(elimination.order)] = found
    times = {"seconds": seconds, "spread": spread, "ns per cell and step": 1e9 * seconds / count / STEPS}
    scale = np.maximum(np.abs(given.final).max(axis=1, keepdims=True), Tolerances().absolute)
    times["difference"] = float((np.abs(natural - given.final) / scale).max())
    own = {"slots": slots, "bytes of a slot": size * dtype().itemsize}
    return {**times, **device.attributes(module, launch), **own}


def processor_cells(given: Cells, precision: str, copies: int = 256) -> float:
    """Return ns per cell and step of Airshed's solver on one core, for steps of the same length."""
    from airshed.kernels.backends.cpu.cells import CellSolver, compile_chemistry

    network, kernel = given.network, compile_chemistry(given.network, precision)
    solver = CellSolver(kernel, ROS3, Tolerances(1e30, 1e30), longest=STEP)
    names = [name for name in kernel.inputs if name in environments(network)[0]]
    inputs = {name: np.tile([each[name] for each in environments(network)], copies) for name in names}
    whole, count = np.tile(given.initial, (1, copies)), DISTINCT * copies
    packed, times = pack_cells(whole, kernel.shape.width, kernel.dtype), []
    for _ in range(5):
        state = pack_cells(whole, kernel.shape.width, kernel.dtype)
        cells = Concentrations(packed, state, list_of_cells(count, len(whole), kernel.shape.width))
        steps = CellSteps.zeros(len(packed), kernel.shape.width)
        steps.step[...] = STEP
        start = time.perf_counter()
        solver.advance(cells, stack_inputs(kernel, inputs, [], count), steps, 0.0, STEPS * STEP)
        times.append((time.perf_counter() - start) / float(steps.accepted.sum() + steps.rejected.sum()))
    return 1e9 * float(np.median(times))
