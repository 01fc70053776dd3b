"""Compiles the chemistry of a mechanism for independent cells: network -> elimination -> emit -> compile -> load."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from airshed.kernels.backends.cpu.compiled import CompiledKernel, compile_and_load, timed
from airshed.kernels.cells.data import AIR_INPUTS, NO_SOURCES, Sources, Tolerances
from airshed.kernels.cells.emit import ChemistryShape, ChemistrySource, emit_chemistry
from airshed.kernels.cells.tableau import Tableau
from airshed.kernels.host import vector_doubles
from airshed.mechanism.network import ReactionNetwork

if TYPE_CHECKING:
    from airshed.kernels.backends.cpu.cell_derivatives import ChemistryDerivative
    from airshed.kernels.backends.cpu.cell_solver import ChemistrySolver

WIDTHS: Final = {"double": vector_doubles(), "single": 2 * vector_doubles()}
"""Cells in a pack: one register of the widest vectors; half as many floats would take as many instructions."""

FLAGS: Final = ("-fno-tree-slp-vectorize",)
"""Statements work on whole packs already: looking for more to vectorise in thousands of them takes a second."""


@dataclass(frozen=True)
class ChemistryKernel(CompiledKernel[ChemistryShape, ChemistrySource]):
    """A mechanism's chemistry of independent cells as compiled code."""

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of a cell's inputs: its air, then the open parameters of the mechanism."""
        return AIR_INPUTS + tuple(each.name for each in self.network.parameters)

    @cached_property
    def reverse(self) -> "ChemistryDerivative":
        """The adjoint of its steps, compiled when it is first asked for."""
        from airshed.kernels.backends.cpu.cell_derivatives import compile_reverse

        return compile_reverse(self)

    @cached_property
    def tangent(self) -> "ChemistryDerivative":
        """The tangent of its steps, compiled when it is first asked for."""
        from airshed.kernels.backends.cpu.cell_derivatives import compile_tangent

        return compile_tangent(self)

    def solver(
        self, method: Tableau, tolerances: Tolerances, sources: Sources = NO_SOURCES, *, threads: int = 1, **limits: Any
    ) -> "ChemistrySolver":  # fmt: skip
        """Return what integrates cells, see :class:`airshed.kernels.cell_backend.CellKernel`."""
        from airshed.kernels.backends.cpu.cell_solver import ChemistrySolver

        return ChemistrySolver(self, method, tolerances, sources, threads, **limits)


def compile_chemistry(
    network: ReactionNetwork, precision: str = "double", *, width: int | None = None, inspected: bool = False
) -> ChemistryKernel:
    """Return the compiled chemistry of a mechanism, in "double" or "single" precision.

    width      cells in a pack; without it those that fill a register of the widest vectors
    inspected  whether rate constants, dy/dt and the Jacobian can be called separately, for tests
    Raises KernelError when there is no compiler or it refuses the code.
    """
    seconds: dict[str, float] = {}
    shape = ChemistryShape(width or WIDTHS[precision], precision, inspected)
    source = timed(seconds, "emit", lambda: emit_chemistry(network, shape))
    name = f"{network.name}-cells-{precision}"
    library, functions = compile_and_load(source.text, seconds, name=name, extra_flags=FLAGS)
    return ChemistryKernel(network, shape, source, library, functions, seconds)
