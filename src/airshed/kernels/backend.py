"""The interface between models and compiled code: the names that other packages use.

A backend is a folder of ``backends/`` whose module ``backend`` has a ``BACKEND``. It compiles a mechanism to a
:class:`StepKernel`, which provides the memory layout of a grid, steppers with their adjoints and tangents, and exact
sums. It also compiles a mechanism to a :class:`CellKernel`, which creates solvers of independent cells. The names below
are those of the CPU backend. Classes of another backend have the same public members. They store arrays in memory that
NumPy can read and write: all arrays of steps come from ``Layout.empty`` and ``Layout.zeros``.
"""

from functools import cache
from importlib import import_module
from typing import cast

from airshed.core.errors import KernelError
from airshed.kernels.backends.cpu.backend import CpuBackend as Backend
from airshed.kernels.backends.cpu.cells import CellKernel, CellReverser, CellSolver, CellTangent, compile_chemistry
from airshed.kernels.backends.cpu.kernel import LARGEST_GROUP, WIDTH, ExactSums, StepKernel, compile_mechanism
from airshed.kernels.backends.cpu.reverser import Reverser, SummedInputAdjoints
from airshed.kernels.backends.cpu.stepper import Stepper
from airshed.kernels.backends.cpu.tangent import TangentStepper

__all__ = [
    "LARGEST_GROUP", "WIDTH", "Backend", "CellKernel", "CellReverser", "CellSolver", "CellTangent", "ExactSums",
    "Reverser", "StepKernel", "Stepper", "SummedInputAdjoints", "TangentStepper", "backend", "compile_chemistry",
    "compile_mechanism",
]  # fmt: skip


def gpus() -> list[str]:
    """Return the names of the GPUs that this process sees; raises KernelError with the missing package or driver."""
    from airshed.kernels.backends.cuda.device import gpu_names

    return gpu_names()


@cache
def backend(name: str = "cpu", local_rank: int = 0) -> Backend:
    """Return the backend with a name; "auto" is "cuda" where this process sees a GPU, else "cpu".

    local_rank  index of this process among those of the machine: it selects the GPU
    """
    if name == "auto":
        try:
            name = "cuda" if gpus() else "cpu"
        except KernelError:
            name = "cpu"
    return cast(Backend, import_module(f"airshed.kernels.backends.{name}.backend").BACKEND.for_local_rank(local_rank))
