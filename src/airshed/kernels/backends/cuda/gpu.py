"""A GPU through the driver interface of CUDA: its selection, its memory, and three streams.

Steps, inputs and results have a stream each, so that copies overlap with steps. Arrays are in managed memory, which
both sides read and write: pages move to the side that uses them. A kernel waits for a page that is being copied.
"""

import os
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import KernelError
from airshed.kernels.backends.cuda.device import WARP, WARPS, Kernel, device_text, machine_code
from airshed.kernels.backends.cuda.memory import DeviceMemory, WorkingMemory
from airshed.kernels.host import Memory, address

_ADVICE: Final = {
    "CUDA_ERROR_NO_DEVICE": "see nvidia-smi, and the variable CUDA_VISIBLE_DEVICES ({visible})",
    "CUDA_ERROR_OUT_OF_MEMORY": "take fewer cells or more GPUs, or end other programs on the GPU",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "another program uses the GPU exclusively: take as many ranks as GPUs",
    "CUDA_ERROR_ILLEGAL_ADDRESS": "the state is invalid; please report this with the case",
}
"""Advice for errors of the driver."""


class Driver:
    """Calls of the driver interface in a context, from any thread."""

    def __init__(self, bindings: Any = None) -> None:
        self.bindings = import_module("cuda.bindings.driver") if bindings is None else bindings
        self.context: Any = None
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: Any) -> Any:
        """Return the result of a function; raise KernelError with the message of the driver for an error."""
        if self.context is not None:  # each thread has its own, and other libraries may change it
            self.bindings.cuCtxSetCurrent(self.context)
        status, *found = getattr(self.bindings, name)(*arguments)
        if int(status) != 0:
            _, text = self.bindings.cuGetErrorString(status)
            advice = _ADVICE.get(status.name, "").format(visible=os.environ.get("CUDA_VISIBLE_DEVICES", "not set"))
            message = f"{name} fails on the GPU: {(text or b'').decode() or 'unknown error'} ({status.name})"
            raise KernelError("; ".join(filter(None, [message, advice])))
        return tuple(found) if len(found) > 1 else found[0] if found else None

    def call_second(self, name: str, *arguments: Any) -> Any:
        """Return the result of the second version of a function, which has the plain name in bindings of CUDA 13.

        Raises KernelError if the driver is older than the function.
        """
        second = f"{name}_v2"
        try:
            return self.call(second if hasattr(self.bindings, second) else name, *arguments)
        except RuntimeError as error:  # of the bindings
            raise KernelError(f"the NVIDIA driver is older than CUDA 12.2, which added {second}: update it") from error

    def location(self, ordinal: int) -> Any:
        """Return the location that denotes the memory of a device."""
        location = self.bindings.CUmemLocation()
        location.type, location.id = self.bindings.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, ordinal
        return location

    def attribute(self, device: Any, name: str) -> int:
        """Return an attribute of a device by its name without the common prefix."""
        kind = getattr(self.bindings.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", kind, device))

    def device(self, ordinal: int) -> Any:
        """Return a device; raise KernelError if the host cannot use managed memory while its kernels run."""
        device = self.call("cuDeviceGet", ordinal)
        if not self.attribute(device, "CONCURRENT_MANAGED_ACCESS"):
            raise KernelError(
                f"the CPU cannot use the memory of the {self.name_of(device)} during a kernel, "
                'as on Windows and in WSL; set run.device = "cpu", or use Linux'
            )
        return device

    def name_of(self, device: Any) -> str:
        """Return the name of a device."""
        name: bytes = self.call("cuDeviceGetName", 200, device)
        return name.split(b"\0")[0].decode()


def visible_gpus(bindings: Any = None) -> list[str]:
    """Return the names of the GPUs that this process sees."""
    driver = Driver(bindings)
    return [driver.name_of(driver.device(ordinal)) for ordinal in range(driver.call("cuDeviceGetCount"))]


class Gpu:
    """GPU of this process, one of the visible GPUs; its members are those of :class:`.device.Device`.

    local_rank  index of this process among those of the machine: it selects GPU number local_rank modulo their number
    bindings    of the driver interface, by default those of CUDA

    Raises KernelError without a GPU, or if the host cannot use its memory during kernels.
    """

    def __init__(self, local_rank: int = 0, bindings: Any = None) -> None:
        self._driver = driver = Driver(bindings)
        ordinal = local_rank % driver.call("cuDeviceGetCount")
        device = driver.device(ordinal)
        self.name = driver.name_of(device)
        self.identity = bytes(driver.call_second("cuDeviceGetUuid", device).bytes).hex()
        major, minor = (driver.attribute(device, f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
        self.architecture = f"sm_{major}{minor}"
        self.processors = driver.attribute(device, "MULTIPROCESSOR_COUNT")
        driver.context = driver.call("cuDevicePrimaryCtxRetain", device)
        self._steps = new_stream(driver)
        self.memory: Memory = ManagedMemory(driver, driver.location(ordinal))

    def compile(
        self, text: str, *, kernel: str, name: str, contract: bool, shared: int = 0, size: int | None = None
    ) -> Kernel:  # fmt: skip
        """Return a kernel of the GPU, which runs after all kernels that were started before."""
        driver = self._driver
        code = machine_code(device_text(text), self.architecture, contract=contract)
        function = driver.call("cuModuleGetFunction", driver.call("cuModuleLoadData", code), kernel.encode())
        if shared:
            limit = driver.bindings.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            driver.call("cuFuncSetAttribute", function, limit, WARPS * shared)

        def start(argument: int, warps: int) -> None:
            blocks = -(-warps // WARPS)
            values = np.array([argument], np.uint64)
            pointers = np.array([address(values) if size is None else argument], np.uint64)
            sizes = blocks, 1, 1, WARPS * WARP, 1, 1, WARPS * shared
            driver.call("cuLaunchKernel", function, *sizes, self._steps, address(pointers), 0)

        return start

    def working_memory(self, size: int) -> WorkingMemory:
        """Return memory of the GPU."""
        allocation = Allocation(self._driver, int(self._driver.call("cuMemAlloc", size)))
        return WorkingMemory(allocation.address, allocation)

    def wait(self) -> None:
        """Wait until all started kernels have ended; raise KernelError for a failed one."""
        self._driver.call("cuStreamSynchronize", self._steps)


def new_stream(driver: Driver) -> Any:
    """Return a stream that does not wait for other streams."""
    return driver.call("cuStreamCreate", driver.bindings.CUstream_flags.CU_STREAM_NON_BLOCKING.value)


class ManagedMemory(DeviceMemory):
    """Managed memory of a GPU: at most as much as it had free at the start.

    The driver would grant more. Then pages would move in each step, or kernels would fail.
    """

    def __init__(self, driver: Driver, location: Any) -> None:
        super().__init__()
        self._driver, self._location = driver, location
        self._most, _ = driver.call("cuMemGetInfo")
        self._inputs, self._results = new_stream(driver), new_stream(driver)

    def zeros(self, size: int) -> npt.NDArray[np.uint8]:
        """Return zeroed bytes, which are freed with the array; raises KernelError if they exceed the free memory."""
        if self.size + size > self._most:
            needed, free = (self.size + size) / 1e9, self._most / 1e9
            raise KernelError(
                f"the case needs more than {needed:.3g} GB of the {free:.3g} GB that the GPU has free: "
                f"{_ADVICE['CUDA_ERROR_OUT_OF_MEMORY']}"
            )
        flag = self._driver.bindings.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL
        start = int(self._driver.call("cuMemAllocManaged", max(size, 1), flag.value))
        zeros = np.asarray(Block(self._driver, start, size))
        zeros[...] = 0
        return self._add(zeros, zeros)

    def prefetch(self, arrays: Iterable[npt.NDArray[Any]], *, constant: bool) -> None:
        """Start to copy the blocks of arrays to the GPU, while earlier steps run.

        Constant pages have a copy on each side. Other pages move.
        """
        advice = self._driver.bindings.CUmem_advise.CU_MEM_ADVISE_SET_READ_MOSTLY
        for block in filter(None, {block_of(each): None for each in arrays}):
            if constant and not block.constant:
                self._driver.call_second("cuMemAdvise", block.address, block.size, advice, self._location)
                block.constant = True
            self._driver.call_second("cuMemPrefetchAsync", block.address, block.size, self._location, 0, self._inputs)

    def fetch(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a copy of an array that kernels write, without moving its pages.

        Returns the array itself if it is in other memory, or constant, or if its rows have no common distance.
        """
        block, rows = block_of(array), rows_of(array)
        if block is None or block.constant or rows is None:
            return array
        count, distance, size = rows
        result = np.empty(array.shape, array.dtype)
        copy, kinds = self._driver.bindings.CUDA_MEMCPY2D(), self._driver.bindings.CUmemorytype
        copy.srcMemoryType, copy.srcDevice, copy.srcPitch = kinds.CU_MEMORYTYPE_DEVICE, address(array), distance
        copy.dstMemoryType, copy.dstHost, copy.dstPitch = kinds.CU_MEMORYTYPE_HOST, address(result), size
        copy.WidthInBytes, copy.Height = size, count
        self._driver.call("cuMemcpy2DAsync", copy, self._results)
        self._driver.call("cuStreamSynchronize", self._results)
        return result


class Allocation:
    """Memory of a GPU at an address, freed with this object."""

    def __init__(self, driver: Driver, start: int) -> None:
        self._driver, self.address = driver, start

    def __del__(self) -> None:
        self._driver.bindings.cuCtxSetCurrent(self._driver.context)  # arrays are freed on any thread
        self._driver.bindings.cuMemFree(self.address)  # the call that caused an error has reported it


class Block(Allocation):
    """Block of managed memory with the array interface of NumPy: its arrays hold a reference to this object.

    constant  whether nothing writes the block any more, so that the host has a copy of its pages
    """

    def __init__(self, driver: Driver, start: int, size: int) -> None:
        super().__init__(driver, start)
        self.size, self.constant = size, False
        self.__array_interface__ = {"data": (start, False), "shape": (size,), "typestr": "|u1", "version": 3}


def block_of(array: npt.NDArray[Any]) -> Block | None:
    """Return the block that holds an array; None for other memory."""
    holder: Any = array
    while isinstance(holder, np.ndarray):
        holder = holder.base
    return holder if isinstance(holder, Block) else None


def rows_of(array: npt.NDArray[Any]) -> tuple[int, int, int] | None:
    """Return number, distance and size [bytes] of the contiguous rows of an array; None without a common distance."""
    if not array.size:
        return None
    size = array.itemsize
    axes = [(length, stride) for length, stride in zip(array.shape, array.strides, strict=True) if length > 1]
    while axes and axes[-1][1] == size:
        length, _ = axes.pop()
        size *= length
    if not axes:  # contiguous: divided along the first axis, since CUDA limits the size of a row
        count = max(len(array), 1) if array.ndim else 1
        return count, size // count, size // count
    distance, count = axes[-1][1], 1
    if distance < size:
        return None
    for length, stride in reversed(axes):
        if stride != distance * count:
            return None
        count *= length
    return count, distance, size
