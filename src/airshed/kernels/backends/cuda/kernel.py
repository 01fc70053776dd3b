"""Compiler pipeline of a mechanism for a device: the plan of the CPU, with 32 columns in a pack.

The text of the step is that of the CPU with other packs (``backends/cuda/pack.hpp``), levels and entry points: a kernel
for the explicit part, one for the implicit part, and one for the sums of blocks. The sun is a function of the host.
"""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import KernelError
from airshed.kernels.abi import PARTS
from airshed.kernels.backends.cpu.argument_table import ArgumentTable
from airshed.kernels.backends.cpu.compiled import compiled, timed
from airshed.kernels.backends.cpu.kernel import LARGEST_GROUP, NO_CONTRACTION, StepKernel, StepPlan
from airshed.kernels.backends.cuda.device import WARP, Device, Kernel, present_device
from airshed.kernels.backends.cuda.sums import DeviceSums, device_sums
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.kernels.operators import ADVECTION, Operator
from airshed.kernels.step.arguments import Directions, Side
from airshed.kernels.step.emit import CPU, Headers, emit
from airshed.mechanism.network import ReactionNetwork

TRANSPORT: Final = Headers(
    ("backends/cuda/warp_of_columns.hpp", "backends/cuda/pack.hpp", "backends/cuda/levels.hpp"),
    ("backends/cuda/workspace.hpp", "backends/cuda/transport_kernel.hpp"), "backends/cuda/elimination.hpp",
)  # fmt: skip
"""The explicit part of a step on a device, and the sums of blocks."""

COLUMNS: Final = Headers(
    ("backends/cuda/warp_of_levels.hpp", "backends/cuda/pack.hpp", "backends/cuda/levels.hpp"),
    ("backends/cuda/workspace.hpp", "backends/cuda/column_kernel.hpp"), "backends/cuda/elimination.hpp",
)  # fmt: skip
"""The implicit part."""

_TRANSPORT_BLOCKS: Final = 5
"""Blocks of threads of transport that must fit on a multiprocessor: this occupancy limits registers."""

_COLUMN_BLOCKS: Final = 4
"""The same for the kernel of columns."""

_MOST_SHARED: Final = 24 * 1024
"""Most bytes of a column in shared memory: a block of four columns fits into the 99 kB of every GPU from sm_80 on."""

_FEW_SPECIES: Final = 16
"""Most species of a tile in shared memory, if not all fit: it copies between device memory and local memory."""

_HOST: Final = Headers(CPU.first, ("backends/cpu/control.hpp",))
"""The text of functions of the host, without the step."""


class LaunchQueue:
    """Queue of the steps of an argument table: some kernels for each step, and one wait for a batch.

    launches  kernels in their order, and the number of warps of each
    """

    def __init__(
        self, launches: Sequence[tuple[Kernel, int]], device: Device, table: ArgumentTable, *, edges: bool
    ) -> None:  # fmt: skip
        self._launches, self._device, self._table, self._edges = launches, device, table, edges
        self._arrived, self._steps, self._interrupted = False, 0, False

    @property
    def steps(self) -> int:
        """The number of started steps."""
        return self._steps

    @property
    def waited(self) -> float:
        """The wall time of waiting for the halo: 0, since it is not measured."""
        return 0.0

    @property
    def seconds(self) -> Array:
        """The wall time of the parts of a step: 0, since a device does not measure it."""
        return np.zeros(len(PARTS))

    def edges_are_here(self) -> None:
        """Note that the halo has arrived."""
        self._arrived = True

    def work(self, count: int, between: Callable[[], None] | None = None) -> None:
        """Compute further prepared steps, after the halo has arrived.

        raises  KernelError if this or an earlier step was interrupted, or failed
        """
        if self._interrupted:
            raise KernelError("a step was interrupted, and its state is invalid; make a new model, or resume the run")
        self._interrupted = True  # until all steps have ended
        while self._edges and between is not None and not self._arrived:
            between()
        self._arrived = False
        try:
            for _ in range(count):
                self._steps += 1
                step = self._table.address + self._steps % self._table.capacity * self._table.size
                for kernel, warps in self._launches:
                    kernel(step, warps)
        finally:
            self._device.wait()  # also after an error: kernels use memory of this object
        self._interrupted = False


