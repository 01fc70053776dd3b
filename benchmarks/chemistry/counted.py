"""Counts what a step of the generated chemistry costs, against what bounds it."""

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
"""Bytes of code that a core decodes in a cycle: straight-line code that fills no loop comes from no cache of decoded
instructions."""

VECTOR_OPERATIONS: Final = 2.0
"""Vector operations that a core starts in a cycle."""

_PARTS: Final = ("tendency", "factor", "forward", "backward", "solve", "jacobian")
_FINISH: Final = 12  # operations per species: size, tolerance, reciprocal, ratio, sum; clipping, choice of the state


@dataclass(frozen=True)
class StepCost:
    """What one step of a method costs, accepted or not, without the rate constants of a call.

    operations   of one cell: multiplications, additions, or both in one; as many vector operations for a whole pack
    touched      [bytes] of one cell, each array counted once
    working_set  [bytes] of a pack
    code         [bytes] of straight-line code that runs, functions counted as often as they are called; None: not known
    """

    operations: int
    touched: int
    working_set: int
    code: int | None

    def least_cycles(self) -> float:
        """Return the cycles that vector operations alone take for a pack."""
        return self.operations / VECTOR_OPERATIONS

    def decoding_cycles(self) -> float | None:
        """Return the cycles that decoding alone takes for a pack."""
        return None if self.code is None else self.code / DECODED


def step_cost(kernel: CellKernel, method: Tableau) -> StepCost:
    """Count a step from the generated code."""
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
    """Return the bytes of machine code of each generated part; nothing where the system has no ``nm``."""
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
    """Return the clock rate [Hz] in the processor's name; None where it says none."""
    found = re.search(r"@ ([\d.]+)GHz", processor().model)
    return float(found[1]) * 1e9 if found else None
