"""The CPU backend, as :func:`airshed.kernels.backend.backend` returns it."""

from typing import Final

from airshed.kernels.backends.cpu.cells import compile_chemistry
from airshed.kernels.backends.cpu.kernel import WIDTH, compile_mechanism


class CpuBackend:
    """Generated C++ on the threads of a process.

    width     columns in a pack
    devices   names of the devices that run stages, such as "cuda"
    identity  of the device of this process; empty without one
    """

    width = WIDTH
    devices: tuple[str, ...] = ()
    identity = ""
    compile_mechanism = staticmethod(compile_mechanism)
    compile_chemistry = staticmethod(compile_chemistry)

    def for_local_rank(self, local_rank: int) -> "CpuBackend":
        """Return this backend, which is the same for all processes of a machine."""
        return self


BACKEND: Final = CpuBackend()
"""The CPU backend: C++ that is generated, compiled, and called on threads."""
