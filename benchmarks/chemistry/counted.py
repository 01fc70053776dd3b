"""Counted work of a step of the generated chemistry, with its lower bounds."""

import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np

from airshed.kernels.backends.cpu.cells import CellKernel
from airshed.kernels.cells import Tableau
from airshed.kernels.host import processor

DECODED: Final = 16.0
"""Bytes of code that a core decodes per cycle: straight-line code that fills no loop does not come from the cache of
decoded instructions."""

VECTOR_OPERATIONS: Final = 2.0
"""Vector operations that a core starts per cycle."""

_PARTS: Final = ("tendency", "factor", "forward", "backward", "solve", "jacobian")
_FINISH: Final = 12  # operations per species: size, tolerance, reciprocal, ratio, sum; clipping, choice of the state


@dataclass(frozen=True)
class StepCost:
    """Cost of one step of a method, accepted or not, without the rate constants of a call.

    operations   of a cell: multiplications, additions, or both fused; equal to the vector operations of a whole pack
    touched      [bytes] of a cell, each array counted once
    working_set  [bytes] of a pack
    code         [bytes] of straight-line code, functions counted as often as they are called; None where unknown
    """

    operations: int
    touched: int
    working_set: int
    code: int | None

    def least_cycles(self) -> float:
        """Return the cycles of the vector operations of a pack."""
        return self.operations / VECTOR_OPERATIONS

    def decoding_cycles(self) -> float | None:
        """Return the cycles of decoding for a pack."""
        return None if self.code is None else self.code / DECODED


def step_cost(kernel: CellKernel, method: Tableau) -> StepCost:
    """Count the work of a step in the generated code."""
    counts, species = kernel.source.operations, len(kernel.network.species)
    stages, evaluations = method.stages, 1 + sum(map(bool, method.evaluates[1:]))
    calls = {"tendency": evaluations, "jacobian": 1, "factor": 1}
    calls |= {"solve": stages, "forward": stages, "backward": stages}
    sums = sum(stage * (1 + bool(method.evaluates[stage])) for stage in range(1, stages)) + 2 * stages
    operations = sum(count * calls[name] for name, count in counts.items() if name in calls)
    vectors = stages + 4  # y, next, f, shift, and the stages
    numbers = len(kernel.network.reactions) + kernel.source.elimination.size + vectors * species
    size = np.dtype(kernel.dtype).itemsize
    sizes = code_sizes(kernel)
    code = sum(calls[name] * size for name, size in sizes.items()) if sizes else None
    operations += (sums + _FINISH) * species
    return StepCost(operations, numbers * size, numbers * size * kernel.shape.width, code)


def code_sizes(kernel: CellKernel) -> dict[str, int]:
    """Return the bytes of machine code of each generated part; empty where the system lacks ``nm``."""
    program = shutil.which("nm")
    if program is None:
        return {}
    command = [program, "-S", "-C", "--defined-only", str(kernel.library.path)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    sizes: dict[str, int] = defaultdict(int)
    for size, name in re.findall(rf"^[0-9a-f]+ ([0-9a-f]+) [tT] ({'|'.join(_PARTS)})(?:_\d+)?\(", listed, re.MULTILINE):
        sizes[name] += int(size, 16)
    return dict(sizes)


def nominal_clock() -> float | None:
    """Return the clock rate [Hz] in the processor's name; None without one."""
    found = re.search(r"@ ([\d.]+)GHz", processor().model)
    return float(found[1]) * 1e9 if found else None
