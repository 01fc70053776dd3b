"""Integrates the chemistry of many independent cells by a Rosenbrock method, on threads."""

import ctypes
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from airshed.core.errors import KernelError
from airshed.kernels.chemistry.tableau import Tableau
from airshed.kernels.cpu.chemistry.arguments import Cells, method_argument
from airshed.kernels.cpu.chemistry.kernel import ChemistryKernel
from airshed.kernels.memory import ALIGNMENT, AnyArray, address, aligned_zeros

Array = npt.NDArray[np.float64]

MOST_STEPS = 100_000
"""Steps of a cell in one call, after which it counts as failed."""

_PACKS_IN_PIECE = 64


@dataclass(frozen=True)
class Tolerances:
    """Tolerances: a step is accepted if the root mean square of its error over absolute + relative |y| is at most 1.

    absolute  [molecules cm-3], one for all species or one for each
    """

    relative: float = 1e-3
    absolute: float | Array = 1e3


@dataclass(frozen=True)
class Place:
    """The memory layout of packs of cells: pack p is level p % levels of block p // levels, strides in numbers.

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
class Sources:
    """Species that are emitted and species that are lost at a rate, by number, in the order of their inputs."""

    emitted: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()


@dataclass
class ChemistrySolver:
    """Advances dy/dt = P(y) - L(y) y + E - D y in every cell, see :mod:`airshed.kernels.chemistry.tableau`.

    longest     [s] longest step
    most_steps  of a cell in one call
    A cell's result does not depend on its neighbours in a pack, nor on the number of threads.
    """

    kernel: ChemistryKernel
    method: Tableau
    tolerances: Tolerances = field(default_factory=Tolerances)
    sources: Sources = field(default_factory=Sources)
    threads: int = 1
    longest: float = np.inf
    most_steps: int = MOST_STEPS

    def __post_init__(self) -> None:
        order = self.kernel.source.elimination.order
        absolute = np.broadcast_to(np.asarray(self.tolerances.absolute, np.float64), (len(order),))
        if not (np.isfinite(absolute).all() and (absolute > 0.0).all() and self.tolerances.relative > 0.0):
            raise KernelError("tolerances must be finite and above zero: with 0 no step is ever accurate enough")
        if not self.longest > 0.0 or self.most_steps < 1 or self.threads < 1:
            raise KernelError("the longest step, the number of steps and that of threads must be above zero")
        places = self.kernel.source.elimination.place
        self._method = method_argument(self.method)
        self._constants: dict[str, AnyArray] = {
            "absolute": np.ascontiguousarray(absolute[list(order)]),
            "emitted": np.array([places[species] for species in self.sources.emitted], np.int32),
            "lost": np.array([places[species] for species in self.sources.lost], np.int32),
        }
        self._pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None
        self._memory: list[AnyArray] = []

    @property
    def inputs(self) -> int:
        """The number of inputs of a cell: those of the kernel, emissions, loss rates."""
        return len(self.kernel.inputs) + len(self.sources.emitted) + len(self.sources.lost)

    def advance(
        self, y: AnyArray, result: AnyArray, place: Place, inputs: AnyArray, steps: CellSteps, start: float,
        end: float, *, clipped: AnyArray | None = None, extra: AnyArray | None = None,
    ) -> None:  # fmt: skip
        """Integrate packed cells from `start` to `end` [s].

        reads   y       concentrations, as `place` says
                inputs  (pack, degree + 1, inputs, width) Chebyshev coefficients over [start, end], see :attr:`inputs`
        writes  result  concentrations at the end, where `steps.reached` says so; may be y itself
                clipped what was added to avoid negative values
                extra   (pack, species, width): the last species of the mechanism, which begin at zero and are not
                        among those of y and result
        """
        packs, coefficients, count, width = inputs.shape
        if count != self.inputs or width != self.kernel.shape.width:
            wanted = (packs, coefficients, self.inputs, self.kernel.shape.width)
            raise KernelError(f"inputs of cells are {inputs.shape}, not {wanted}")
        if not start < end < np.inf:
            raise KernelError(f"cells are integrated from {start:g} s to {end:g} s: the end must be later, and finite")
        self._check_arrays({"inputs": inputs}, np.float64)
        others = {"clipped": clipped, "extra": extra}
        states = {"y": y, "result": result, **{name: array for name, array in others.items() if array is not None}}
        self._check_arrays(states, self.kernel.dtype)
        self._check_steps(steps, packs)
        self._check_places(states, place, packs)
        if not self.kernel.network.species:
            steps.reached[...] = end
            return
        cells = Cells(
            levels=place.levels, blocks=place.blocks, last_lanes=place.last_lanes, y=address(y),
            result=address(result), clipped=address(clipped) if clipped is not None else None,
            extra=address(extra) if extra is not None else None,
            stored=len(self.kernel.network.species) - (extra.shape[1] if extra is not None else 0),
            block_stride=place.block_stride, level_stride=place.level_stride, species_stride=place.species_stride,
            mixing_ratios=place.mixing_ratios, inputs=address(inputs), input_count=count, degree=coefficients - 1,
            emitted_count=len(self.sources.emitted), lost_count=len(self.sources.lost),
            start=start, end=end, relative=self.tolerances.relative, longest=self.longest, most_steps=self.most_steps,
            **{name: address(array) for name, array in self._constants.items()},
            **{name: address(getattr(steps, name)) for name in ("step", "reached", "accepted", "rejected")},
        )  # fmt: skip
        self._run(cells, packs, coefficients - 1)

    def _check_arrays(self, arrays: Mapping[str, AnyArray], dtype: npt.DTypeLike) -> None:
        """Refuse arrays that the compiled code, which gets addresses only, would read or write wrongly."""
        for name, array in arrays.items():
            if array.dtype != dtype or not array.flags.c_contiguous or (array.size and address(array) % ALIGNMENT):
                wanted = f"{np.dtype(dtype)}, contiguous, at a multiple of {ALIGNMENT} bytes"
                raise KernelError(f"{name} of cells must be {wanted} (see pack_cells), not {array.dtype}")

    def _check_places(self, states: Mapping[str, AnyArray], place: Place, packs: int) -> None:
        width, species = self.kernel.shape.width, len(self.kernel.network.species)
        if (extra := states.get("extra")) is not None:
            if extra.ndim != 3 or extra.shape[::2] != (packs, width) or extra.shape[1] > species:
                raise KernelError(f"extra of cells is {extra.shape}, not ({packs}, at most {species}, {width})")
            species -= extra.shape[1]
        if packs == 0 or species == 0:
            return
        least = place.needed(packs, species, width)
        for name, array in states.items():
            if name != "extra" and array.size < least:
                message = f"{packs} packs of {species} species reach up to number {least} of {place}"
                raise KernelError(f"{name} of cells has {array.size} numbers, but {message}")

    def _check_steps(self, steps: CellSteps, packs: int) -> None:
        for name, array in vars(steps).items():
            dtype = np.int32 if name in ("accepted", "rejected") else np.float64
            shape = packs, self.kernel.shape.width
            if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
                raise KernelError(f"steps.{name} is {array.shape} {array.dtype}, not {shape} {np.dtype(dtype)}")

    def _run(self, cells: Cells, packs: int, degree: int) -> None:
        function = self.kernel.functions.airshed_chemistry
        self._reserve(self.kernel.functions.airshed_lanes_bytes(self.inputs, degree))
        size = max(1, min(_PACKS_IN_PIECE, packs // (2 * self.threads)))
        edges = [*range(0, packs, size), packs]
        pieces = np.array(list(pairwise(edges)), np.int64).reshape(-1, 2)
        if self._pool is None:
            pieces = np.array([[0, packs]], np.int64)
        taken = np.zeros(1, np.int64)
        shared = ctypes.addressof(cells), ctypes.addressof(self._method), address(pieces), len(pieces), address(taken)
        own, *others = ((*shared, address(memory)) for memory in self._memory)
        jobs = [self._pool.submit(function, *arguments) for arguments in others] if self._pool else []
        function(*own)
        for job in jobs:
            job.result()

    def _reserve(self, size: int) -> None:
        if not self._memory or self._memory[0].nbytes < size:
            self._memory = [aligned_zeros((size,), np.uint8) for _ in range(self.threads)]

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()


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


def list_of_cells(count: int, species: int, width: int) -> Place:
    """Return how :func:`pack_cells` lays out `count` cells with (species, cell) concentrations."""
    packs = -(-count // width)
    return Place(1, packs, count - (packs - 1) * width, species * width, 0, width)


def stack_inputs(
    kernel: ChemistryKernel, values: Mapping[str, npt.ArrayLike], sources: Sequence[npt.ArrayLike], cells: int
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
