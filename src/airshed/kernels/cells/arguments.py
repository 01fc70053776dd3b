"""Inputs and outputs of the chemistry of cells on every backend: memory layout, steps, inputs and tolerances."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import KernelError
from airshed.kernels.host import HOST, AnyArray, Memory, aligned_zeros
from airshed.mechanism.network import ReactionNetwork

if TYPE_CHECKING:
    from airshed.kernels.backend import CellKernel, CellSolver

Integers = npt.NDArray[np.int64]

AIR_INPUTS: Final = ("TEMP", "PRESS", "M", "O2", "N2", "H2O", "SUN", "sec_zenith", "daylight")
"""The inputs of a cell for every mechanism, in the order of the compiled code."""

MOST_STEPS = 100_000
"""Steps of a cell in one call, after which it has failed."""


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of a step: it is accepted if the root mean square of error / (absolute + relative |y|) is at most 1.

    absolute  [molecules cm-3], one for all species or one per species
    """

    relative: float = 1e-3
    absolute: float | Array = 1e3


@dataclass(frozen=True)
class CellLayout:
    """Memory layout of packs of cells: pack p is level p % levels of block p // levels; strides count numbers.

    blocks, last_lanes  blocks in a row, and the lanes in use in the last block of each row
    mixing_ratios       whether concentrations are mixing ratios [mol/mol], not in the unit of the mechanism
    """

    levels: int
    blocks: int
    last_lanes: int
    block_stride: int
    level_stride: int
    species_stride: int
    mixing_ratios: bool = False

    def needed(self, packs: int, species: int, width: int) -> int:
        """Return the minimum size of an array; raise KernelError if packs overlap."""
        if self.levels < 1 or self.blocks < 1 or not 1 <= self.last_lanes <= width:
            raise KernelError(f"cells need a level, a block and 1 to {width} lanes in use, not {self}")
        extents = -(-packs // self.levels), min(self.levels, packs), species
        strides = self.block_stride, self.level_stride, self.species_stride
        free = width
        for stride, extent in sorted(zip(strides, extents, strict=True)):
            if extent < 2:
                continue
            if stride % width or stride < free:
                expected = f"{extent} times {stride} must be a multiple of {width}, and not below {free}"
                raise KernelError(f"packs of {self} overlap or interleave: {expected}")
            free = stride * extent
        ends = (stride * (extent - 1) for stride, extent in zip(strides, extents, strict=True) if extent > 1)
        return width + sum(ends)


@dataclass(frozen=True)
class Concentrations:
    """Packed concentrations at the start and at the end of steps, possibly one array, and their layout."""

    before: AnyArray
    after: AnyArray
    layout: CellLayout


@dataclass(frozen=True)
class CellExtras:
    """Optional results of cell steps, in addition to concentrations; None is not written.

    clipped  amounts added to concentrations to keep them from becoming negative
    extra    (pack, species, width): the last species of the mechanism, which start at zero and are not part of the
             concentrations
    record   accepted steps; its `count` is the number of steps of each cell
    """

    clipped: AnyArray | None = None
    extra: AnyArray | None = None
    record: "AcceptedSteps | None" = None


NO_EXTRAS: Final = CellExtras()


@dataclass
class CellSteps:
    """The state of the step control of each cell, (pack, width).

    step      [s] first step of the next call; 0 if unknown
    reached   [s] time of the result: the end, or earlier if the cell failed
    accepted, rejected  steps of the last call
    """

    step: Array
    reached: Array
    accepted: npt.NDArray[np.int32]
    rejected: npt.NDArray[np.int32]

    @classmethod
    def zeros(cls, packs: int, width: int, memory: Memory = HOST) -> "CellSteps":
        """Return the state of cells without earlier steps; memory: its allocator."""

        def zeros(dtype: npt.DTypeLike) -> AnyArray:
            return aligned_zeros((packs, width), dtype, memory)

        step, reached = (zeros(np.float64).view(np.float64) for _ in range(2))
        return cls(step, reached, zeros(np.int32).view(np.int32), zeros(np.int32).view(np.int32))


@dataclass(frozen=True)
class AcceptedSteps:
    """Record of accepted steps; the steps of a cell are contiguous.

    first, count  (pack, width): index of the first step of a cell, and number of its steps
    time, step    (step,) [s] start and length of each step
    y             (step, species) state at the start, in the order of elimination
    clipped       (step, species) 1 if the step made the species negative, else 0; see ``kernels.cells.positivity``
    """

    first: Integers
    count: Integers
    time: Array
    step: Array
    y: AnyArray
    clipped: npt.NDArray[np.uint8]

    @classmethod
    def for_counts(cls, accepted: npt.NDArray[np.int32], species: int, dtype: npt.DTypeLike) -> "AcceptedSteps":
        """Return an empty record for a number of steps of each cell, (pack, width)."""
        count = accepted.astype(np.int64)
        ends = np.cumsum(count, dtype=np.int64).reshape(count.shape)
        total = int(ends.reshape(-1)[-1]) if count.size else 0
        y, clipped = np.zeros((total, species), dtype), np.zeros((total, species), np.uint8)
        return cls(ends - count, count, np.zeros(total), np.zeros(total), y, clipped)

    def of(self, chosen: npt.NDArray[np.bool_], width: int) -> "AcceptedSteps":
        """Return the record of some cells, packed in their order; it shares memory with this record."""
        cells = int(np.count_nonzero(chosen))
        first, count = (np.zeros((-(-cells // width), width), np.int64) for _ in range(2))
        first.reshape(-1)[:cells], count.reshape(-1)[:cells] = self.first[chosen], self.count[chosen]
        return replace(self, first=first, count=count)


@dataclass(frozen=True)
class CellAdjoints:
    """Adjoints of the inputs of steps, (pack, .., width).

    adjoint  (species) of concentrations at the start;  rates  (reaction) of a factor on the rate of a reaction
    sources  of a factor on each emission, then on each loss rate
    """

    adjoint: AnyArray
    rates: AnyArray
    sources: AnyArray


def input_names(network: ReactionNetwork) -> tuple[str, ...]:
    """Return the names of the inputs of a cell: its air, then the open parameters of the mechanism."""
    return AIR_INPUTS + tuple(each.name for each in network.parameters)


@dataclass(frozen=True)
class Sources:
    """Indices of emitted species and of species with a loss rate, in the order of their inputs."""

    emitted: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()


NO_SOURCES: Final = Sources()
"""No emissions and no losses."""


def pack_cells(values: npt.ArrayLike, width: int, dtype: npt.DTypeLike = np.float64) -> AnyArray:
    """Return (..., cell) as (pack, ..., width); the last cell fills the rest of the last pack."""
    array = np.asarray(values, np.float64)
    packs = -(-array.shape[-1] // width)
    padded = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, packs * width - array.shape[-1])], mode="edge")
    packed = aligned_zeros((packs, *array.shape[:-1], width), dtype)
    packed[...] = np.moveaxis(padded.reshape(*array.shape[:-1], packs, width), -2, 0)
    return packed


def unpack_cells(packed: AnyArray, cells: int) -> Array:
    """Return (pack, ..., width) as (..., cell) in double."""
    moved = np.moveaxis(packed, 0, -2)
    return np.asarray(moved.reshape(*moved.shape[:-2], len(packed) * packed.shape[-1])[..., :cells], np.float64)


def list_of_cells(count: int, species: int, width: int) -> CellLayout:
    """Return the layout of (species, cell) concentrations of `count` cells after :func:`pack_cells`."""
    packs = -(-count // width)
    return CellLayout(1, packs, count - (packs - 1) * width, species * width, 0, width)


def stack_inputs(
    kernel: "CellKernel", values: Mapping[str, npt.ArrayLike], sources: Sequence[npt.ArrayLike], cells: int
) -> Array:
    """Return constant inputs (pack, 1, inputs, width) from values by name [molecules, cm3, s, K, Pa], (cell,) or one.

    sources  emissions and loss rates in the order of :class:`Sources`
    Raises KernelError for a missing input without a default.
    """
    known = {each.name: each.default for each in kernel.network.parameters if each.default is not None} | dict(values)
    missing = [name for name in kernel.inputs if name not in known]
    if missing:
        raise KernelError(f"cells need {', '.join(missing)}: pass a value for each")
    rows = [known[name] for name in kernel.inputs] + list(sources)
    table = np.stack([np.broadcast_to(np.asarray(row, np.float64), (cells,)) for row in rows])
    return np.asarray(pack_cells(table[None], kernel.shape.width))


@dataclass(frozen=True)
class CellResults:
    """Result of an integration for each cell.

    y, clipped  (species, cell) [molecules cm-3];  reached, step  (cell,) [s];  accepted, rejected  (cell,) steps
    """

    y: Array
    clipped: Array
    reached: Array
    step: Array
    accepted: npt.NDArray[np.int32]
    rejected: npt.NDArray[np.int32]


def integrate_cells(
    solver: "CellSolver", y: npt.ArrayLike, inputs: AnyArray, start: float, end: float, *, first: npt.ArrayLike = 0.0
) -> CellResults:
    """Integrate y (species, cell) from `start` to `end` [s].

    inputs  from ``stack_inputs`` or :func:`series`;  first  [s] first step, (cell,) or one for all
    """
    species, cells = np.shape(y)
    width, packs = solver.kernel.shape.width, len(inputs)
    packed = pack_cells(y, width, solver.kernel.dtype)
    clipped = aligned_zeros(packed.shape, solver.kernel.dtype)
    steps = CellSteps.zeros(packs, width)
    steps.step[...] = pack_cells(np.broadcast_to(np.asarray(first, np.float64), (cells,)), width)
    state = Concentrations(packed, packed, list_of_cells(cells, species, width))
    solver.advance(state, inputs, steps, start, end, CellExtras(clipped))
    return CellResults(
        unpack_cells(packed, cells), unpack_cells(clipped, cells), steps.reached.reshape(-1)[:cells],
        steps.step.reshape(-1)[:cells], steps.accepted.reshape(-1)[:cells], steps.rejected.reshape(-1)[:cells],
    )  # fmt: skip


def series(
    kernel: "CellKernel", values: Callable[[Array], Mapping[str, npt.ArrayLike]], start: float, end: float, *,
    degree: int, cells: int = 1, sources: Callable[[Array], Sequence[npt.ArrayLike]] = lambda times: (),
) -> AnyArray:  # fmt: skip
    """Return inputs (pack, degree + 1, inputs, width) that interpolate functions of time at Chebyshev points.

    values   function of times (time,), by name: (time, cell), (time,) or one
    sources  likewise emissions, then loss rates
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
    """Return the initial values in the file of a mechanism, (species, cell)."""
    given = {name.casefold(): value for name, value in network.initial.items()}
    column = np.array([given.get(name.casefold(), 0.0) for name in network.names])
    return np.repeat(column[:, None], cells, axis=1)
