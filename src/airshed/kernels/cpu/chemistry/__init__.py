"""Chemistry of independent cells on the CPU: the generated solver and its calls."""

from airshed.kernels.cpu.chemistry.kernel import ChemistryKernel, compile_chemistry
from airshed.kernels.cpu.chemistry.solver import ChemistrySolver

__all__ = ["ChemistryKernel", "ChemistrySolver", "compile_chemistry"]
