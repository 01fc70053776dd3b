"""Integrates the chemistry of many independent cells by a Rosenbrock method, on threads."""

import ctypes
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import KernelError
from airshed.kernels import abi
from airshed.kernels.backends.cpu.cell_kernel import ChemistryKernel
from airshed.kernels.cells.data import (
    MOST_STEPS,
    NO_EXTRAS,
    AcceptedSteps,
    CellExtras,
    CellSteps,
    Concentrations,
    Place,
    Sources,
    Tolerances,
)
from airshed.kernels.cells.tableau import Tableau
from airshed.kernels.host import ALIGNMENT, AnyArray, address, aligned_zeros

if TYPE_CHECKING:
    from airshed.kernels.backends.cpu.cell_reverser import ChemistryReverser
    from airshed.kernels.backends.cpu.cell_tangent import ChemistryTangent

Array = npt.NDArray[np.float64]

_PACKS_IN_PIECE = 64

_CELLS: Final = abi.structure(abi.CELLS, "Cells")
_RECORD: Final = abi.structure(abi.CELLS, "Record")
_METHOD: Final = abi.structure(abi.CELLS, "Method")


def record_argument(steps: AcceptedSteps) -> Any:
    """Return a record of steps as the structure of compiled code."""
    return _RECORD(**{name: address(array) for name, array in vars(steps).items()})


def method_argument(tableau: Tableau) -> Any:
    """Return a method as the structure of compiled code."""

    def row(values: Iterable[float]) -> tuple[float, ...]:
        return tuple(np.pad(np.array([*values], float), (0, abi.MOST_STAGES))[: abi.MOST_STAGES].tolist())

    nothing = (row([]),) * (abi.MOST_STAGES - tableau.stages)
    return _METHOD(
        stages=tableau.stages, order=tableau.order, gamma=tableau.gamma,
        a=(*map(row, tableau.a), *nothing), c=(*map(row, tableau.c), *nothing), m=row(tableau.m), e=row(tableau.e),
        alpha=row(tableau.alpha), gamma_sum=row(tableau.gamma_sums),
        evaluates=tuple(map(int, row(tableau.evaluates))),
    )  # fmt: skip


@dataclass
class ChemistrySolver:
    """Advances dy/dt = P(y) - L(y) y + E - D y in every cell, see :mod:`airshed.kernels.cells.tableau`.

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
        self, cells: Concentrations, inputs: AnyArray, steps: CellSteps, start: float, end: float,
        extras: CellExtras = NO_EXTRAS,
    ) -> None:  # fmt: skip
        """See :class:`airshed.kernels.cell_backend.CellSolver`; raises KernelError for arrays that do not fit."""
        packs, coefficients, count, width = inputs.shape
        if count != self.inputs or width != self.kernel.shape.width:
            wanted = (packs, coefficients, self.inputs, self.kernel.shape.width)
            raise KernelError(f"inputs of cells are {inputs.shape}, not {wanted}")
        if not start < end < np.inf:
            raise KernelError(f"cells are integrated from {start:g} s to {end:g} s: the end must be later, and finite")
        self._check_arrays({"inputs": inputs}, np.float64)
        clipped, extra, place = extras.clipped, extras.extra, cells.place
        others = {"clipped": clipped, "extra": extra}
        states = {"y": cells.before, "result": cells.after}
        states |= {name: array for name, array in others.items() if array is not None}
        self._check_arrays(states, self.kernel.dtype)
        self._check_steps(steps, packs)
        self._check_places(states, place, packs)
        if not self.kernel.network.species:
            steps.reached[...] = end
            return
        call = self.arguments(place, inputs, steps, start, end)
        call.y, call.result = address(cells.before), address(cells.after)
        if clipped is not None:
            call.clipped = address(clipped)
        if extra is not None:
            call.extra, call.stored = address(extra), call.stored - extra.shape[1]
        kept = record_argument(extras.record) if extras.record is not None else None
        call.record = ctypes.addressof(kept) if kept is not None else None
        self._run(call, packs, coefficients - 1)

    def arguments(self, place: Place, inputs: AnyArray, steps: CellSteps, start: float, end: float) -> Any:
        """Return the settings of a call, without the addresses of concentrations."""
        return _CELLS(
            levels=place.levels, blocks=place.blocks, last_lanes=place.last_lanes,
            stored=len(self.kernel.network.species), block_stride=place.block_stride, level_stride=place.level_stride,
            species_stride=place.species_stride, mixing_ratios=place.mixing_ratios, inputs=address(inputs),
            input_count=inputs.shape[2], degree=inputs.shape[1] - 1, emitted_count=len(self.sources.emitted),
            lost_count=len(self.sources.lost), start=start, end=end, relative=self.tolerances.relative,
            longest=self.longest, most_steps=self.most_steps,
            **{name: address(array) for name, array in self._constants.items()},
            **{name: address(array) for name, array in vars(steps).items()},
        )  # fmt: skip

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

    def _run(self, cells: Any, packs: int, degree: int) -> None:
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

    def reversed(self) -> "ChemistryReverser":
        """Return the adjoint of what it does, compiled when it is first asked for; raises KernelError."""
        from airshed.kernels.backends.cpu.cell_reverser import ChemistryReverser

        return ChemistryReverser(self.kernel.reverse, self)

    def tangent(self) -> "ChemistryTangent":
        """Return its steps with changes of what they are given, compiled when first asked for; raises KernelError."""
        from airshed.kernels.backends.cpu.cell_tangent import ChemistryTangent

        return ChemistryTangent(self.kernel.tangent, self)

    def with_more_steps(self, factor: int) -> "ChemistrySolver":
        """Return a solver on one thread that may take so many times as many steps, for cells that have failed."""
        return replace(self, threads=1, most_steps=factor * self.most_steps)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
