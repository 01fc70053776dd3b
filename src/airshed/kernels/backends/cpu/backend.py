"""The CPU backend, as :func:`airshed.kernels.backend.backend` returns it."""

from dataclasses import dataclass
from typing import ClassVar, Final

from airshed.kernels.backends.cpu.cells import compile_chemistry
from airshed.kernels.backends.cpu.kernel import WIDTH, compile_mechanism


@dataclass(frozen=True)
class CpuBackend:
    """Generated C++ on the threads of a process.

    place     index of this process among those of the machine; without effect
    width     columns in a pack
    devices   names of the devices that run stages, such as "cuda"
    identity  of the device of this process; empty without one
    """

    place: int = 0
    width = WIDTH
    devices: ClassVar[tuple[str, ...]] = ()
    identity = ""
    compile_mechanism = staticmethod(compile_mechanism)
    compile_chemistry = staticmethod(compile_chemistry)


BACKEND: Final = CpuBackend
"""The class of the CPU backend."""
