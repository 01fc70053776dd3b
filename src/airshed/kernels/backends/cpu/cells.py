"""Chemistry of independent cells: its compiled code, and its integration, adjoint and tangent on threads."""

import ctypes
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import KernelError
from airshed.kernels import abi
from airshed.kernels.backends.cpu.compiled import CompiledKernel, compiled
from airshed.kernels.cells.arguments import (
    MOST_STEPS,
    NO_EXTRAS,
    NO_SOURCES,
    AcceptedSteps,
    CellAdjoints,
    CellExtras,
    CellLayout,
    CellSteps,
    Concentrations,
    Sources,
    Tolerances,
    input_names,
    list_of_cells,
)
from airshed.kernels.cells.derivatives import emit_reverse, emit_tangent
from airshed.kernels.cells.emit import ChemistryShape, ChemistrySource, emit_chemistry
from airshed.kernels.cells.tableau import Tableau
from airshed.kernels.host import ALIGNMENT, AnyArray, address, aligned_copy, aligned_zeros, vector_doubles
from airshed.mechanism.network import ReactionNetwork

WIDTHS: Final = {"double": vector_doubles(), "single": 2 * vector_doubles()}
"""Cells per pack: one register of the widest vectors; half as many floats would need as many instructions."""

FLAGS: Final = ("-fno-tree-slp-vectorize",)
"""Statements already work on whole packs; a search for further vectorisation in thousands of them takes a second."""


CellDerivative = CompiledKernel[ChemistryShape, ChemistrySource]
"""The tangent or the adjoint of accepted steps as compiled code."""


