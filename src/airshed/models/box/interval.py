"""Records of steps of boxes by a Rosenbrock method, from which adjoints are made.

The record of an interval is the state at its start, the inputs, and the step that was tried first. The same steps
follow from these, and are recorded one by one when an adjoint crosses the interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.core.errors import NumericalError
from airshed.kernels.cell_backend import CellSolver
from airshed.kernels.cells import AcceptedSteps, CellSteps, list_of_cells, pack_cells
from airshed.kernels.cells.data import CellExtras, Concentrations
from airshed.kernels.host import AnyArray
from airshed.models.box.series import degree_of

Array = npt.NDArray[np.float64]
Cells = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Expansion:
    """Cells whose content was multiplied by factors where the density of their air jumped."""

    cells: Cells
    factor: Array


@dataclass(frozen=True)
class BoxInterval:
    """An interval of some length [s] over which cells were integrated in one call.

    rows      inputs of the kernel, emissions and loss rates as series, coefficients (cell or 1, term)
    y         (species, cell) [molecules cm-3] at its beginning
    first     (cell,) [s] the step to try first;  accepted  (cell,) how many steps counted
    """

    solver: CellSolver
    cells: Cells
    length: float
    rows: Sequence[Array]
    y: Array
    first: Array
    accepted: npt.NDArray[np.int32]

    def of(self, chosen: Cells) -> "BoxInterval":
        """Return the interval of some of its cells, by their number in it."""
        rows = [row if len(row) == 1 else row[chosen] for row in self.rows]
        parts = self.cells[chosen], self.length, rows, self.y[:, chosen], self.first[chosen], self.accepted[chosen]
        return BoxInterval(self.solver, *parts)

    def recorded(self) -> AcceptedSteps:
        """Repeat its steps and return them."""
        kernel = self.solver.kernel
        width, count = kernel.shape.width, len(self.cells)
        packed = pack_cells(self.y, width, kernel.dtype)
        steps = CellSteps.zeros(len(packed), width)
        steps.step[...] = pack_cells(self.first, width)
        counts = np.zeros((len(packed), width), np.int32)
        counts.reshape(-1)[:count] = self.accepted
        record = AcceptedSteps.room_for(counts, len(self.y), kernel.dtype)
        state = Concentrations(packed, packed, list_of_cells(count, len(self.y), width))
        inputs = table_of(self.rows, count, width)
        self.solver.advance(state, inputs, steps, 0.0, self.length, CellExtras(record=record))
        if not np.array_equal(steps.accepted.reshape(-1)[:count], self.accepted):
            raise NumericalError("a box takes other steps the second time: there is no adjoint of the first ones")
        return record


def table_of(rows: Sequence[Array], count: int, width: int) -> AnyArray:
    """Return series (cell or 1, term) of `count` cells as the inputs of a solver, (pack, term, input, width)."""
    degree = degree_of(list(rows))
    table = np.zeros((degree + 1, len(rows), count))
    for number, row in enumerate(rows):
        terms = min(degree + 1, row.shape[1])
        table[:terms, number] = row[:, :terms].T
    return pack_cells(table, width)