@dataclass(frozen=True)
class DeviceStepKernel(StepKernel):
    """The step of a mechanism on a device; `functions` are those of the host, `source` is the text of the CPU.

    transport  kernel of the explicit part of a step
    implicit   kernels of the implicit part and of the sums of blocks; empty without a vertical part
    """

    device: Device
    transport: Kernel
    implicit: tuple[Kernel, ...]

    @cached_property
    def sums(self) -> DeviceSums:
        """Exact sums for the budgets of steps, on the device."""
        return device_sums(self.functions, self.device)

    def largest(self, array: AnyArray) -> float:
        """Return the largest value of an array of the state; infinite if any is not a number."""
        return self.sums.largest(array)

    def layout(self, rows: int, columns: int) -> Layout:
        """Return the memory layout of a grid, in memory of the device."""
        return replace(super().layout(rows, columns), memory=self.device.memory)

    def step_queue(
        self, table: ArgumentTable, layout: Layout, sides: Collection[Side], *, threads: int,
        pool: ThreadPoolExecutor | None,
    ) -> LaunchQueue:  # fmt: skip
        """Return the queue of the steps of an argument table on the device."""
        blocks, levels, sums = layout.rows * layout.blocks, self.shape.levels, self._sums
        warps = blocks * WARP, blocks * -(-sums // WARP)
        launches = [(self.transport, blocks * levels), *zip(self.implicit, warps, strict=False)]
        if self.implicit:
            table.set_workspace(layout.array((blocks, self.workspace_bytes), np.uint8))
        return LaunchQueue(launches, self.device, table, edges=bool(sides))

    @property
    def workspace_bytes(self) -> int:
        """Working memory for each block: right-hand sides, and summands of the sums, see ``workspace.hpp``."""
        levels, itemsize = self.shape.levels, np.dtype(self.dtype).itemsize
        return len(self.network.species) * levels * WARP * itemsize + self._sums * max(levels, WARP) * 8

    @property
    def _sums(self) -> int:
        """The number of sums of a block."""
        return len(self.terms) * len(self.network.species) + len(self.shape.families)


def compile_mechanism(
    network: ReactionNetwork,
    levels: int,
    precision: str = "double",
    *,
    families: tuple[str, ...] = (),
    directions: Directions = "all",
    operators: tuple[Operator, ...] = (ADVECTION,),
    device: Device | None = None,
) -> StepKernel:
    """Return the compiled code of a mechanism for a device, by default the first one of this process.

    The other parameters and errors are those of the CPU.
    """
    device, contract = device or present_device(0), bool(network.reactions)
    plan = StepPlan.of(
        network, levels, precision, families=families, directions=directions, operators=operators,
        tuning=(WARP, LARGEST_GROUP),
    )  # fmt: skip
    parts = plan.network, plan.schedule, plan.shape
    with timed(plan.seconds, "compile for the device"):
        transport, implicit = _compiled_parts(plan, device, contract=contract)
    made: DeviceStepKernel = compiled(
        partial(
            DeviceStepKernel, plan.network, plan.shape, schedule=plan.schedule, terms=plan.terms, device=device,
            transport=transport, implicit=implicit,
        ),
        lambda: emit(*parts, _HOST), name=f"{plan.name}-host", units={"host": (1, ())},
        flags=() if contract else NO_CONTRACTION, seconds=plan.seconds,
    )  # fmt: skip
    return replace(made, source=emit(*parts))


def _compiled_parts(plan: StepPlan, device: Device, *, contract: bool) -> tuple[Kernel, tuple[Kernel, ...]]:
    """Return the kernel of the explicit part, and those of the implicit part and the sums."""
    text = transport_text(plan)
    compile_part = partial(device.compile, name=plan.name, contract=contract)
    transport = compile_part(text, kernel="airshed_transport")
    if not plan.shape.vertical:
        return transport, ()
    shared = _span(plan) * np.dtype(plan.shape.dtype).itemsize
    columns = compile_part(columns_text(plan), kernel="airshed_columns", shared=shared)
    return transport, (columns, compile_part(text, kernel="airshed_sums"))


def transport_text(plan: StepPlan) -> str:
    """Return the text of the explicit part, and of the sums of blocks; unit 1 of the text has no sweeps."""
    return _part(plan, TRANSPORT, UNIT=1, TRANSPORT_BLOCKS=_TRANSPORT_BLOCKS)


def columns_text(plan: StepPlan) -> str:
    """Return the text of the implicit part."""
    species = len(plan.network.species)
    return _part(plan, COLUMNS, SPECIES=species, TILE=_tile(plan), SPAN=_span(plan), COLUMN_BLOCKS=_COLUMN_BLOCKS)


def _part(plan: StepPlan, headers: Headers, **sizes: int) -> str:
    lines = [f"#define {name} {size}" for name, size in sizes.items()]
    return "\n".join([*lines, emit(plan.network, plan.schedule, plan.shape, headers).text])


def _tile(plan: StepPlan) -> int:
    """Return the number of species of a column in shared memory: all, or a few if they do not fit."""
    species, bytes_of_species = len(plan.network.species), plan.shape.levels * np.dtype(plan.shape.dtype).itemsize
    fitting = _MOST_SHARED // bytes_of_species
    return species if species <= fitting else max(1, min(_FEW_SPECIES, fitting))


def _span(plan: StepPlan) -> int:
    """Return the numbers from a column to the next one in shared memory: 4 modulo 16, to avoid bank conflicts."""
    return -(-(_tile(plan) * plan.shape.levels - 4) // 16) * 16 + 4
