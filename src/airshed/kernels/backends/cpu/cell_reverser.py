"""Takes adjoints of many independent cells back over the steps that were accepted, on threads."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final

import numpy as np

from airshed.core.errors import KernelError
from airshed.kernels import abi
from airshed.kernels.backends.cpu.cell_derivatives import ChemistryDerivative
from airshed.kernels.backends.cpu.cell_solver import ChemistrySolver, method_argument, record_argument
from airshed.kernels.cells.data import AcceptedSteps, CellAdjoints, CellSteps, list_of_cells
from airshed.kernels.host import AnyArray, address, aligned_zeros

_BACKWARD: Final = abi.structure(abi.CELLS_ADJOINT, "Backward")


class ChemistryReverser:
    """The adjoint of what a solver does, along the steps that it has accepted."""

    def __init__(self, kernel: ChemistryDerivative, solver: ChemistrySolver) -> None:
        self.kernel, self.solver = kernel, solver
        self._method = method_argument(solver.method)

    def reverse(
        self, adjoint: AnyArray, inputs: AnyArray, record: AcceptedSteps, start: float, end: float
    ) -> CellAdjoints:
        """See :class:`airshed.kernels.cell_backend.CellReverser`; raises KernelError for arrays that do not fit."""
        self._check(adjoint, inputs, record)
        packs, _, _, width = inputs.shape
        network, solver = self.kernel.network, self.solver
        sources = len(solver.sources.emitted) + len(solver.sources.lost)
        found = CellAdjoints(
            _copy(adjoint),
            aligned_zeros((packs, len(network.reactions), width), np.float64),
            aligned_zeros((packs, sources, width), np.float64),
        )
        if not (packs and network.species):
            return found
        place = list_of_cells(packs * width, len(network.species), width)
        cells = solver.arguments(place, inputs, CellSteps.zeros(packs, width), start, end)
        kept = record_argument(record)
        backward = _BACKWARD(
            record=ctypes.addressof(kept), **{name: address(array) for name, array in vars(found).items()}
        )
        self._run(cells, backward, packs)
        return found

    def _run(self, cells: Any, backward: Any, packs: int) -> None:
        threads = min(self.solver.threads, packs)
        size = self.kernel.functions.airshed_reversed_bytes(cells.input_count, cells.degree)
        edges = [packs * number // threads for number in range(threads + 1)]
        shared = ctypes.addressof(cells), ctypes.addressof(self._method), ctypes.addressof(backward)

        def share(part: tuple[int, int]) -> None:
            memory = aligned_zeros((size,), np.uint8)
            self.kernel.functions.airshed_reverse(*shared, *part, address(memory))

        if threads == 1:
            return share((0, packs))
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(share, pairwise(edges)))

    def _check(self, adjoint: AnyArray, inputs: AnyArray, record: AcceptedSteps) -> None:
        """Refuse arrays that the compiled code, which gets addresses only, would read or write wrongly."""
        packs, coefficients, count, width = inputs.shape
        species, sources = len(self.kernel.network.species), self.solver.sources
        wanted = self.solver.inputs + len(sources.emitted) + len(sources.lost)
        if (count, width) != (wanted, self.kernel.shape.width) or inputs.dtype != np.float64:
            raise KernelError(f"inputs in reverse are {inputs.shape}, not {(packs, coefficients, wanted, width)}")
        if adjoint.shape != (packs, species, width) or adjoint.dtype != np.float64:
            raise KernelError(f"an adjoint of cells is {adjoint.shape}, not {(packs, species, width)}")
        steps = len(record.time)
        ends = int((record.first + record.room).max(initial=0))
        if record.room.shape != (packs, width) or record.y.shape != (steps, species) or ends > steps:
            raise KernelError(f"a record of {record.room.shape} cells does not fit {(packs, width)}")
        if record.y.dtype != self.kernel.dtype:
            raise KernelError(f"a record of cells is {record.y.dtype}, not {np.dtype(self.kernel.dtype)}")
        if any(not array.flags.c_contiguous for array in (adjoint, inputs, *vars(record).values())):
            raise KernelError("arrays of cells in reverse must be contiguous")


def _copy(values: AnyArray) -> AnyArray:
    copy = aligned_zeros(values.shape, values.dtype)
    copy[...] = values
    return copy
