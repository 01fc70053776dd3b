"""Takes recorded steps of independent cells once more: with other concentrations and rates, and with changes."""

import ctypes
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import KernelError
from airshed.kernels import abi
from airshed.kernels.backends.cpu.cell_derivatives import ChemistryDerivative
from airshed.kernels.backends.cpu.cell_solver import ChemistrySolver, method_argument, record_argument
from airshed.kernels.cells.data import AcceptedSteps, CellSteps, list_of_cells
from airshed.kernels.host import ALIGNMENT, AnyArray, address, aligned_zeros

Array = npt.NDArray[np.float64]


_ALONG: Final = abi.structure(abi.CELLS_TANGENT, "Along")


class ChemistryTangent:
    """Recorded steps of a solver, and their tangent; see :class:`airshed.kernels.cell_backend.CellTangent`."""

    def __init__(self, kernel: ChemistryDerivative, solver: ChemistrySolver) -> None:
        self.kernel, self.solver = kernel, solver
        self._method = method_argument(solver.method)

    def repeat(self, y: AnyArray, inputs: AnyArray, record: AcceptedSteps, factors: Array) -> None:
        """See :class:`airshed.kernels.cell_backend.CellTangent`; raises KernelError for arrays that do not fit."""
        self._advance(y, inputs, record, factors, changes=False)

    def along(self, change: AnyArray, inputs: AnyArray, record: AcceptedSteps, of_factors: Array) -> None:
        """See :class:`airshed.kernels.cell_backend.CellTangent`; raises KernelError for arrays that do not fit."""
        if record.y.shape != (len(record.step), len(self.kernel.network.species)):
            raise KernelError("the tangent of steps asks for the states between them")
        if record.y.dtype != self.kernel.dtype:
            raise KernelError(f"a record of cells is {record.y.dtype}, not {np.dtype(self.kernel.dtype)}")
        self._advance(change, inputs, record, of_factors, changes=True)

    def _advance(
        self, y: AnyArray, inputs: AnyArray, record: AcceptedSteps, factors: Array, *, changes: bool
    ) -> None:  # fmt: skip
        self._check(y, inputs, record)
        reactions, species = len(self.kernel.network.reactions), len(self.kernel.network.species)
        each = np.ascontiguousarray(np.broadcast_to(factors, (reactions,)), np.float64)
        packs, _, count, width = inputs.shape
        if not (packs and species):
            return
        place = list_of_cells(packs * width, species, width)
        cells = self.solver.arguments(place, inputs, CellSteps.zeros(packs, width), 0.0, 1.0)
        kept = record_argument(record)
        along = _ALONG(ctypes.addressof(kept), address(y), address(each))
        memory = aligned_zeros((self.kernel.functions.airshed_along_bytes(count),), np.uint8)
        shared = ctypes.addressof(cells), ctypes.addressof(self._method), ctypes.addressof(along)
        self.kernel.functions.airshed_along(*shared, int(changes), packs, address(memory))

    def _check(self, y: AnyArray, inputs: AnyArray, record: AcceptedSteps) -> None:
        """Refuse arrays that the compiled code, which gets addresses only, would read or write wrongly."""
        packs, coefficients, count, width = inputs.shape
        sources = self.solver.sources
        if coefficients != 1 or sources.emitted or sources.lost:
            raise KernelError("steps with changes are those of cells whose inputs stay, without emission and loss")
        if (count, width) != (self.solver.inputs, self.kernel.shape.width) or inputs.dtype != np.float64:
            raise KernelError(f"inputs of steps with changes are {inputs.shape} {inputs.dtype}")
        shape = packs, len(self.kernel.network.species), width
        if y.shape != shape or y.dtype != np.float64 or address(y) % ALIGNMENT:
            raise KernelError(f"concentrations are {y.shape} {y.dtype}, not {shape} at a multiple of {ALIGNMENT} bytes")
        ends = int((record.first + record.room).max(initial=0))
        if record.room.shape != (packs, width) or ends > len(record.step):
            raise KernelError(f"a record of {record.room.shape} cells does not fit {(packs, width)}")
        if any(not array.flags.c_contiguous for array in (y, inputs, *vars(record).values())):
            raise KernelError("arrays of cells with changes must be contiguous")
