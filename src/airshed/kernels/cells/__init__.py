"""Chemistry of independent cells by Rosenbrock methods: the methods, the elimination, and what backends share."""

from airshed.kernels.cells.data import (
    AIR_INPUTS,
    AcceptedSteps,
    CellAdjoints,
    CellSteps,
    Concentrations,
    Place,
    Sources,
    Tolerances,
    list_of_cells,
    pack_cells,
    stack_inputs,
    unpack_cells,
)
from airshed.kernels.cells.tableau import METHODS, Tableau, method

__all__ = [
    "AIR_INPUTS", "METHODS", "AcceptedSteps", "CellAdjoints", "CellSteps", "Concentrations", "Place", "Sources",
    "Tableau", "Tolerances", "list_of_cells", "method", "pack_cells", "stack_inputs", "unpack_cells",
]  # fmt: skip
