"""Chemistry of independent cells by Rosenbrock methods: methods, elimination, and the data shared by backends."""

from airshed.kernels.cells.arguments import (
    AIR_INPUTS,
    AcceptedSteps,
    CellAdjoints,
    CellLayout,
    CellSteps,
    Concentrations,
    Sources,
    Tolerances,
    list_of_cells,
    pack_cells,
    stack_inputs,
    unpack_cells,
)
from airshed.kernels.cells.tableau import METHODS, Tableau, method

__all__ = [
    "AIR_INPUTS",
    "METHODS",
    "AcceptedSteps",
    "CellAdjoints",
    "CellLayout",
    "CellSteps",
    "Concentrations",
    "Sources",
    "Tableau",
    "Tolerances",
    "list_of_cells",
    "method",
    "pack_cells",
    "stack_inputs",
    "unpack_cells",
]  # fmt: skip
