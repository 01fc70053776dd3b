"""The CUDA backend, as :func:`airshed.kernels.backend.backend` returns it."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

from airshed.kernels.backends.cuda.cells import compile_chemistry
from airshed.kernels.backends.cuda.device import WARP, Device, present_device
from airshed.kernels.backends.cuda.kernel import compile_mechanism


@dataclass(frozen=True)
class CudaBackend:
    """Steps and chemistry by Rosenbrock methods on the device of this process.

    local_rank  index of this process among those of the machine, which share its GPUs
    width       columns in a pack: the threads of a warp
    devices     names of the devices that run stages
    """

    local_rank: int = 0
    width = WARP
    devices: ClassVar[tuple[str, ...]] = ("cuda",)

    @property
    def device(self) -> Device:
        """The device of this process; raises KernelError without one."""
        return present_device(self.local_rank)

    @property
    def identity(self) -> str:
        """The same for all processes that use this device, and for no other device."""
        return self.device.identity

    @property
    def compile_mechanism(self) -> Any:
        """Function that compiles the step of a mechanism for the device, see :func:`.kernel.compile_mechanism`."""
        return partial(compile_mechanism, device=self.device)

    @property
    def compile_chemistry(self) -> Any:
        """Function that compiles the chemistry of cells for the device, see :func:`.cells.compile_chemistry`."""
        return partial(compile_chemistry, device=self.device)

    def for_local_rank(self, local_rank: int) -> "CudaBackend":
        """Return the backend of a process with this index among those of the machine."""
        return CudaBackend(local_rank)


BACKEND: Final = CudaBackend()
"""The CUDA backend of a process that is alone on its machine."""