@dataclass(frozen=True)
class CellKernel(CompiledKernel[ChemistryShape, ChemistrySource]):
    """A mechanism's chemistry of independent cells as compiled code."""

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs of a cell: its air, then the open parameters of the mechanism."""
        return input_names(self.network)

    @cached_property
    def reverse(self) -> CellDerivative:
        """The adjoint of the steps, compiled on first use."""
        return compile_reverse(self)

    @cached_property
    def tangent(self) -> CellDerivative:
        """The tangent of the steps, compiled on first use."""
        return compile_tangent(self)

    def solver(
        self, method: Tableau, tolerances: Tolerances, sources: Sources = NO_SOURCES, *, threads: int = 1, **limits: Any
    ) -> "CellSolver":  # fmt: skip
        """Return a solver for cells; limits: `longest` step [s], `most_steps` of a cell in one call."""
        return CellSolver(self, method, tolerances, sources, threads, **limits)


def compile_chemistry(
    network: ReactionNetwork, precision: str = "double", *, width: int | None = None, inspected: bool = False
) -> CellKernel:
    """Return the compiled chemistry of a mechanism, in "double" or "single" precision.

    width      cells per pack; None fills a register of the widest vectors
    inspected  whether tests can call rate constants, dy/dt and the Jacobian separately
    Raises KernelError without a compiler, or if the code does not compile.
    """
    shape = ChemistryShape(width or WIDTHS[precision], precision, inspected)
    return compiled(
        partial(CellKernel, network, shape), lambda: emit_chemistry(network, shape),
        name=f"{network.name}-cells-{precision}", flags=FLAGS,
    )  # fmt: skip


def compile_tangent(forward: CellKernel) -> CellDerivative:
    """Compile the tangent of the steps of a kernel; raises KernelError without a compiler, or on a compiler error."""
    return _derivative(forward, "tangent", lambda: emit_tangent(forward.network, forward.source))


def compile_reverse(forward: CellKernel) -> CellDerivative:
    """Compile the adjoint of the steps of a kernel; raises KernelError without a compiler, or on a compiler error."""
    return _derivative(forward, "reverse", lambda: emit_reverse(forward.network, forward.source))


def _derivative(forward: CellKernel, what: str, emit: Callable[[], ChemistrySource]) -> CellDerivative:
    name = f"{forward.network.name}-cells-{forward.shape.precision}-{what}"
    return compiled(partial(CellDerivative, forward.network, forward.shape), emit, name=name, flags=FLAGS)


_PACKS_IN_PIECE = 64

_CELLS: Final = abi.structure(abi.CELLS, "Cells")
_RECORD: Final = abi.structure(abi.CELLS, "Record")
_METHOD: Final = abi.structure(abi.CELLS, "Method")


def record_argument(steps: AcceptedSteps) -> Any:
    """Return a record of steps as the C structure."""
    return _RECORD(**{name: address(array) for name, array in vars(steps).items()})


def method_argument(tableau: Tableau) -> Any:
    """Return a method as the C structure."""

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
class CellSolver:
    """Integrator of dy/dt = P(y) - L(y) y + E - D y in every cell, see :mod:`airshed.kernels.cells.tableau`.

    longest     [s] longest step
    most_steps  of a cell in one call

    The result of a cell does not depend on its neighbours in a pack, nor on the number of threads.
    """

    kernel: CellKernel
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
            raise KernelError("tolerances must be finite and above zero: with 0 every step would be rejected")
        if not self.longest > 0.0 or self.most_steps < 1 or self.threads < 1:
            raise KernelError("the longest step, the number of steps and the number of threads must be above zero")
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
        """The number of inputs of a cell: inputs of the kernel, emissions, loss rates."""
        return len(self.kernel.inputs) + len(self.sources.emitted) + len(self.sources.lost)

    def advance(
        self, cells: Concentrations, inputs: AnyArray, steps: CellSteps, start: float, end: float,
        extras: CellExtras = NO_EXTRAS,
    ) -> None:  # fmt: skip
        """Integrate packed cells from `start` to `end` [s].

        cells   concentrations; the results are valid at `end` for cells with `steps.reached` equal to `end`
        inputs  (pack, degree + 1, inputs, width) Chebyshev coefficients over [start, end], see :attr:`inputs`
        Raises KernelError for arrays that do not fit.
        """
        packs, coefficients, count, width = inputs.shape
        if count != self.inputs or width != self.kernel.shape.width:
            expected = (packs, coefficients, self.inputs, self.kernel.shape.width)
            raise KernelError(f"inputs of cells are {inputs.shape}, not {expected}")
        if not start < end < np.inf:
            raise KernelError(f"cells are integrated from {start:g} s to {end:g} s: the end must be later, and finite")
        self._check_arrays({"inputs": inputs}, np.float64)
        clipped, extra, layout = extras.clipped, extras.extra, cells.layout
        others = {"clipped": clipped, "extra": extra}
        states = {"y": cells.before, "result": cells.after}
        states |= {name: array for name, array in others.items() if array is not None}
        self._check_arrays(states, self.kernel.dtype)
        self._check_steps(steps, packs)
        self._check_layout(states, layout, packs)
        if not self.kernel.network.species:
            steps.reached[...] = end
            return
        call = self.arguments(layout, inputs, steps, start, end)
        call.y, call.result = address(cells.before), address(cells.after)
        if clipped is not None:
            call.clipped = address(clipped)
        if extra is not None:
            call.extra, call.stored = address(extra), call.stored - extra.shape[1]
        kept = record_argument(extras.record) if extras.record is not None else None
        call.record = ctypes.addressof(kept) if kept is not None else None
        self._run(call, packs, coefficients - 1)

    def arguments(self, layout: CellLayout, inputs: AnyArray, steps: CellSteps, start: float, end: float) -> Any:
        """Return the C structure of a call, without the addresses of concentrations."""
        return _CELLS(
            levels=layout.levels, blocks=layout.blocks, last_lanes=layout.last_lanes,
            stored=len(self.kernel.network.species), block_stride=layout.block_stride, level_stride=layout.level_stride,
            species_stride=layout.species_stride, mixing_ratios=layout.mixing_ratios, inputs=address(inputs),
            input_count=inputs.shape[2], degree=inputs.shape[1] - 1, emitted_count=len(self.sources.emitted),
            lost_count=len(self.sources.lost), start=start, end=end, relative=self.tolerances.relative,
            longest=self.longest, most_steps=self.most_steps,
            **{name: address(array) for name, array in self._constants.items()},
            **{name: address(array) for name, array in vars(steps).items()},
        )  # fmt: skip

    def _check_arrays(self, arrays: Mapping[str, AnyArray], dtype: npt.DTypeLike) -> None:
        """Check arrays: compiled code receives only addresses, and would read or write others incorrectly."""
        for name, array in arrays.items():
            if array.dtype != dtype or not array.flags.c_contiguous or (array.size and address(array) % ALIGNMENT):
                expected = f"{np.dtype(dtype)}, contiguous, at a multiple of {ALIGNMENT} bytes"
                raise KernelError(f"{name} of cells must be {expected} (see pack_cells), not {array.dtype}")

    def _check_layout(self, states: Mapping[str, AnyArray], layout: CellLayout, packs: int) -> None:
        width, species = self.kernel.shape.width, len(self.kernel.network.species)
        if (extra := states.get("extra")) is not None:
            if extra.ndim != 3 or extra.shape[::2] != (packs, width) or extra.shape[1] > species:
                raise KernelError(f"extra of cells is {extra.shape}, not ({packs}, at most {species}, {width})")
            species -= extra.shape[1]
        if packs == 0 or species == 0:
            return
        least = layout.needed(packs, species, width)
        for name, array in states.items():
            if name != "extra" and array.size < least:
                message = f"{packs} packs of {species} species extend to number {least} of {layout}"
                raise KernelError(f"{name} of cells has {array.size} numbers, but {message}")

    def _check_steps(self, steps: CellSteps, packs: int) -> None:
        for name, array in vars(steps).items():
            dtype = np.int32 if name in ("accepted", "rejected") else np.float64
            shape = packs, self.kernel.shape.width
            if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
                raise KernelError(f"steps.{name} is {array.shape} {array.dtype}, not {shape} {np.dtype(dtype)}")

    def _run(self, cells: Any, packs: int, degree: int) -> None:
        function = self.kernel.functions.airshed_chemistry
        self._reserve(self.kernel.functions.airshed_worker_bytes(self.inputs, degree))
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

    def reversed(self) -> "CellReverser":
        """Return the adjoint of the solver, compiled on first use; raises KernelError."""
        return CellReverser(self.kernel.reverse, self)

    def tangent(self) -> "CellTangent":
        """Return the replay and the tangent of recorded steps, compiled on first use; raises KernelError."""
        return CellTangent(self.kernel.tangent, self)

    def with_more_steps(self, factor: int) -> "CellSolver":
        """Return a solver on one thread with a larger limit on steps, for cells that have failed."""
        return replace(self, threads=1, most_steps=factor * self.most_steps)

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown()


_BACKWARD: Final = abi.structure(abi.CELLS_ADJOINT, "Backward")


class CellReverser:
    """Adjoint of a solver along its accepted steps."""

    def __init__(self, kernel: CellDerivative, solver: CellSolver) -> None:
        self.kernel, self.solver = kernel, solver
        self._method = method_argument(solver.method)

    def reverse(
        self, adjoint: AnyArray, inputs: AnyArray, record: AcceptedSteps, start: float, end: float
    ) -> CellAdjoints:
        """Return the adjoints at `start` [s] from an adjoint of concentrations (pack, species, width) at `end` [s].

        inputs  inputs of the solver, followed by their derivatives with respect to a factor on each emission, then
                on each loss rate
        record  accepted steps; their lengths are constants, since step control is not differentiated
        Raises KernelError for arrays that do not fit.
        """
        self._check(adjoint, inputs, record)
        packs, _, _, width = inputs.shape
        network, solver = self.kernel.network, self.solver
        sources = len(solver.sources.emitted) + len(solver.sources.lost)
        found = CellAdjoints(
            aligned_copy(adjoint),
            aligned_zeros((packs, len(network.reactions), width), np.float64),
            aligned_zeros((packs, sources, width), np.float64),
        )
        if not (packs and network.species):
            return found
        layout = list_of_cells(packs * width, len(network.species), width)
        cells = solver.arguments(layout, inputs, CellSteps.zeros(packs, width), start, end)
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
        packs, coefficients, count, width = inputs.shape
        species, sources = len(self.kernel.network.species), self.solver.sources
        expected = self.solver.inputs + len(sources.emitted) + len(sources.lost)
        if (count, width) != (expected, self.kernel.shape.width) or inputs.dtype != np.float64:
            raise KernelError(f"inputs in reverse are {inputs.shape}, not {(packs, coefficients, expected, width)}")
        if adjoint.shape != (packs, species, width) or adjoint.dtype != np.float64:
            raise KernelError(f"an adjoint of cells is {adjoint.shape}, not {(packs, species, width)}")
        if record.y.shape != (len(record.step), species):
            raise KernelError(f"a record of {record.count.shape} cells does not fit {(packs, width)}")
        if record.y.dtype != self.kernel.dtype:
            raise KernelError(f"a record of cells is {record.y.dtype}, not {np.dtype(self.kernel.dtype)}")
        _check_record(record, packs, width, adjoint, inputs, what="in reverse")


def _check_record(record: AcceptedSteps, packs: int, width: int, *others: AnyArray, what: str) -> None:
    """Check the shape of a record and the layout of arrays: compiled code receives only addresses."""
    ends = int((record.first + record.count).max(initial=0))
    if record.count.shape != (packs, width) or ends > len(record.step):
        raise KernelError(f"a record of {record.count.shape} cells does not fit {(packs, width)}")
    if any(not array.flags.c_contiguous for array in (*others, *vars(record).values())):
        raise KernelError(f"arrays of cells {what} must be contiguous")


_ALONG: Final = abi.structure(abi.CELLS_TANGENT, "Along")


class CellTangent:
    """Replay of the recorded steps of a solver, and its tangent.

    The solver has no emissions and losses, and its inputs (pack, 1, inputs, width) are constant.
    """

    def __init__(self, kernel: CellDerivative, solver: CellSolver) -> None:
        self.kernel, self.solver = kernel, solver
        self._method = method_argument(solver.method)

    def repeat(self, y: AnyArray, inputs: AnyArray, record: AcceptedSteps, factors: Array) -> None:
        """Replay recorded steps: advance concentrations (pack, species, width) in place.

        record   steps; only their lengths are read
        factors  on rates of reactions (reaction,)
        Raises KernelError for arrays that do not fit.
        """
        self._advance(y, inputs, record, factors, changes=False)

    def along(self, change: AnyArray, inputs: AnyArray, record: AcceptedSteps, of_factors: Array) -> None:
        """Advance tangents of concentrations (pack, species, width) by recorded steps, in place.

        of_factors  tangents of the factors on rates of reactions (reaction,); the factors are one
        Raises KernelError for arrays that do not fit.
        """
        if record.y.shape != (len(record.step), len(self.kernel.network.species)):
            raise KernelError("the tangent of steps requires a record with the states between the steps")
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
        layout = list_of_cells(packs * width, species, width)
        cells = self.solver.arguments(layout, inputs, CellSteps.zeros(packs, width), 0.0, 1.0)
        kept = record_argument(record)
        along = _ALONG(ctypes.addressof(kept), address(y), address(each))
        memory = aligned_zeros((self.kernel.functions.airshed_along_bytes(count),), np.uint8)
        shared = ctypes.addressof(cells), ctypes.addressof(self._method), ctypes.addressof(along)
        self.kernel.functions.airshed_along(*shared, int(changes), packs, address(memory))

    def _check(self, y: AnyArray, inputs: AnyArray, record: AcceptedSteps) -> None:
        packs, coefficients, count, width = inputs.shape
        sources = self.solver.sources
        if coefficients != 1 or sources.emitted or sources.lost:
            raise KernelError("replayed steps require constant inputs, without emission and loss")
        if (count, width) != (self.solver.inputs, self.kernel.shape.width) or inputs.dtype != np.float64:
            raise KernelError(f"inputs of replayed steps are {inputs.shape} {inputs.dtype}")
        shape = packs, len(self.kernel.network.species), width
        if y.shape != shape or y.dtype != np.float64 or address(y) % ALIGNMENT:
            raise KernelError(f"concentrations are {y.shape} {y.dtype}, not {shape} at a multiple of {ALIGNMENT} bytes")
        _check_record(record, packs, width, y, inputs, what="of replayed steps")
