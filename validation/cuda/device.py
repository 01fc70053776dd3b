"""Devices for the kernels: a GPU through CUDA's driver interface, or the CPU through ``shim.hpp``."""

import ctypes
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from validation.cuda.source import ARRAYS, DOUBLES, WHOLE


@dataclass(frozen=True)
class Launch:
    """A kernel with its numbers of blocks and threads (three each), and bytes of shared memory."""

    kernel: str
    blocks: tuple[int, int, int]
    threads: tuple[int, int, int]
    shared: int = 0


@dataclass
class Memory:
    """An array on a device: its address, shape and type; `owner` holds it."""

    address: int
    shape: tuple[int, ...]
    dtype: Any
    owner: Any = None


def arguments(values: Mapping[str, Memory | float]) -> np.ndarray:
    """Return the structure ``Step``: eight bytes for each member, zero where not given."""
    words = np.zeros(len(ARRAYS) + len(DOUBLES) + len(WHOLE), np.uint64)
    for number, name in enumerate([*ARRAYS, *DOUBLES, *WHOLE]):
        value = values.get(name, 0)
        if name in ARRAYS:
            words[number] = value.address if isinstance(value, Memory) else 0
        else:
            words.view(np.float64 if name in DOUBLES else np.int64)[number] = value
    return words


class Shim:
    """The CPU: g++ and ``shim.hpp``."""

    is_gpu = False

    def facts(self) -> dict[str, object]:
        """Return facts for the results."""
        return {"device": "shim"}

    def build(self, text: str) -> Any:
        """Compile a translation unit."""
        folder = Path(tempfile.mkdtemp(prefix="airshed-shim-"))
        (folder / "kernels.cpp").write_text(text)
        command = ["g++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o", "kernels.so", "kernels.cpp"]
        subprocess.run(command, cwd=folder, check=True)
        library = ctypes.CDLL(str(folder / "kernels.so"))
        shutil.rmtree(folder)
        return library

    def attributes(self, library: Any, launch: Launch) -> dict[str, int]:
        """Return registers and other attributes; here none."""
        return {}

    def empty(self, shape: Sequence[int], dtype: Any) -> Memory:
        """Return uninitialised memory."""
        return self.upload(np.full(shape, np.nan, dtype))

    def upload(self, array: np.ndarray) -> Memory:
        """Return a copy of an array."""
        copy = np.array(array, order="C")
        return Memory(copy.ctypes.data, copy.shape, copy.dtype, copy)

    def download(self, memory: Memory) -> np.ndarray:
        """Return the values of memory."""
        return np.array(memory.owner)

    def free(self, memory: Memory) -> None:
        """Release memory."""
        memory.owner = None

    def run(self, library: Any, launch: Launch, step: np.ndarray) -> None:
        """Run a kernel."""
        sizes = np.array([*launch.blocks, *launch.threads, launch.shared], np.int64)
        addresses = (ctypes.c_void_p(each.ctypes.data) for each in (step, sizes))
        getattr(library, f"launch_{launch.kernel}")(*addresses)

    def seconds(self, work: Callable[[], None], repeats: int) -> list[float]:
        """Return the times of a few repetitions of a function."""
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return times


