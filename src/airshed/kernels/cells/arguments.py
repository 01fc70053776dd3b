"""What every backend's chemistry of cells reads and writes: where cells lie, their steps, inputs and tolerances."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import KernelError
from airshed.kernels.host import AnyArray, aligned_zeros
from airshed.mechanism.network import ReactionNetwork

if TYPE_CHECKING:
    from airshed.kernels.backend import CellKernel, CellSolver

Integers = npt.NDArray[np.int64]

AIR_INPUTS: Final = ("TEMP", "PRESS", "M", "O2", "N2", "H2O", "SUN", "sec_zenith", "daylight")
"""The inputs of a cell that every mechanism has, in the order of the compiled code."""

MOST_STEPS = 100_000
"""Steps of a cell in one call, after which it counts as failed."""


@dataclass(frozen=True)
class Tolerances:
    """When a step is accepted: its error's root mean square over absolute + relative |y| is at most 1.

    absolute  [molecules cm-3], one for all species or one for each
    """

    relative: float = 1e-3
    absolute: float | Array = 1e3


@dataclass(frozen=True)
class CellLayout:
    """How packs of cells lie in memory: pack p is level p % levels of block p // levels, strides in numbers.

    blocks, last_lanes  blocks in a row, and the lanes in use in the last one of each row
    mixing_ratios  whether concentrations are in parts of air [mol/mol] rather than the mechanism's own unit
    """

    levels: int
    blocks: int
    last_lanes: int
    block_stride: int
    level_stride: int
    species_stride: int
    mixing_ratios: bool = False

    def needed(self, packs: int, species: int, width: int) -> int:
        """Return how many numbers an array must have at least; raise KernelError where packs would overlap."""
        if self.levels < 1 or self.blocks < 1 or not 1 <= self.last_lanes <= width:
            raise KernelError(f"cells need a level, a block and 1 to {width} lanes in use, not {self}")
        extents = -(-packs // self.levels), min(self.levels, packs), species
        strides = self.block_stride, self.level_stride, self.species_stride
        free = width
        for stride, extent in sorted(zip(strides, extents, strict=True)):
            if extent < 2:
                continue
            if stride % width or stride < free:
                wanted = f"{extent} times {stride} must be a multiple of {width}, and not below {free}"
                raise KernelError(f"packs of {self} overlap, or begin within one another: {wanted}")
            free = stride * extent
        ends = (stride * (extent - 1) for stride, extent in zip(strides, extents, strict=True) if extent > 1)
        return width + sum(ends)


@dataclass(frozen=True)
class Concentrations:
    """Packed concentrations at the beginning and at the end of steps, which may be one array, and where cells lie."""

    before: AnyArray
    after: AnyArray
    layout: CellLayout


@dataclass(frozen=True)
class CellExtras:
    """Optional results of cell steps, in addition to concentrations; None is not written.

    clipped  what was added to concentrations to keep them from getting negative
    extra    (pack, species, width): the last species of the mechanism, which begin at zero and are not among those of
             the concentrations
    record   the accepted steps, as many of each cell as it has count for
    """

    clipped: AnyArray | None = None
    extra: AnyArray | None = None
    record: "AcceptedSteps | None" = None


NO_EXTRAS: Final = CellExtras()


@dataclass
class CellSteps:
    """The state of the step control of each cell, (pack, width).

    step      [s] to try first in the next call; 0 where none is known
    reached   [s] time up to which the result goes: the end, or less where it failed
    accepted, rejected  steps of the last call
    """

    step: Array
    reached: Array
    accepted: npt.NDArray[np.int32]
    rejected: npt.NDArray[np.int32]

    @classmethod
    def zeros(cls, packs: int, width: int) -> "CellSteps":
        """Return steps of cells without a history."""
        shape = packs, width
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int32), np.zeros(shape, np.int32))


@dataclass(frozen=True)
class AcceptedSteps:
    """The steps that counted, those of a cell in a row.

    first, count  (pack, width): where those of a cell begin, and how many it has
    time, step   [s] when each began, and how long it was, (step,)
    y            (step, species) the state then, in the order of elimination
    clipped      (step, species) whether the step made it negative, see ``kernels.cells.positivity``: 1, else 0
    """

    first: Integers
    count: Integers
    time: Array
    step: Array
    y: AnyArray
    clipped: npt.NDArray[np.uint8]

    @classmethod
    def for_counts(cls, accepted: npt.NDArray[np.int32], species: int, dtype: npt.DTypeLike) -> "AcceptedSteps":
        """Return a record for so many steps of each cell, (pack, width)."""
        count = accepted.astype(np.int64)
        ends = np.cumsum(count, dtype=np.int64).reshape(count.shape)
        total = int(ends.reshape(-1)[-1]) if count.size else 0
        y, clipped = np.zeros((total, species), dtype), np.zeros((total, species), np.uint8)
        return cls(ends - count, count, np.zeros(total), np.zeros(total), y, clipped)

    def of(self, chosen: npt.NDArray[np.bool_], width: int) -> "AcceptedSteps":
        """Return the record of some cells, packed in their order, which shares memory with this one."""
        cells = int(np.count_nonzero(chosen))
        first, count = (np.zeros((-(-cells // width), width), np.int64) for _ in range(2))
        first.reshape(-1)[:cells], count.reshape(-1)[:cells] = self.first[chosen], self.count[chosen]
        return replace(self, first=first, count=count)


@dataclass(frozen=True)
class CellAdjoints:
    """Adjoints of what steps begin with and are given, (pack, .., width).

    adjoint  (species) of concentrations at the beginning;  rates  (reaction) of a factor on the rate of a reaction
    sources  of a factor on each emission, then on each loss rate
    """

    adjoint: AnyArray
    rates: AnyArray
    sources: AnyArray


@dataclass(frozen=True)
class Sources:
    """Species that are emitted and species that are lost at a rate, by number, in the order of their inputs."""

    emitted: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()


NO_SOURCES: Final = Sources()
"""Nothing is emitted, and nothing lost."""


def pack_cells(values: npt.ArrayLike, width: int, dtype: npt.DTypeLike = np.float64) -> AnyArray:
    """Return (..., cell) as (pack, ..., width), the last cell repeated in what is left over of the last pack."""
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
    """Return how :func:`pack_cells` lays out `count` cells with (species, cell) concentrations."""
    packs = -(-count // width)
    return CellLayout(1, packs, count - (packs - 1) * width, species * width, 0, width)


def stack_inputs(
    kernel: "CellKernel", values: Mapping[str, npt.ArrayLike], sources: Sequence[npt.ArrayLike], cells: int
) -> Array:
    """Return constant inputs (pack, 1, inputs, width) from values by name [molecules, cm3, s, K, Pa], (cell,) or one.

    sources  emissions and loss rates in the order of :class:`Sources`
    Raises KernelError for an input that is not given and has no default.
    """
    known = {each.name: each.default for each in kernel.network.parameters if each.default is not None} | dict(values)
    missing = [name for name in kernel.inputs if name not in known]
    if missing:
        raise KernelError(f"cells need {', '.join(missing)}: give a value for each")
    rows = [known[name] for name in kernel.inputs] + list(sources)
    table = np.stack([np.broadcast_to(np.asarray(row, np.float64), (cells,)) for row in rows])
    return np.asarray(pack_cells(table[None], kernel.shape.width))


@dataclass(frozen=True)
class CellResults:
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
    solver: "CellSolver", y: npt.ArrayLike, inputs: AnyArray, start: float, end: float, *, first: npt.ArrayLike = 0.0
) -> CellResults:
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
    return CellResults(
        unpack_cells(packed, cells), unpack_cells(clipped, cells), steps.reached.reshape(-1)[:cells],
        steps.step.reshape(-1)[:cells], steps.accepted.reshape(-1)[:cells], steps.rejected.reshape(-1)[:cells],
    )  # fmt: skip


def series(
    kernel: "CellKernel", values: Callable[[Array], Mapping[str, npt.ArrayLike]], start: float, end: float, *,
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
