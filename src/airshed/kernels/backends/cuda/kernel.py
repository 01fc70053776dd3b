"""Compiler pipeline of a mechanism for a device: the plan of the CPU, in blocks of a warp.

The text of the step is that of the CPU with other packs (``backends/cuda/pack.hpp``) and another entry point. Sums, the
sun and adjoints are functions of the host, in the same memory layout.
"""

from collections.abc import Callable, Collection
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

STEP: Final = Headers(("backends/cuda/pack.hpp",), ("step/step.hpp", "backends/cuda/launch.hpp"))
"""A step on a device."""

_HOST: Final = Headers(CPU.first, ("backends/cpu/control.hpp",))
"""Functions of the host, without the step."""


class LaunchQueue:
    """Computes the steps of an argument table: a kernel for each step, and one wait for a batch."""

    def __init__(self, kernel: Kernel, device: Device, table: ArgumentTable, warps: int, *, edges: bool) -> None:
        self._kernel, self._device, self._table, self._warps, self._edges = kernel, device, table, warps, edges
        self._arrived, self._steps, self._interrupted = False, 0, False

    @property
    def steps(self) -> int:
        """The number of started steps."""
        return self._steps

    @property
    def waited(self) -> float:
        """The wall time of waiting for the halo, which is not measured."""
        return 0.0

    @property
    def seconds(self) -> Array:
        """The wall time of the parts of a step, which a device does not measure."""
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
        self._interrupted = True  # until the end
        while self._edges and between is not None and not self._arrived:
            between()
        self._arrived = False
        try:
            for _ in range(count):
                self._steps += 1
                self._kernel(self._table.address + self._steps % self._table.capacity * self._table.size, self._warps)
        finally:
            self._device.wait()  # kernels use memory of this object
        self._interrupted = False


@dataclass(frozen=True)
class DeviceStepKernel(StepKernel):
    """The step of a mechanism on a device; `functions` are those of the host, `source` is the text of the CPU."""

    device: Device
    step: Kernel

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
        return LaunchQueue(self.step, self.device, table, layout.rows * layout.blocks, edges=bool(sides))


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
    """Return the compiled code of a mechanism for a device, by default the present one.

    The other parameters and errors are those of the CPU.
    """
    device, contract = device or present_device(), bool(network.reactions)
    plan = StepPlan.of(
        network, levels, precision, families=families, directions=directions, operators=operators,
        tuning=(WARP, LARGEST_GROUP),
    )  # fmt: skip
    parts = plan.network, plan.schedule, plan.shape
    with timed(plan.seconds, "compile for the device"):
        step = device.compile(emit(*parts, STEP).text, name=plan.name, contract=contract)
    made: DeviceStepKernel = compiled(
        partial(
            DeviceStepKernel, plan.network, plan.shape, schedule=plan.schedule, terms=plan.terms, device=device,
            step=step,
        ),
        lambda: emit(*parts, _HOST), name=f"{plan.name}-host", units={"host": (1, ())},
        flags=() if contract else NO_CONTRACTION, seconds=plan.seconds,
    )  # fmt: skip
    return replace(made, source=emit(*parts))
