"""Chemistry of independent cells: Rosenbrock methods with generated sparse elimination."""

from airshed.kernels.chemistry.tableau import METHODS, Tableau, method
from airshed.kernels.cpu.chemistry.kernel import AIR_INPUTS, ChemistryKernel, compile_chemistry
from airshed.kernels.cpu.chemistry.solver import (
    CellSteps,
    ChemistrySolver,
    Place,
    Sources,
    Tolerances,
    list_of_cells,
    pack_cells,
    stack_inputs,
    unpack_cells,
)

__all__ = [
    "AIR_INPUTS",
    "METHODS",
    "CellSteps",
    "ChemistryKernel",
    "ChemistrySolver",
    "Place",
    "Sources",
    "Tableau",
    "Tolerances",
    "compile_chemistry",
    "list_of_cells",
    "method",
    "pack_cells",
    "stack_inputs",
    "unpack_cells",
]
