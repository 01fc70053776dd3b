"""Stand-in for ``cuda.bindings.driver``: memory of the host, kernels as functions of Python, and checks of each call.

Work on a stream runs when the stream is waited for, so that a missing wait shows in the results. A kernel that reads an
address outside of managed memory fails, and after that all calls, as on a GPU. ``test_gpu.py`` compares the names, the
parameters and the numbers with those of the bindings, where they are installed.
"""

# ruff: noqa: N801, N802 - the names are those of the bindings

import ctypes
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, IntEnum
from functools import wraps
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from airshed.kernels.backends.cuda import gpu
from airshed.kernels.backends.cuda.device import Kernel, Shim
from airshed.kernels.backends.cuda.gpu import Gpu


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


class CUdevice_attribute(IntEnum):
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89


class CUstream_flags(IntEnum):
    CU_STREAM_NON_BLOCKING = 1


class CUmemAttach_flags(IntEnum):
    CU_MEM_ATTACH_GLOBAL = 1


class CUmem_advise(IntEnum):
    CU_MEM_ADVISE_SET_READ_MOSTLY = 1


class CUmemLocationType(IntEnum):
    CU_MEM_LOCATION_TYPE_DEVICE = 1


class CUfunction_attribute(IntEnum):
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8


class CUmemorytype(IntEnum):
    CU_MEMORYTYPE_HOST = 1
    CU_MEMORYTYPE_DEVICE = 2


class CUDA_MEMCPY2D:
    __slots__ = (
        "Height", "WidthInBytes", "dstHost", "dstMemoryType", "dstPitch", "srcDevice", "srcMemoryType", "srcPitch",
    )  # fmt: skip


class CUmemLocation:
    __slots__ = ("id", "type")


ENUMS = (
    CUresult, CUdevice_attribute, CUstream_flags, CUmemAttach_flags, CUmem_advise, CUmemorytype, CUmemLocationType,
    CUfunction_attribute,
)  # fmt: skip
OK = CUresult.CUDA_SUCCESS
LARGEST_PITCH = 2**31 - 1
MOST_SHARED = 99 * 1024
FREED = 0xDD
"""Value of the bytes of freed memory, which stays readable here."""


