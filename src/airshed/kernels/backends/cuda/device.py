"""Devices that run generated code: a GPU by NVRTC and the driver interface of CUDA, and a shim on the CPU for tests.

Arrays of steps are in managed memory, which both sides read and write: pages move to the side that uses them. So the
state stays on the device from step to step, and only the output that NumPy reads comes back.
"""

import ctypes
import hashlib
import importlib.util
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.atomic import write_whole
from airshed.core.errors import KernelError
from airshed.kernels.cache import writable_folder
from airshed.kernels.cpp import header
from airshed.kernels.host import host_memory
from airshed.kernels.toolchain import build, declared, load

WARP: Final = 32
"""Threads of a warp: columns of a pack."""

WARPS: Final = 4
"""Warps of a block of threads; it affects only the speed."""

SHIM_VARIABLE: Final = "AIRSHED_CUDA_SHIM"
"""Environment variable that replaces the GPU by the shim, for tests."""

_SHIM_STACK: Final = 1 << 17
Kernel = Callable[[int, int], None]
"""Starts a kernel: the address of its argument, and the number of warps."""


class Device(Protocol):
    """A device and its memory; `card` is its name."""

    card: str

    def compile(self, text: str, *, kernel: str, name: str, contract: bool, shared: int = 0) -> Kernel:
        """Return a kernel of generated text.

        contract  whether products and sums may be fused
        shared    bytes of shared memory for each warp
        Raises KernelError if the text does not compile.
        """

    def memory(self, size: int) -> npt.NDArray[np.uint8]:
        """Return zeroed bytes that kernels and NumPy read and write."""

    def wait(self) -> None:
        """Wait until all started kernels have ended; raise KernelError for a failed one."""


class Shim:
    """The CPU: g++ and ``shim.hpp``; `warps` of a block of threads and the `seed` of the order of blocks for tests."""

    card = "a shim on the CPU, for tests"

    def __init__(self, warps: int = WARPS, seed: int = 1) -> None:
        self.warps, self.seed = warps, seed

    def compile(self, text: str, *, kernel: str, name: str, contract: bool, shared: int = 0) -> Kernel:
        """Return a kernel that runs on the CPU."""
        sizes = f"#define WARPS {WARPS}\n#define STACK_BYTES {_SHIM_STACK}\n"
        whole = "\n".join([sizes, header("backends/cuda/shim.hpp"), text, _launches(text)])
        library = declared(load(build(whole, name=f"{name}-shim", extra_flags=_shim_flags(contract))), whole)

        def start(argument: int, warps: int) -> None:
            blocks, memory = -(-warps // self.warps), self.warps * shared
            getattr(library, f"airshed_launch_{kernel}")(argument, blocks, self.warps * WARP, memory, self.seed)

        return start

    def memory(self, size: int) -> npt.NDArray[np.uint8]:
        """Return zeroed bytes of the host."""
        return host_memory(size)

    def wait(self) -> None:
        """Return: kernels have ended when they return."""


def _launches(text: str) -> str:
    """Return functions of the host that start the kernels of a text."""
    return "\n".join(
        f'extern "C" void airshed_launch_{kernel}(const Step* step, int64_t blocks, int64_t threads, int64_t shared, '
        f"int64_t seed) {{ shim::launch({kernel}, step, blocks, threads, shared, uint64_t(seed)); }}"
        for kernel in re.findall(r"__global__ void .*(airshed_\w+)\(", text)
    )


def _shim_flags(contract: bool) -> tuple[str, ...]:
    return ("-O1", *(() if contract else ("-ffp-contract=off",)))


class Gpu:
    """The first GPU that this process sees."""

    def __init__(self) -> None:
        from cuda.bindings import driver

        self._driver = driver
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

    def compile(self, text: str, *, kernel: str, name: str, contract: bool, shared: int = 0) -> Kernel:
        """Return a kernel of the GPU."""
        code = machine_code(device_text(text), self.architecture, contract=contract)
        module = _call(self._driver.cuModuleLoadData(code))
        function = _call(self._driver.cuModuleGetFunction(module, kernel.encode()))
        if shared:
            limit = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _call(self._driver.cuFuncSetAttribute(function, limit, WARPS * shared))

        def start(argument: int, warps: int) -> None:
            _call(self._driver.cuCtxSetCurrent(self._context))
            blocks = -(-warps // WARPS)
            values = np.array([argument], np.uint64)
            pointers = np.array([values.ctypes.data], np.uint64)
            _call(
                self._driver.cuLaunchKernel(
                    function, blocks, 1, 1, WARPS * WARP, 1, 1, WARPS * shared, 0, pointers.ctypes.data, 0
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
        return zeros

    def wait(self) -> None:
        """Wait until all started kernels have ended."""
        _call(self._driver.cuCtxSynchronize())


class ManagedMemory:
    """Managed memory as an array of NumPy, which holds this object."""

    def __init__(self, place: int, size: int, free: Callable[[int], object]) -> None:
        self._place, self._free = place, free
        self.__array_interface__ = {"data": (place, False), "shape": (size,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        self._free(self._place)


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
