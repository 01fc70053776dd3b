"""Devices that run generated code, a GPU or a shim on the CPU for tests, and the compiler NVRTC."""

import ctypes
import hashlib
import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from airshed.core.atomic import write_whole
from airshed.core.errors import KernelError
from airshed.kernels.backends.cuda.memory import ShimMemory, WorkingMemory
from airshed.kernels.cache import writable_folder
from airshed.kernels.cpp import header
from airshed.kernels.host import ALIGNMENT, Memory, address
from airshed.kernels.toolchain import build, declared, load

WARP: Final = 32
"""Threads of a warp: columns of a pack."""

WARPS: Final = 4
"""Warps of a block of threads; it affects only the speed."""

SHIM_VARIABLE: Final = "AIRSHED_CUDA_SHIM"
"""Environment variable that replaces the GPU by the shim, for tests."""

_SHIM_STACK: Final = 1 << 17
"""Bytes of the stack of a thread on the shim."""

Kernel = Callable[[int, int], None]
"""Function that starts a kernel, with the address of its argument and the number of warps."""


class Device(Protocol):
    """A GPU, or the shim that takes its place in tests.

    name        of its kind, such as that of the GPU
    identity    the same for all processes that use this device, and for no other device
    processors  number of its multiprocessors
    """

    name: str
    identity: str
    processors: int

    @property
    def memory(self) -> Memory:
        """Memory of the arrays of steps."""

    def compile(
        self, text: str, *, kernel: str, name: str, contract: bool, shared: int = 0, size: int | None = None
    ) -> Kernel:  # fmt: skip
        """Return a kernel of generated text.

        contract  whether products and sums may be fused
        shared    bytes of shared memory for each warp
        size      bytes of a structure that the kernel takes by value; None if it takes the address of one
        Raises KernelError if the text does not compile.
        """

    def working_memory(self, size: int) -> WorkingMemory:
        """Return uninitialised bytes that only kernels read and write."""

    def wait(self) -> None:
        """Wait until all started kernels have ended; raise KernelError for a failed one."""


class Shim:
    """The CPU as a device, by g++ and ``shim.hpp``.

    warps  number of warps of a block of threads
    seed   of the order in which blocks run
    """

    name, identity, processors = "a shim on the CPU, for tests", f"shim {os.getpid()}", 1

    def __init__(self, warps: int = WARPS, seed: int = 1) -> None:
        self.warps, self.seed = warps, seed
        self.memory = ShimMemory()

    def compile(
        self, text: str, *, kernel: str, name: str, contract: bool, shared: int = 0, size: int | None = None
    ) -> Kernel:  # fmt: skip
        """Return a kernel that runs on the CPU."""
        sizes = f"#define WARPS {WARPS}\n#define STACK_BYTES {_SHIM_STACK}\n"
        launches = _launches(text)
        whole = "\n".join([sizes, header("backends/cuda/shim.hpp"), text, launches])
        library = declared(load(build(whole, name=f"{name}-shim", extra_flags=_shim_flags(contract))), launches)

        def start(argument: int, warps: int) -> None:
            blocks, memory = -(-warps // self.warps), self.warps * shared
            getattr(library, f"airshed_launch_{kernel}")(argument, blocks, self.warps * WARP, memory, self.seed)

        return start

    def working_memory(self, size: int) -> WorkingMemory:
        """Return bytes of the host, filled with NaN."""
        filled = np.full(size + ALIGNMENT, 0xFF, np.uint8)
        return WorkingMemory(address(filled) + -address(filled) % ALIGNMENT, filled)

    def wait(self) -> None:
        """Raise KernelError if a kernel has stored a number beyond an array; kernels have ended when they return."""
        self.memory.check()


def _launches(text: str) -> str:
    """Return the C++ functions of the host that start the kernels of a text."""
    sizes = "int64_t blocks, int64_t threads, int64_t shared, int64_t seed"
    return "\n".join(
        f'extern "C" void airshed_launch_{kernel}(const void* argument, {sizes}) '
        f"{{ shim::launch({kernel}, argument, blocks, threads, shared, uint64_t(seed)); }}"
        for kernel in re.findall(r"__global__ void .*(airshed_\w+)\(", text)
    )


def _shim_flags(contract: bool) -> tuple[str, ...]:
    return ("-O1", *(() if contract else ("-ffp-contract=off",)))


def device_text(text: str) -> str:
    """Return the text with the header of the device, for NVRTC."""
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
    messages = log.rstrip(b"\0 ").decode(errors="replace")
    if int(status) != 0:
        lines = [line for line in messages.splitlines() if "error" in line][:3]
        raise KernelError("\n".join(["the generated code does not compile for the GPU", *lines]))
    code = b" " * _call(nvrtc.nvrtcGetCUBINSize(program))
    nvrtc.nvrtcGetCUBIN(program, code)
    return bytes(code), messages


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
def present_device(local_rank: int) -> Device:
    """Return the device of this process; raises KernelError with the missing package or driver.

    local_rank  index of this process among those of the machine, which share its GPUs
    """
    if os.environ.get(SHIM_VARIABLE):
        return Shim()
    with _driver_needed():
        from airshed.kernels.backends.cuda.gpu import Gpu

        return Gpu(local_rank)


def gpu_names() -> list[str]:
    """Return the names of the GPUs that this process sees; raises KernelError as :func:`present_device` does."""
    if os.environ.get(SHIM_VARIABLE):
        return [Shim.name]
    with _driver_needed():
        from airshed.kernels.backends.cuda.gpu import visible_gpus

        return visible_gpus()


@contextmanager
def _driver_needed() -> Iterator[None]:
    """Raise KernelError with the missing package or driver."""
    try:
        yield
    except ImportError as error:
        raise KernelError(f"CUDA needs further packages: pip install 'airshed[cuda]' ({error})") from error
    except RuntimeError as error:  # the driver's library cannot be loaded
        raise KernelError(f"there is no NVIDIA driver: {error}") from error