class Gpu:
    """The first CUDA device, through NVRTC and the driver interface of `cuda.bindings`."""

    is_gpu = True

    def __init__(self) -> None:
        from cuda.bindings import driver

        self._driver = driver
        self._call(driver.cuInit(0))
        self._device = self._call(driver.cuDeviceGet(0))
        context = self._call(driver.cuDevicePrimaryCtxRetain(self._device))
        self._call(driver.cuCtxSetCurrent(context))
        self._events = [self._call(driver.cuEventCreate(0)) for _ in range(2)]

    @staticmethod
    def _call(answer: tuple[Any, ...]) -> Any:
        """Return the result of a driver call; raise RuntimeError for an error."""
        status, *found = answer
        if int(status) != 0:
            raise RuntimeError(f"CUDA: {status!r}")
        return found[0] if found else None

    def facts(self) -> dict[str, object]:
        """Return the card, its driver, clocks and sizes."""
        query = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,memory.total,power.limit"
        command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]
        answer = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        found = dict(zip(query.split(","), answer.split(", "), strict=False))
        kind = self._driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
        count = self._call(self._driver.cuDeviceGetAttribute(kind, self._device))
        return {**found, "cuda": self._call(self._driver.cuDriverGetVersion()), "multiprocessors": count}

    def build(self, text: str) -> Any:
        """Compile a translation unit for the device, and load it."""
        return self.load(compile_cubin(text))

    def load(self, cubin: bytes) -> Any:
        """Load machine code."""
        return self._call(self._driver.cuModuleLoadData(cubin))

    def _function(self, module: Any, launch: Launch) -> Any:
        function = self._call(self._driver.cuModuleGetFunction(module, launch.kernel.encode()))
        if launch.shared > 48 * 1024:
            most = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call(self._driver.cuFuncSetAttribute(function, most, launch.shared))
        return function

    def attributes(self, module: Any, launch: Launch) -> dict[str, int]:
        """Return registers, bytes of local memory (stack and spills), and resident threads of a multiprocessor."""
        function, kinds = self._function(module, launch), self._driver.CUfunction_attribute
        registers, local = (
            self._call(self._driver.cuFuncGetAttribute(kind, function))
            for kind in (kinds.CU_FUNC_ATTRIBUTE_NUM_REGS, kinds.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
        )
        threads = prod(launch.threads)
        blocks = self._call(self._driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, threads, launch.shared))
        return {"registers": registers, "local bytes": local, "threads per SM": blocks * threads}

    def empty(self, shape: Sequence[int], dtype: Any) -> Memory:
        """Return memory filled with NaN."""
        size = prod(shape) * np.dtype(dtype).itemsize
        address = self._call(self._driver.cuMemAlloc(size))
        self._call(self._driver.cuMemsetD8(address, 0xFF, size))
        return Memory(int(address), tuple(shape), np.dtype(dtype))

    def upload(self, array: np.ndarray) -> Memory:
        """Return a copy of an array on the device."""
        values = np.ascontiguousarray(array)
        memory = self.empty(values.shape, values.dtype)
        self._call(self._driver.cuMemcpyHtoD(memory.address, values.ctypes.data, values.nbytes))
        return memory

    def download(self, memory: Memory) -> np.ndarray:
        """Return the values of memory."""
        values = np.empty(memory.shape, memory.dtype)
        self._call(self._driver.cuMemcpyDtoH(values.ctypes.data, memory.address, values.nbytes))
        return values

    def free(self, memory: Memory) -> None:
        """Release memory."""
        self._call(self._driver.cuMemFree(memory.address))

    def run(self, module: Any, launch: Launch, step: np.ndarray) -> None:
        """Start a kernel."""
        pointers, function = np.array([step.ctypes.data], np.uint64), self._function(module, launch)
        sizes = *launch.blocks, *launch.threads, launch.shared
        self._call(self._driver.cuLaunchKernel(function, *sizes, 0, pointers.ctypes.data, 0))

    def seconds(self, work: Callable[[], None], repeats: int) -> list[float]:
        """Return the times of repetitions of a function between events, after one repetition that is not counted."""
        times = []
        for _ in range(repeats + 1):
            self._call(self._driver.cuEventRecord(self._events[0], 0))
            work()
            self._call(self._driver.cuEventRecord(self._events[1], 0))
            self._call(self._driver.cuEventSynchronize(self._events[1]))
            times.append(self._call(self._driver.cuEventElapsedTime(*self._events)) / 1e3)
        return times[1:]


def compile_cubin(text: str, architecture: str = "sm_90") -> bytes:
    """Return the machine code of a translation unit, by NVRTC; raise RuntimeError with its messages."""
    from cuda.bindings import nvrtc

    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", 0, [], [])
    options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", b"-default-device", b"-w"]
    status = nvrtc.nvrtcCompileProgram(program, len(options), options)[0]
    if int(status) != 0:
        size = nvrtc.nvrtcGetProgramLogSize(program)[1]
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.decode()[:4000])
    cubin = b" " * nvrtc.nvrtcGetCUBINSize(program)[1]
    nvrtc.nvrtcGetCUBIN(program, cubin)
    return cubin


def median_and_spread(times: Sequence[float]) -> tuple[float, float]:
    """Return the median, and the range relative to it."""
    middle = statistics.median(times)
    return middle, (max(times) - min(times)) / middle


def processor_model() -> str:
    """Return the processor of this machine."""
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else "unknown"
