"""Chemistry of independent cells on a device: the code of the CPU, with a thread for each lane of a pack.

Each thread takes cells from a common queue, and uses the time, step and error control of its cell. Arrays of a call
that the device has allocated (``Layout.memory``) are used in place; others are copied.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from airshed.core.errors import KernelError
from airshed.kernels import abi
from airshed.kernels.backends.cpu.cells import CellSolver
from airshed.kernels.backends.cpu.compiled import GeneratedKernel, timed
from airshed.kernels.backends.cuda.device import WARP, Device, Kernel, present_device
from airshed.kernels.backends.cuda.memory import WorkingMemory, foreign_members
from airshed.kernels.cells.arguments import (
    NO_EXTRAS,
    NO_SOURCES,
    CellExtras,
    CellSteps,
    Concentrations,
    Sources,
    Tolerances,
    input_names,
)
from airshed.kernels.cells.emit import ChemistryShape, ChemistrySource, Target, emit_chemistry
from airshed.kernels.cells.tableau import Tableau
from airshed.kernels.host import AnyArray, address, aligned_zeros
from airshed.mechanism.network import ReactionNetwork

CELLS: Final = Target(
    ("backends/cuda/pack.hpp", "backends/cuda/cell_vectors.hpp"),
    ("backends/cuda/cell_worker.hpp", "cells/rosenbrock.hpp", "backends/cuda/cell_queue.hpp"),
    doubles=WARP, longest=20_000, loads=48, structures=abi.CELLS + abi.CELLS_DEVICE,
)  # fmt: skip
"""Cells on a device."""

RESIDENT: Final = 8
"""Resident warps of a multiprocessor: each thread uses 255 registers, which leaves no space for more."""

_CALL, _CELLS, _METHOD = (abi.structure(CELLS.structures, name) for name in ("CellCall", "Cells", "Method"))


@dataclass(frozen=True)
class DeviceCellKernel(GeneratedKernel[ChemistryShape, ChemistrySource]):
    """A mechanism's chemistry of independent cells on a device."""

    device: Device
    run: Kernel

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs of a cell: its air, then the open parameters of the mechanism."""
        return input_names(self.network)

    @property
    def reverse(self) -> NoReturn:
        """The adjoint of the steps, which only the CPU has: raises KernelError."""
        raise KernelError("chemistry on a device has no adjoint yet: use the backend cpu")

    @property
    def tangent(self) -> NoReturn:
        """The tangent of the steps, which only the CPU has: raises KernelError."""
        raise KernelError("chemistry on a device has no tangent yet: use the backend cpu")

    def solver(
        self, method: Tableau, tolerances: Tolerances, sources: Sources = NO_SOURCES, *, threads: int = 1, **limits: Any
    ) -> "DeviceCellSolver":  # fmt: skip
        """Return a solver for cells with the limits of the CPU; `threads` of the host has no effect."""
        return DeviceCellSolver(self, method, tolerances, sources, **limits)


def compile_chemistry(
    network: ReactionNetwork, precision: str = "double", *, width: int | None = None, device: Device | None = None
) -> DeviceCellKernel:
    """Return the chemistry of a mechanism for a device in "double" or "single" precision.

    width  cells per pack: the threads of a warp
    Raises KernelError for another width, or if the code does not compile.
    """
    if width not in (None, WARP):
        raise KernelError(f"packs of cells on a device have {WARP} cells, not {width}")
    device, seconds = device or present_device(0), dict[str, float]()
    shape = ChemistryShape(WARP, precision)
    with timed(seconds, "emit"):
        source = emit_chemistry(network, shape, CELLS)
    with timed(seconds, "compile for the device"):
        run = device.compile(
            source.text, name=f"{network.name}-cells-{precision}", contract=True, kernel="airshed_chemistry",
            size=ctypes.sizeof(_CALL),
        )  # fmt: skip
    return DeviceCellKernel(network, shape, source, seconds, device, run)


@dataclass
class DeviceCellSolver(CellSolver):
    """Integrator of cells on a device; the equation and the parameters are those of the CPU."""

    kernel: DeviceCellKernel  # type: ignore[assignment]  # it has the members of the kernel of the CPU that a solver uses
    _working: WorkingMemory | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        device = self.kernel.device
        self._constants = {name: device_copy(device, array) for name, array in self._constants.items()}
        self._taken = aligned_zeros((1,), np.uint64, device.memory)
        self._size = 0

    def advance(
        self, cells: Concentrations, inputs: AnyArray, steps: CellSteps, start: float, end: float,
        extras: CellExtras = NO_EXTRAS,
    ) -> None:  # fmt: skip
        """Integrate packed cells from `start` to `end` [s]; the parameters and errors are those of the CPU.

        Raises KernelError for a record of accepted steps, which adjoints require.
        """
        if extras.record is not None:
            raise KernelError("chemistry on a device does not record its steps: use the backend cpu for adjoints")
        with arrays_on(self.kernel.device) as here:
            state = replace(cells, before=here(cells.before), after=here(cells.after))
            own = CellSteps(**{name: here(array) for name, array in vars(steps).items()})
            more = CellExtras(*(None if each is None else here(each) for each in (extras.clipped, extras.extra)))
            super().advance(state, here(inputs), own, start, end, more)

    def _run(self, cells: Any, packs: int, degree: int) -> None:
        if packs == 0:  # a kernel needs one block of threads at least
            return
        device = self.kernel.device
        warps, size = min(packs, RESIDENT * device.processors), self._bytes_of_warp(degree)
        if self._working is None or self._size < warps * size:
            self._working, self._size = device.working_memory(warps * size), warps * size
        if foreign := foreign_members(cells, device.memory):
            raise KernelError(f"the device cannot read these arrays of cells: {', '.join(foreign)}")
        self._taken[0] = 0
        structures = _CELLS.from_buffer_copy(cells), _METHOD.from_buffer_copy(self._method)
        call = _CALL(*structures, packs, warps, self._working.address, size, address(self._taken))
        self.kernel.run(ctypes.addressof(call), warps)
        device.wait()

    def _bytes_of_warp(self, degree: int) -> int:
        """Return the size of the working memory of a warp; ``make_worker`` in ``cell_queue.hpp`` divides it."""
        network, varies = self.kernel.network, degree > 0
        vectors = (6 + self.method.stages) * len(network.species)
        numbers = vectors + (1 + varies) * len(network.reactions) + self.kernel.source.elimination.size
        each = 2 * self.inputs * 8 + numbers * np.dtype(self.kernel.dtype).itemsize
        return -(-WARP * each // 256) * 256


def device_copy(device: Device, array: npt.NDArray[Any]) -> Any:
    """Return a copy of an array in memory of a device."""
    copy = aligned_zeros(array.shape, array.dtype, device.memory)
    copy[...] = array
    return copy


@contextmanager
def arrays_on(device: Device) -> Iterator[Callable[[Any], Any]]:
    """Return a function that returns an array in memory of a device: the array itself, or a copy.

    At the end the values of each copy are stored in its array, unless that is read-only.
    """
    copies: dict[int, tuple[Any, Any]] = {}

    def here(array: Any) -> Any:
        if array.size == 0 or device.memory.holds(address(array)):
            return array
        if address(array) not in copies:
            copies[address(array)] = array, device_copy(device, array)
        return copies[address(array)][1]

    yield here
    for array, copy in copies.values():
        if array.flags.writeable:
            array[...] = copy