class Pointer:
    """Address of the device: a number only by ``int``, as in the bindings."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __int__(self) -> int:
        return self.place


class CallError(Exception):
    """A call that returns an error."""

    def __init__(self, status: CUresult) -> None:
        super().__init__(status.name)
        self.status = status


class Need(Enum):
    """State that a call requires."""

    NOTHING = 0
    INITIALISED = 1
    CONTEXT = 2


def answering(need: Need = Need.CONTEXT) -> Callable[[Callable[..., Any]], Callable[..., tuple[Any, ...]]]:
    """Return a decorator for a call of the driver: it answers a tuple of the status and the result."""

    def decorator(function: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
        @wraps(function)
        def call(self: "FakeDriver", *arguments: Any) -> tuple[Any, ...]:
            name = function.__name__
            self.calls.append((name, arguments))
            try:
                self._check(name, need)
                result = function(self, *arguments)
            except CallError as failure:
                return (failure.status,) if function.__annotations__["return"] is None else (failure.status, None)
            return (OK,) if result is None else (OK, *result) if name == "cuMemGetInfo" else (OK, result)

        return call

    return decorator


class FakeDriver:
    """The driver of some GPUs, with the names of CUDA 13.

    cards     their names
    free      bytes of their memory that are free
    shared    whether the host can use managed memory during a kernel
    errors    function -> the error that its next call returns
    kernels   machine code -> the kernel; the addresses that it reads, as a function of its argument; and the size of a
              structure that is its argument, None for the address of one
    calls     all calls so far
    blocks    live blocks of managed memory: address -> size
    copied    bytes copied to the host
    """

    CUDA_MEMCPY2D, CUmemLocation = CUDA_MEMCPY2D, CUmemLocation

    def __init__(self, cards: tuple[str, ...] = ("Card A",), *, shared: bool = True, free: int = 2**30) -> None:
        self.cards, self.shared, self.free = cards, shared, free
        self.errors: dict[str, CUresult] = {}
        self.kernels: dict[bytes, tuple[Kernel, Callable[[int], Iterable[int]], int | None]] = {}
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.blocks: dict[int, int] = {}
        self.copied = 0
        self._initialised, self._local, self._sticky = False, threading.local(), OK
        self._memory: dict[int, Any] = {}
        self._streams: dict[int, list[Callable[[], None]]] = {}
        self._numbers = count(1000)
        self._shared: dict[bytes, int] = {}
        for each in ENUMS:
            setattr(self, each.__name__, each)

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """Return the arguments of all calls of a function."""
        return [arguments for each, arguments in self.calls if each == name]

    def compile(
        self, kernel: Kernel, pointers: Callable[[int], Iterable[int]] = lambda argument: (), size: int | None = None
    ) -> bytes:  # fmt: skip
        """Return machine code of a kernel, with the addresses that it reads by its argument, and the size of this."""
        code = b"kernel %d" % len(self.kernels)
        self.kernels[code] = kernel, pointers, size
        return code

    # ---- devices and contexts ----

    @answering(Need.NOTHING)
    def cuInit(self, flags: int) -> None:
        expect(flags == 0)
        if not self.cards:
            raise CallError(CUresult.CUDA_ERROR_NO_DEVICE)
        self._initialised = True

    @answering(Need.NOTHING)
    def cuGetErrorString(self, error: CUresult) -> bytes:
        return error.name.removeprefix("CUDA_ERROR_").replace("_", " ").lower().encode()

    @answering(Need.INITIALISED)
    def cuDeviceGetCount(self) -> int:
        return len(self.cards)

    @answering(Need.INITIALISED)
    def cuDeviceGet(self, ordinal: int) -> int:
        expect(ordinal in range(len(self.cards)), CUresult.CUDA_ERROR_INVALID_DEVICE)
        return ordinal

    @answering(Need.INITIALISED)
    def cuDeviceGetAttribute(self, attribute: CUdevice_attribute, device: int) -> int:
        expect(isinstance(attribute, CUdevice_attribute) and device in range(len(self.cards)))
        return {16: 132, 75: 9, 76: 0, 89: int(self.shared)}[attribute]

    @answering(Need.INITIALISED)
    def cuDeviceGetName(self, length: int, device: int) -> bytes:
        return self.cards[device].encode().ljust(length, b"\0")

    @answering(Need.INITIALISED)
    def cuDeviceGetUuid(self, device: int) -> SimpleNamespace:
        return SimpleNamespace(bytes=bytes([device] * 16))

    @answering(Need.INITIALISED)
    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[str, int]:
        return "context", device

    @answering(Need.INITIALISED)
    def cuCtxSetCurrent(self, context: tuple[str, int]) -> None:
        expect(context[0] == "context")
        self._local.context = context

    # ---- memory ----

    @answering()
    def cuMemGetInfo(self) -> tuple[int, int]:
        return self.free, 2 * self.free

    @answering()
    def cuMemAllocManaged(self, size: int, flags: int) -> Pointer:
        expect(flags == CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL)
        return self._allocated(size)

    @answering()
    def cuMemAlloc(self, size: int) -> Pointer:
        return self._allocated(size)

    @answering()
    def cuMemFree(self, place: int) -> None:
        expect(place in self.blocks)
        ctypes.memset(place, FREED, self.blocks.pop(place))

    @answering()
    def cuMemAdvise(self, place: int, size: int, advice: CUmem_advise, location: CUmemLocation) -> None:
        expect(self._holds(place, size) and isinstance(advice, CUmem_advise) and self._is_device(location))

    @answering()
    def cuMemPrefetchAsync(self, place: int, size: int, location: CUmemLocation, flags: int, stream: int) -> None:
        expect(self._holds(place, size) and self._is_device(location) and flags == 0)
        self._queue(stream)

    @answering()
    def cuMemcpy2DAsync(self, copy: CUDA_MEMCPY2D, stream: int) -> None:
        size, rows, source, target = copy.WidthInBytes, copy.Height, copy.srcDevice, copy.dstHost
        expect(copy.srcMemoryType is CUmemorytype.CU_MEMORYTYPE_DEVICE and copy.dstMemoryType is CUmemorytype(1))
        expect(0 < size <= min(copy.srcPitch, copy.dstPitch) and max(copy.srcPitch, copy.dstPitch) <= LARGEST_PITCH)
        expect(self._holds(source, copy.srcPitch * (rows - 1) + size) and not self._holds(target, 1))
        pitches = copy.srcPitch, copy.dstPitch

        def work() -> None:
            self.copied += size * rows
            for row in range(rows):
                ctypes.memmove(target + row * pitches[1], source + row * pitches[0], size)

        self._queue(stream).append(work)

    # ---- kernels and streams ----

    @answering()
    def cuModuleLoadData(self, code: bytes) -> bytes:
        expect(code in self.kernels, CUresult.CUDA_ERROR_INVALID_IMAGE)
        return code

    @answering()
    def cuModuleGetFunction(self, module: bytes, name: bytes) -> bytes:
        expect(isinstance(name, bytes), CUresult.CUDA_ERROR_INVALID_HANDLE)
        return module

    @answering()
    def cuFuncSetAttribute(self, function: bytes, attribute: CUfunction_attribute, value: int) -> None:
        expect(isinstance(attribute, CUfunction_attribute) and 0 < value <= MOST_SHARED)
        self._shared[function] = value

    @answering()
    def cuStreamCreate(self, flags: int) -> int:
        expect(flags == CUstream_flags.CU_STREAM_NON_BLOCKING)
        stream = next(self._numbers)
        self._streams[stream] = []
        return stream

    @answering()
    def cuLaunchKernel(
        self, function: bytes, blocks: int, blocks_y: int, blocks_z: int, threads: int, threads_y: int,
        threads_z: int, shared: int, stream: int, parameters: int, extra: int,
    ) -> None:  # fmt: skip
        expect(all(isinstance(each, int) for each in (blocks, threads, parameters)) and 0 < threads <= 1024)
        expect(blocks > 0 and blocks_y == blocks_z == threads_y == threads_z == 1 and extra == 0)
        expect(shared <= self._shared.get(function, 0))
        kernel, pointers, size = self.kernels[function]
        first = ctypes.c_uint64.from_address(parameters).value
        copy = ctypes.create_string_buffer(ctypes.string_at(first, size or 8), size or 8)  # at the launch
        argument = ctypes.addressof(copy) if size else ctypes.c_uint64.from_buffer(copy).value

        def work() -> None:
            assert copy is not None  # until the kernel ends
            reads = [] if size else [argument]
            reads += pointers(argument) if size or self._holds(argument, 1) else ()
            if not all(self._holds(each, 1) for each in reads):
                self._sticky = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
                raise CallError(self._sticky)
            kernel(argument, blocks * (threads // 32))

        self._queue(stream).append(work)

    @answering()
    def cuStreamSynchronize(self, stream: int) -> None:
        waiting = self._queue(stream)
        while waiting:
            waiting.pop(0)()

    # ---- checks ----

    def _check(self, name: str, need: Need) -> None:
        if name in self.errors:
            raise CallError(self.errors.pop(name))
        if need is not Need.NOTHING:
            expect(self._initialised, CUresult.CUDA_ERROR_NOT_INITIALIZED)
            expect(self._sticky is OK, self._sticky)
        if need is Need.CONTEXT:
            expect(getattr(self._local, "context", None) is not None, CUresult.CUDA_ERROR_INVALID_CONTEXT)

    def _holds(self, place: int, size: int) -> bool:
        """Return whether a range lies in a live block."""
        return any(first <= place and place + size <= first + whole for first, whole in self.blocks.items())

    def _allocated(self, size: int) -> Pointer:
        expect(size > 0)
        memory = (ctypes.c_uint8 * size)()
        place = ctypes.addressof(memory)
        ctypes.memset(place, FREED, size)  # memory is not zeroed
        self._memory[place], self.blocks[place] = memory, size
        return Pointer(place)

    def _is_device(self, location: CUmemLocation) -> bool:
        return location.type is CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE and location.id in range(len(self.cards))

    def _queue(self, stream: int) -> list[Callable[[], None]]:
        expect(stream in self._streams, CUresult.CUDA_ERROR_INVALID_HANDLE)
        return self._streams[stream]


class FakeDriver12(FakeDriver):
    """The same with the names of CUDA 12, whose first versions have other parameters."""

    cuDeviceGetUuid_v2 = FakeDriver.cuDeviceGetUuid
    cuMemAdvise_v2 = FakeDriver.cuMemAdvise
    cuMemPrefetchAsync_v2 = FakeDriver.cuMemPrefetchAsync

    def __getattribute__(self, name: str) -> Any:
        assert name not in SECOND, f"{name} has other parameters in CUDA 12"
        return super().__getattribute__(name)


SECOND = "cuDeviceGetUuid", "cuMemAdvise", "cuMemPrefetchAsync"
"""Functions whose second version is called."""


def run_by_shim(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, structures: Mapping[str, type[ctypes.Structure]] | None = None
) -> None:  # fmt: skip
    """Run the kernels of GPUs by the shim.

    structures  of arguments by the name of the kernel: their addresses must be in managed memory
    """
    compile_for_gpu, known = Gpu.compile, structures or {}

    def compile_by_shim(self: Gpu, text: str, *, kernel: str, **options: Any) -> Kernel:
        def pointers(argument: int) -> Iterable[int]:
            return pointers_in(known[kernel].from_address(argument)) if kernel in known else ()

        code = driver.compile(Shim().compile(text, kernel=kernel, **options), pointers, options.get("size"))
        monkeypatch.setattr(gpu, "machine_code", lambda *_, **__: code)
        return compile_for_gpu(self, text, kernel=kernel, **options)

    monkeypatch.setattr(Gpu, "compile", compile_by_shim)


def pointers_in(value: Any) -> Iterator[int]:
    """Return all addresses in a structure, except null."""
    for name, kind in value._fields_:
        member = getattr(value, name)
        if isinstance(member, ctypes.Structure):
            yield from pointers_in(member)
        elif kind is ctypes.c_void_p and member:
            yield member


def expect(condition: bool, status: CUresult = CUresult.CUDA_ERROR_INVALID_VALUE) -> None:
    """Raise the error of a call unless a condition holds."""
    if not condition:
        raise CallError(status)
