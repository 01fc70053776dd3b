"""The CPU as a backend; the interface is in :mod:`airshed.kernels.backend`."""

from typing import Final

from airshed.kernels.backend import Backend, StepKernel
from airshed.kernels.backends.cpu.cell_kernel import compile_chemistry
from airshed.kernels.backends.cpu.kernel import WIDTH, compile_mechanism
from airshed.kernels.cell_backend import CellKernel
from airshed.kernels.operators import ADVECTION, Operator
from airshed.kernels.step.data import Directions
from airshed.mechanism.network import ReactionNetwork


class CpuBackend:
    """Generated C++ on the threads of a process."""

    width = WIDTH
    devices: tuple[str, ...] = ()

    def compile_mechanism(
        self, network: ReactionNetwork, levels: int, precision: str = "double", *, families: tuple[str, ...] = (),
        directions: Directions = "all", operators: tuple[Operator, ...] = (ADVECTION,),
    ) -> StepKernel:  # fmt: skip
        """See :class:`Backend`."""
        return compile_mechanism(
            network, levels, precision, families=families, directions=directions, operators=operators
        )

    def compile_chemistry(
        self, network: ReactionNetwork, precision: str = "double", *, width: int | None = None
    ) -> CellKernel:
        """See :class:`Backend`."""
        return compile_chemistry(network, precision, width=width)


BACKEND: Final[Backend] = CpuBackend()
