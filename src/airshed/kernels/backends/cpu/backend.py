"""The CPU as a backend: what :func:`airshed.kernels.backend.backend` returns."""

from typing import Final

from airshed.kernels.backends.cpu.cells import CellKernel, compile_chemistry
from airshed.kernels.backends.cpu.kernel import WIDTH, StepKernel, compile_mechanism
from airshed.kernels.operators import ADVECTION, Operator
from airshed.kernels.step.data import Directions
from airshed.mechanism.network import ReactionNetwork


class CpuBackend:
    """Generated C++ on the threads of a process.

    width    columns in a pack
    devices  names of the devices that run stages, such as "cuda"
    """

    width = WIDTH
    devices: tuple[str, ...] = ()

    def compile_mechanism(
        self, network: ReactionNetwork, levels: int, precision: str = "double", *, families: tuple[str, ...] = (),
        directions: Directions = "all", operators: tuple[Operator, ...] = (ADVECTION,),
    ) -> StepKernel:  # fmt: skip
        """Return the compiled code of a mechanism, see :func:`.kernel.compile_mechanism`."""
        return compile_mechanism(
            network, levels, precision, families=families, directions=directions, operators=operators
        )

    def compile_chemistry(
        self, network: ReactionNetwork, precision: str = "double", *, width: int | None = None
    ) -> CellKernel:
        """Return the chemistry of a mechanism, see :func:`.cells.compile_chemistry`."""
        return compile_chemistry(network, precision, width=width)


BACKEND: Final = CpuBackend()
