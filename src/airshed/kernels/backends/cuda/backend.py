"""The CUDA backend, as :func:`airshed.kernels.backend.backend` returns it."""

from typing import Final

from airshed.kernels.backends.cuda.cells import compile_chemistry
from airshed.kernels.backends.cuda.device import WARP
from airshed.kernels.backends.cuda.kernel import compile_mechanism


class CudaBackend:
    """Steps and chemistry by Rosenbrock methods on the device of this process.

    width    columns in a pack: the threads of a warp
    devices  names of the devices that run stages
    """

    width = WARP
    devices: tuple[str, ...] = ("cuda",)
    compile_mechanism = staticmethod(compile_mechanism)
    compile_chemistry = staticmethod(compile_chemistry)


BACKEND: Final = CudaBackend()
"""The CUDA backend; it opens the device when a mechanism is compiled."""
