"""The compiled Rosenbrock solver applied to lists of cells: plain arrays in, plain arrays out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.kernels.backend import CellKernel, CellSolver
from airshed.kernels.cells.data import (
    CellExtras,
    CellSteps,
    Concentrations,
    list_of_cells,
    pack_cells,
    stack_inputs,
    unpack_cells,
)
from airshed.kernels.host import AnyArray, aligned_zeros
from airshed.mechanism.network import ReactionNetwork

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Integrated:
    """What an integration leaves of each cell.

    y, clipped  (species, cell) [molecules cm-3];  reached, step  (cell,) [s];  accepted, rejected  (cell,) steps
    """

    y: Array
    clipped: Array
    reached: Array
    step: Array
    accepted: npt.NDArray[np.int32]
    rejected: npt.NDArray[np.int32]


def integrate_cells(
    solver: CellSolver, y: npt.ArrayLike, inputs: AnyArray, start: float, end: float, *, first: npt.ArrayLike = 0.0
) -> Integrated:
    """Integrate y (species, cell) from `start` to `end` [s].

    inputs  as ``stack_inputs`` or :func:`series` give them;  first  [s] step to try, (cell,) or one
    """
    species, cells = np.shape(y)
    width, packs = solver.kernel.shape.width, len(inputs)
    packed = pack_cells(y, width, solver.kernel.dtype)
    clipped = aligned_zeros(packed.shape, solver.kernel.dtype)
    steps = CellSteps.zeros(packs, width)
    steps.step[...] = pack_cells(np.broadcast_to(np.asarray(first, np.float64), (cells,)), width)
    state = Concentrations(packed, packed, list_of_cells(cells, species, width))
    solver.advance(state, inputs, steps, start, end, CellExtras(clipped))
    return Integrated(
        unpack_cells(packed, cells), unpack_cells(clipped, cells), steps.reached.reshape(-1)[:cells],
        steps.step.reshape(-1)[:cells], steps.accepted.reshape(-1)[:cells], steps.rejected.reshape(-1)[:cells],
    )  # fmt: skip


def series(
    kernel: CellKernel, values: Callable[[Array], Mapping[str, npt.ArrayLike]], start: float, end: float, *,
    degree: int, cells: int = 1, sources: Callable[[Array], Sequence[npt.ArrayLike]] = lambda times: (),
) -> AnyArray:  # fmt: skip
    """Return inputs (pack, degree + 1, inputs, width) that interpolate functions of time at Chebyshev's points.

    values   of times (time,) by name: (time, cell), (time,) or one;  sources  emissions, then loss rates, likewise
    """
    count = degree + 1
    angle = (np.arange(count) + 0.5) * np.pi / count
    times = 0.5 * (start + end) + 0.5 * (end - start) * np.cos(angle)

    def rows(value: npt.ArrayLike) -> Array:
        array = np.asarray(value, np.float64)
        return np.broadcast_to(array[:, None] if array.ndim == 1 else array, (count, cells))

    known = {name: rows(value) for name, value in values(times).items()}
    others = [rows(value) for value in sources(times)]
    tables = [
        stack_inputs(kernel, {name: row[n] for name, row in known.items()}, [row[n] for row in others], cells)[:, 0]
        for n in range(count)
    ]
    weights = 2.0 / count * np.cos(np.outer(np.arange(count), angle))
    weights[0] *= 0.5
    coefficients = aligned_zeros((len(tables[0]), count, *tables[0].shape[1:]), np.float64)
    coefficients[...] = np.einsum("dn,npiw->pdiw", weights, tables)
    return coefficients


def initial(network: ReactionNetwork, cells: int = 1) -> Array:
    """Return the initial values that a mechanism's file gives, (species, cell)."""
    given = {name.casefold(): value for name, value in network.initial.items()}
    column = np.array([given.get(name.casefold(), 0.0) for name in network.names])
    return np.repeat(column[:, None], cells, axis=1)
