"""Devices that run generated code: a GPU by NVRTC and the driver interface of CUDA, and a shim on the CPU for tests.

Arrays of steps are in managed memory, which both sides read and write: pages move to the side that uses them. So the
state stays on the device from step to step, and only the output that NumPy reads comes back.
"""

import ctypes
import hashlib
import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.atomic import write_whole
from airshed.core.errors import KernelError
from airshed.kernels.backends.cuda.memory import FreedMemory, ManagedMemory, MemoryBlocks, WorkingMemory
from airshed.kernels.cache import writable_folder
from airshed.kernels.cpp import header
from airshed.kernels.host import ALIGNMENT, address, host_memory
from airshed.kernels.toolchain import build, declared, load

WARP: Final = 32
"""Threads of a warp: columns of a pack."""

WARPS: Final = 2
"""Warps of a block of threads; it affects only the speed."""

SHIM_VARIABLE: Final = "AIRSHED_CUDA_SHIM"
"""Environment variable that replaces the GPU by the shim, for tests."""

_SHIM_STACK: Final = 1 << 20
STEP_KERNEL: Final = "airshed_step"
Kernel = Callable[[int, int], None]
"""Starts a kernel: the address of its argument, and the number of warps."""


class Device(Protocol):
    """A device and its memory; `card` is its name, `processors` the number of its multiprocessors."""

    card: str
    processors: int

    def compile(
        self, text: str, *, name: str, contract: bool, kernel: str = STEP_KERNEL, size: int | None = None
    ) -> Kernel:  # fmt: skip
        """Return a kernel of generated text.

        contract  whether products and sums may be fused
        size      bytes of a structure that is its argument; None for the address of one
        Raises KernelError if the text does not compile.
        """

    def memory(self, size: int) -> npt.NDArray[np.uint8]:
        """Return zeroed bytes that kernels and NumPy read and write."""

    def holds(self, place: int) -> bool:
        """Return whether an address lies in memory that :meth:`memory` returned and that is in use."""

    def working_memory(self, size: int) -> WorkingMemory:
        """Return uninitialised bytes that only kernels read and write."""

    def wait(self) -> None:
        """Wait until all started kernels have ended; raise KernelError for a failed one."""


