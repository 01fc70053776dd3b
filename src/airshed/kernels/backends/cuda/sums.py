"""Exact sums on a device: the device adds the summands of blocks, and only the sums are copied to the host."""

import ctypes
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core import exact_sum
from airshed.core.arrays import Array
from airshed.kernels import abi
from airshed.kernels.backends.cpu.kernel import ExactSums
from airshed.kernels.backends.cuda.device import WARP, Device, Kernel
from airshed.kernels.cpp import header
from airshed.kernels.host import AnyArray, address, aligned_zeros

TEXT: Final = "\n".join([abi.declarations(abi.SUMS), header("backends/cuda/sums.hpp")])
"""The text of the kernel."""

CLEAR, GREATEST, GREATEST_SINGLE, PARTS = range(4)
"""Tasks of the kernel, as in ``abi.SUMS``."""

_RANGE: Final = 64
"""Summands of a thread, as in ``sums.hpp``."""

_SUMMANDS: Final = abi.structure(abi.SUMS, "Summands")


@dataclass(frozen=True)
class _Buffers:
    """Memory of a device for arguments and results.

    arguments  two structures: the first one clears the result
    scale      (several, column) of the second one
    result     (several, 2, column) integers, or the bits of numbers in (several, 0, column); only kernels write it
    """

    arguments: npt.NDArray[np.uint8]
    scale: Array
    result: npt.NDArray[np.uint64]


@dataclass(frozen=True)
class DeviceSums(ExactSums):
    """Exact sums on a device of summands in its memory, and on the host of other summands.

    kernel   compiled :data:`TEXT`
    buffers  by the numbers of sums and columns
    """

    device: Device
    kernel: Kernel
    buffers: dict[tuple[int, int], _Buffers] = field(default_factory=dict, repr=False)

    def magnitudes(self, values: Array) -> Array:
        """Return the greatest magnitudes, see the base class."""
        if not self._is_on_device(values):
            return super().magnitudes(values)
        return self._run(GREATEST, values)[..., 0, :].view(np.float64)

    def parts(self, values: Array, greatest: Array) -> npt.NDArray[np.int64]:
        """Return the sums of the integer parts, see the base class."""
        if not self._is_on_device(values):
            return super().parts(values, greatest)
        return self._run(PARTS, values, exact_sum.scale(greatest)).view(np.int64)

    def largest(self, array: AnyArray) -> float:
        """Return the greatest magnitude in an array of the state, double or single; infinite if any is not finite."""
        task = GREATEST if array.dtype == np.float64 else GREATEST_SINGLE
        greatest = self._run(task, array.reshape(-1, prod(array.shape[-2:])))[0].view(np.float64)
        return float(greatest.max())

    def _is_on_device(self, values: Array) -> bool:
        return values.size > 0 and self.device.memory.holds(address(values))

    def _run(self, task: int, values: AnyArray, scale: Array | None = None) -> npt.NDArray[np.uint64]:
        """Return the result of a task, which runs after the steps that write the summands."""
        *several, count, columns = values.shape
        number = prod(several)
        buffers = self.buffers.get((number, columns)) or self._new_buffers(number, columns)
        if scale is not None:
            buffers.scale[...] = scale.reshape(number, columns)
        self._fill(buffers, task, values, (number, count, columns))
        self.device.memory.prefetch([buffers.arguments, buffers.scale], constant=False)
        warps = number * -(-columns // WARP)
        place, size = address(buffers.arguments), ctypes.sizeof(_SUMMANDS)
        self.kernel(place, warps)
        self.kernel(place + size, warps * -(-count // _RANGE))
        self.device.wait()
        return np.array(self.device.memory.fetch(buffers.result)).reshape(*several, 2, columns)

    def _fill(self, buffers: _Buffers, task: int, values: AnyArray, shape: tuple[int, int, int]) -> None:
        """Set the arguments: of the first launch, which clears the result by a single summand; and of the task."""
        number, count, columns = shape
        for row, (each, summands) in zip(buffers.arguments, ((CLEAR, 1), (task, count)), strict=True):
            step: Any = _SUMMANDS.from_buffer(row)
            step.values, step.scale, step.result = map(address, (values, buffers.scale, buffers.result))
            step.several, step.count, step.columns, step.task = number, summands, columns, each

    def _new_buffers(self, number: int, columns: int) -> _Buffers:
        memory = self.device.memory
        arguments = aligned_zeros((2, ctypes.sizeof(_SUMMANDS)), np.uint8, memory).view(np.uint8)
        scale = aligned_zeros((number, columns), np.float64, memory).view(np.float64)
        result = aligned_zeros((number, 2, columns), np.uint64, memory).view(np.uint64)
        self.buffers[number, columns] = made = _Buffers(arguments, scale, result)
        return made


def device_sums(functions: ctypes.CDLL, device: Device) -> DeviceSums:
    """Return the exact sums of a device; products are not fused, as on the host.

    functions  of the host
    Raises KernelError if the text does not compile.
    """
    kernel = device.compile(TEXT, kernel="airshed_exact_sums", name="exact-sums", contract=False)
    return DeviceSums(functions, device, kernel)