class Shim:
    """The CPU: g++ and ``shim.hpp``; `warps` of a block of threads and the `seed` of the order of blocks for tests."""

    card = "a shim on the CPU, for tests"

    processors = 1

    def __init__(self, warps: int = WARPS, seed: int = 1) -> None:
        self.warps, self.seed = warps, seed
        self._blocks = MemoryBlocks()

    def compile(
        self, text: str, *, name: str, contract: bool, kernel: str = STEP_KERNEL, size: int | None = None
    ) -> Kernel:  # fmt: skip
        """Return a kernel that runs on the CPU."""
        library = self.library(f"#define KERNEL {kernel}", text, name=name, contract=contract)

        def start(argument: int, warps: int) -> None:
            library.airshed_launch(argument, -(-warps // self.warps), self.warps * WARP, self.seed)

        return start

    def library(self, *texts: str, name: str, contract: bool) -> ctypes.CDLL:
        """Return the library of a kernel."""
        sizes, launch = (
            f"#define WARPS {WARPS}\n#define STACK_BYTES {_SHIM_STACK}\n",
            header("backends/cuda/shim_launch.hpp"),
        )
        whole = "\n".join([sizes, header("backends/cuda/shim.hpp"), *texts, launch])
        return declared(load(build(whole, name=f"{name}-shim", extra_flags=_shim_flags(contract))), launch)

    def memory(self, size: int) -> npt.NDArray[np.uint8]:
        """Return zeroed bytes of the host."""
        return self._blocks.add(host_memory(size))

    def holds(self, place: int) -> bool:
        """Return whether an address lies in an array of :meth:`memory`: a GPU cannot read others."""
        return self._blocks.holds(place)

    def working_memory(self, size: int) -> WorkingMemory:
        """Return bytes of the host, filled with NaN."""
        filled = np.full(size + ALIGNMENT, 0xFF, np.uint8)
        return WorkingMemory(address(filled) + -address(filled) % ALIGNMENT, filled)

    def wait(self) -> None:
        """Return: kernels have ended when they return."""


def _shim_flags(contract: bool) -> tuple[str, ...]:
    return ("-O1", *(() if contract else ("-ffp-contract=off",)))


class Gpu:
    """The first GPU that this process sees."""

    def __init__(self) -> None:
        from cuda.bindings import driver

        self._driver, self._blocks = driver, MemoryBlocks()
        _call(driver.cuInit(0))
        device = _call(driver.cuDeviceGet(0))
        self._context = _call(driver.cuDevicePrimaryCtxRetain(device))
        _call(driver.cuCtxSetCurrent(self._context))
        kinds = driver.CUdevice_attribute
        major, minor = (
            _call(driver.cuDeviceGetAttribute(kind, device))
            for kind in (
                kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )  # fmt: skip
        self.architecture = f"sm_{major}{minor}"
        self.card = _call(driver.cuDeviceGetName(200, device)).split(b"\0")[0].decode()
        self.processors = int(
            _call(driver.cuDeviceGetAttribute(kinds.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device))
        )

    def compile(
        self, text: str, *, name: str, contract: bool, kernel: str = STEP_KERNEL, size: int | None = None
    ) -> Kernel:  # fmt: skip
        """Return a kernel of the GPU."""
        code = machine_code(device_text(text), self.architecture, contract=contract)
        module = _call(self._driver.cuModuleLoadData(code))
        function = _call(self._driver.cuModuleGetFunction(module, kernel.encode()))

        def start(argument: int, warps: int) -> None:
            _call(self._driver.cuCtxSetCurrent(self._context))
            blocks = -(-warps // WARPS)
            values = np.array([argument], np.uint64)
            pointers = np.array([values.ctypes.data if size is None else argument], np.uint64)
            _call(
                self._driver.cuLaunchKernel(
                    function, blocks, 1, 1, WARPS * WARP, 1, 1, 0, 0, pointers.ctypes.data, 0
                )
            )  # fmt: skip

        return start

    def memory(self, size: int) -> npt.NDArray[np.uint8]:
        """Return zeroed bytes of managed memory, which are freed with the array."""
        flag = self._driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL
        place = int(_call(self._driver.cuMemAllocManaged(max(size, 1), flag.value)))
        block = ManagedMemory(place, size, self._driver.cuMemFree)
        zeros = np.asarray(block)
        zeros[...] = 0
        return self._blocks.add(zeros)

    def holds(self, place: int) -> bool:
        """Return whether an address lies in an array of :meth:`memory`."""
        return self._blocks.holds(place)

    def working_memory(self, size: int) -> WorkingMemory:
        """Return memory of the GPU."""
        place = int(_call(self._driver.cuMemAlloc(size)))
        return WorkingMemory(place, FreedMemory(place, self._driver.cuMemFree))

    def wait(self) -> None:
        """Wait until all started kernels have ended."""
        _call(self._driver.cuCtxSynchronize())


def device_text(text: str) -> str:
    """Return the whole text for NVRTC."""
    return "\n".join([f"#define WARPS {WARPS}", header("backends/cuda/device.hpp"), text])


def machine_code(text: str, architecture: str, *, contract: bool = True) -> bytes:
    """Return the machine code of a text, from the cache of kernels if it is there.

    Raises KernelError with the first messages of the compiler.
    """
    nvrtc = _nvrtc()
    version = _call(nvrtc.nvrtcVersion(), several=True)
    key = hashlib.sha256(repr((text, architecture, contract, version)).encode()).hexdigest()[:16]
    path: Path = writable_folder() / f"step-{architecture}-{key}.cubin"
    if not path.exists():
        code, _ = compile_text(text, architecture, contract=contract)
        with write_whole(path) as part:
            part.write_bytes(code)
    return path.read_bytes()


def compile_text(text: str, architecture: str, *, contract: bool = True) -> tuple[bytes, str]:
    """Compile a text by NVRTC, which needs no GPU; return the machine code, and registers and spills as text.

    Raises KernelError with the first messages of the compiler.
    """
    nvrtc = _nvrtc()
    options = [f"--gpu-architecture={architecture}", "--std=c++17", "--device-as-default-execution-space", "-w"]
    options += ["--ptxas-options=-v", *([] if contract else ["--fmad=false"])]
    program = _call(nvrtc.nvrtcCreateProgram(text.encode(), b"step.cu", 0, [], []))
    encoded = [each.encode() for each in options]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
    log = b" " * _call(nvrtc.nvrtcGetProgramLogSize(program))
    nvrtc.nvrtcGetProgramLog(program, log)
    said = log.rstrip(b"\0 ").decode(errors="replace")
    if int(status) != 0:
        lines = [line for line in said.splitlines() if "error" in line][:3]
        raise KernelError("\n".join(["the generated code does not compile for the GPU", *lines]))
    code = b" " * _call(nvrtc.nvrtcGetCUBINSize(program))
    nvrtc.nvrtcGetCUBIN(program, code)
    return bytes(code), said


@cache
def _nvrtc() -> Any:
    """Return the bindings of NVRTC, with the library of its wheel where that is on the path."""
    from cuda.bindings import nvrtc

    try:
        spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    except ModuleNotFoundError:
        spec = None
    for folder in spec.submodule_search_locations or [] if spec else []:
        for library in Path(folder).glob("lib/libnvrtc.so.*"):
            ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    return nvrtc


def _call(answer: tuple[Any, ...], *, several: bool = False) -> Any:
    """Return the result of a call of CUDA; raise KernelError for an error."""
    status, *found = answer
    if int(status) != 0:
        raise KernelError(f"CUDA reports {status.name}")
    return tuple(found) if several else found[0] if found else None


@cache
def present_device() -> Device:
    """Return the device of this process; raises KernelError with the missing package or driver."""
    if os.environ.get(SHIM_VARIABLE):
        return Shim()
    try:
        return Gpu()
    except ImportError as error:
        raise KernelError(f"CUDA needs further packages: pip install 'airshed[cuda]' ({error})") from error
    except RuntimeError as error:  # the driver's library cannot be loaded
        raise KernelError(f"there is no NVIDIA driver: {error}") from error
